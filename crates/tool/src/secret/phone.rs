//! Telephone numbers, of which most people may see the ends alone.

/// The `format` in the schema of arguments that are telephone numbers: the audit shows them masked.
pub const PHONE: &str = "phone";

/// How much of a number is shown at its end, and hidden before that.
const END: usize = 4;
const HIDDEN: usize = 4;
/// No number is longer: there are several, or none.
const MAX_DIGITS: usize = 15;
/// A text is shown up to here.
const MAX_SHOWN: usize = 100;

/// A number as those may see it who only need to tell it from others: `138****8000`. What is no single number shows of each
/// run of digits the end alone: `****8000,****9000`.
#[must_use]
pub fn masked_number(text: &str) -> String {
    let digits: Vec<char> = text.chars().filter(|c| c.is_numeric()).collect();
    let is_one = text.chars().all(|c| c.is_ascii_digit() || is_within(c)) && digits.len() <= MAX_DIGITS;
    match digits.len().checked_sub(END + HIDDEN) {
        Some(kept) if is_one => {
            let sign = if text.trim_start().starts_with('+') { "+" } else { "" };
            let start: String = digits[..kept].iter().collect();
            format!("{sign}{start}{}", end_of(&digits))
        }
        _ if digits.is_empty() => end_of(&digits),
        _ => each_masked(text).chars().take(MAX_SHOWN).collect(),
    }
}

/// A text, of whose numbers the ends alone are left.
fn each_masked(text: &str) -> String {
    let (mut shown, mut run, mut between) = (String::new(), Vec::new(), String::new());
    for c in text.chars() {
        match c {
            c if c.is_numeric() => {
                run.push(c);
                between.clear();
            }
            c if is_within(c) && !run.is_empty() => between.push(c),
            c => {
                if !run.is_empty() {
                    shown.push_str(&end_of(&run));
                    run.clear();
                }
                shown.push_str(&std::mem::take(&mut between));
                shown.push(c);
            }
        }
    }
    if !run.is_empty() {
        shown.push_str(&end_of(&run));
    }
    shown
}

/// Of a short number four digits would be most of it.
fn end_of(digits: &[char]) -> String {
    let shown = if digits.len() < END + HIDDEN { digits.len() / 3 } else { END };
    let end: String = digits[digits.len() - shown..].iter().collect();
    format!("****{end}")
}

/// What people write between the digits of one number.
fn is_within(c: char) -> bool {
    matches!(c, '+' | '-' | '(' | ')' | '.') || c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SM-7
    #[test]
    fn shows_the_ends_of_a_number() {
        for (number, shown) in [
            ("13800138000", "138****8000"),
            ("+8613800138000", "+86138****8000"),
            ("138-0013 8000", "138****8000"),
            ("12345678", "****5678"),
            ("12345", "****5"),
            ("", "****"),
            ("nobody", "****"),
        ] {
            assert_eq!(masked_number(number), shown);
        }
    }

    /// SM-7
    #[test]
    fn shows_of_several_numbers_and_of_words_beside_them_the_ends_alone() {
        for (text, shown) in [
            ("13800138000,13900139000", "****8000,****9000"),
            ("13800138000;13900139000", "****8000;****9000"),
            ("13800138000/+86 139 0013 9000", "****8000/+****9000"),
            ("13800138000 13900139000", "****9000"),
            ("张三 13811112222 (work)", "张三 ****2222 (work)"),
            ("1380013800x", "****3800x"),
            ("１３８００１３８０００", "****８０００"),
            ("138x0013x8000", "****8x****3x****0"),
        ] {
            assert_eq!(masked_number(text), shown);
        }
        assert!(masked_number(&"13800138000,".repeat(100)).chars().count() <= MAX_SHOWN);
    }
}
