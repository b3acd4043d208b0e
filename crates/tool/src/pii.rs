//! Personal data in texts: addresses of mail, numbers of telephones, cards, accounts and social security.

mod numbers;

use regex::Regex;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// A kind of personal data.
#[derive(Debug)]
pub struct Kind {
    /// What it is called.
    pub name: &'static str,
    /// Where it stands in a text, in order.
    find: fn(&str) -> Vec<Range<usize>>,
}

impl Kind {
    /// The text with something else in the place of each that is found.
    pub fn replace(&self, text: &str, with: &mut dyn FnMut(&str) -> String) -> String {
        let (mut replaced, mut end) = (String::with_capacity(text.len()), 0);
        for found in (self.find)(text) {
            replaced.push_str(&text[end..found.start]);
            replaced.push_str(&with(&text[found.clone()]));
            end = found.end;
        }
        replaced.push_str(&text[end..]);
        replaced
    }
}

/// A kind, and what it is called where it is looked for.
pub type Named = (&'static str, &'static Kind);

/// The text with something else in the place of each of these kinds; nothing where there is none of them, also not in
/// full-width forms or between signs without width.
pub fn replace(
    text: &str,
    kinds: impl IntoIterator<Item = Named>,
    with: &mut dyn FnMut(&'static str, &str) -> String,
) -> Option<String> {
    let mut is_found = false;
    let replaced = kinds.into_iter().fold(plain(text).into_owned(), |text, (name, kind)| {
        kind.replace(&text, &mut |value| {
            is_found = true;
            with(name, value)
        })
    });
    is_found.then_some(replaced)
}

/// Full-width forms of East Asian texts as the ASCII that they stand for, and signs without width left out.
fn plain(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let narrow = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3000}' | '\u{a0}' | '\u{2007}' | '\u{202f}' => ' ',
        '\u{2010}'..='\u{2015}' => '-',
        other => other,
    };
    let is_shown = |c: &char| !matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{ad}');
    text.chars().filter(is_shown).map(narrow).collect()
}

/// Keys and tokens that services hand out, by how they begin or what they consist of.
pub static KEY: Kind = Kind { name: "key", find: keys };

/// In the order in which they are looked for: what an earlier one has taken is not looked at again.
pub static PERSONAL: [Kind; 5] = [
    Kind { name: "email", find: mails },
    Kind { name: "iban", find: ibans },
    Kind { name: "card", find: numbers::cards },
    Kind { name: "ssn", find: numbers::ids },
    Kind { name: "phone", find: numbers::phones },
];

fn keys(text: &str) -> Vec<Range<usize>> {
    static KEYS: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|AKIA|ASIA|AIza|eyJ)[A-Za-z0-9_\-.]{12,}",
            r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----"
        ))
    });
    KEYS.find_iter(text).map(|found| found.range()).collect()
}

fn mails(text: &str) -> Vec<Range<usize>> {
    static MAILS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}"));
    MAILS.find_iter(text).map(|found| found.range()).collect()
}

fn ibans(text: &str) -> Vec<Range<usize>> {
    static IBANS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?-u:\b)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?-u:\b)"));
    IBANS.find_iter(text).filter(|found| is_iban(found.as_str())).map(|found| found.range()).collect()
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are written here")
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u32> + '_ {
    text.chars().filter_map(|c| c.to_digit(10))
}

/// By the remainder of 97.
fn is_iban(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let Some((head, tail)) = plain.split_at_checked(4) else { return false };
    let rest = tail.chars().chain(head.chars()).fold(0u32, |rest, c| {
        let digit = c.to_digit(36).unwrap_or(0);
        (rest * if digit > 9 { 100 } else { 10 } + digit) % 97
    });
    rest == 1 && (15..=34).contains(&plain.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_how_they_begin() {
        for (text, expected) in [
            ("use sk-proj-abcdefghijkl0123 now", "use X now"),
            ("AKIAIOSFODNN7EXAMPLE", "X"),
            ("the sky is skewed, risk-free", "the sky is skewed, risk-free"),
        ] {
            assert_eq!(KEY.replace(text, &mut |_| "X".to_owned()), expected);
        }
    }

    #[test]
    fn what_is_found_may_be_wide_and_what_is_not_stays_as_it_is() {
        let kinds = || PERSONAL.iter().map(|kind| (kind.name, kind));
        let mut named = |name: &'static str, value: &str| format!("[{name} {}]", value.len());
        let found = replace("４１１１ １１１１\u{200b} １１１１ １１１１ 円", kinds(), &mut named);
        assert_eq!(found.as_deref(), Some("[card 19] 円"));
        assert_eq!(replace("１２ 円", kinds(), &mut named), None);
    }
}
