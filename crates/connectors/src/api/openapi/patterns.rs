//! How large a pattern becomes when it is compiled, told by a look: counts multiply, and they may stand in one another.

/// What other parts are beside a letter, measured: `\w`, `.` or `[^a]`, and `\p{L}` with its hundreds of ranges.
const ESCAPE: usize = 10;
const ANYTHING: usize = 30;
const PROPERTY: usize = 3_000;

/// What a group holds so far, and its last part, which a count behind it would multiply.
#[derive(Default)]
struct Group {
    before: usize,
    last: usize,
}

impl Group {
    fn add(&mut self, size: usize) {
        self.before = self.before.saturating_add(self.last);
        self.last = size;
    }

    fn size(&self) -> usize {
        self.before.saturating_add(self.last)
    }
}

/// Roughly the letters of a pattern if its counts were written out; more rather than less.
pub(super) fn size(pattern: &str) -> usize {
    let mut open = Vec::new();
    let mut group = Group::default();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '(' | '[' => open.push(std::mem::take(&mut group)),
            ')' | ']' => {
                let size = group.size();
                group = open.pop().unwrap_or_default();
                group.add(size);
            }
            '{' => {
                let count: String = rest.by_ref().take_while(|c| *c != '}').collect();
                group.last = group.last.saturating_mul(most(&count));
            }
            '\\' => {
                let escaped = rest.next().unwrap_or_default();
                let is_property = matches!(escaped, 'p' | 'P');
                // The short form, like `\pL`: the letter is part of it.
                if is_property && !rest.as_str().starts_with('{') {
                    rest.next();
                }
                group.add(if is_property { PROPERTY } else { ESCAPE });
            }
            '.' | '^' => group.add(ANYTHING),
            _ => group.add(1),
        }
    }
    open.iter().fold(group.size(), |size, group| size.saturating_add(group.size()))
}

/// The largest number of a count like `1,63`.
fn most(count: &str) -> usize {
    let is_count = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = count.split(',').filter(is_count).map(|text| text.parse().unwrap_or(usize::MAX));
    numbers.max().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_counts_multiply() {
        for (pattern, expected) in [
            ("abc", 3),
            ("a{5}b", 6),
            ("(a{5}b){10,20}", 120),
            (r"\w{1,64}", 640),
            ("[a-z]{2,}", 6),
            (r"^[a-z]{1,63}(\.[a-z]{1,63}){0,3}$", 30 + 189 + 597),
            (r"\p{L}{2}", 6_000),
            (r"(\pL{50}){50}", 7_500_000),
            ("((a{100}){100}){100}", 1_000_000),
            ("a{99999999999999999999}", usize::MAX),
            ("a)]}{", 2),
        ] {
            let size = size(pattern);
            assert!(size >= expected && size <= expected.saturating_add(8), "{pattern}: {size}");
        }
    }
}
