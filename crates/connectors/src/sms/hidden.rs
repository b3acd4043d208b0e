//! What a vendor says of a message, without the numbers and words of that message.

use super::number::Number;
use super::wording::Wording;
use std::cell::OnceCell;
use std::collections::HashSet;
use tool::secret::masked_number;

/// How much of a vendor's words is shown, and how much of them is looked at.
const MAX_SHOWN: usize = 200;
const MAX_READ: usize = 1000;
/// Of a longer value no part of this length is shown, since vendors quote the beginning, or the middle.
const PART: usize = 8;
/// A shorter value of ASCII is hidden where it stands alone: it is part of many words.
const MIN_WITHIN: usize = 4;
/// So many digits at the end of a number tell whose it is.
const MIN_DIGITS: usize = 5;

/// A vendor's words that may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words(String);

impl Words {
    /// Words of ours.
    pub(super) fn ours(words: &'static str) -> Self {
        Self(words.to_owned())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// What of a message nobody is to read in an answer about it.
pub(super) struct Hidden<'a> {
    numbers: &'a [Number],
    values: &'a [String],
    parts: OnceCell<HashSet<Vec<char>>>,
}

impl<'a> Hidden<'a> {
    pub(super) fn of(wording: &'a Wording, numbers: &'a [Number]) -> Self {
        Self { numbers, values: wording.values(), parts: OnceCell::new() }
    }

    /// The words without them.
    pub(super) fn masked(&self, words: &str) -> Words {
        let words: String = tool::plain(words).chars().take(MAX_READ).collect();
        let words = self.without_values(&self.without_numbers(&words));
        Words(words.chars().take(MAX_SHOWN).collect())
    }

    fn without_numbers(&self, words: &str) -> String {
        let is_of_number = |c: char| c.is_ascii_digit() || is_between(c);
        let (mut shown, mut rest) = (String::new(), words);
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            shown.push_str(&rest[..start]);
            rest = &rest[start..];
            let end = rest.find(|c| !is_of_number(c)).unwrap_or(rest.len());
            let run = rest[..end].trim_end_matches(is_between);
            match self.is_of_somebody(run) {
                true => shown.push_str(&masked_number(run)),
                false => shown.push_str(run),
            }
            rest = &rest[run.len()..];
        }
        shown.push_str(rest);
        shown
    }

    /// A number with its country, without it, with what is dialled before it, or the end of one.
    fn is_of_somebody(&self, run: &str) -> bool {
        let digits: String = run.chars().filter(char::is_ascii_digit).collect();
        let digits = digits.trim_start_matches('0');
        let is_of = |number: &Number| digits.contains(number.national()) || number.e164().ends_with(digits);
        digits.len() >= MIN_DIGITS && self.numbers.iter().any(is_of)
    }

    fn without_values(&self, words: &str) -> String {
        let words: Vec<char> = words.chars().collect();
        let parts = self.parts.get_or_init(|| self.values.iter().flat_map(|value| parts(value)).collect());
        let lengths: HashSet<usize> = parts.iter().map(Vec::len).collect();
        let mut is_hidden = vec![false; words.len()];
        for length in lengths {
            for (start, part) in words.windows(length).enumerate() {
                let end = start + length;
                if parts.contains(part) && (is_telling(part) || stands_alone(&words, start, end)) {
                    is_hidden[start..end].fill(true);
                }
            }
        }
        let mut shown = String::new();
        for (at, character) in words.iter().enumerate() {
            match is_hidden[at] {
                false => shown.push(*character),
                true if at == 0 || !is_hidden[at - 1] => shown.push_str("***"),
                true => {}
            }
        }
        shown
    }
}

/// What people write between the digits of one number.
fn is_between(c: char) -> bool {
    matches!(c, ' ' | '-' | '(' | ')' | '.')
}

fn parts(value: &str) -> Vec<Vec<char>> {
    let value: Vec<char> = value.trim().chars().collect();
    match value.len() {
        0 => Vec::new(),
        length => value.windows(length.min(PART)).map(<[char]>::to_vec).collect(),
    }
}

fn is_telling(part: &[char]) -> bool {
    part.len() >= MIN_WITHIN || part.iter().any(|c| !c.is_ascii())
}

fn stands_alone(words: &[char], start: usize, end: usize) -> bool {
    let is_word = |c: Option<&char>| c.is_some_and(char::is_ascii_alphanumeric);
    !is_word(start.checked_sub(1).and_then(|before| words.get(before))) && !is_word(words.get(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(numbers: &[&str], values: &[&str], words: &str) -> String {
        let number = |text: &&str| Number::parse(text, "86", "to").unwrap();
        let numbers: Vec<_> = numbers.iter().map(number).collect();
        let values: Vec<_> = values.iter().map(|value| (*value).to_owned()).collect();
        let hidden = Hidden { numbers: &numbers, values: &values, parts: OnceCell::new() };
        hidden.masked(words).0
    }

    /// SM-7
    #[test]
    fn shows_no_number_in_any_spelling() {
        for (words, shown) in [
            ("to 13800138000", "to 138****8000"),
            ("The 'To' number +8613800138000 is not valid", "The 'To' number +86138****8000 is not valid"),
            ("008613800138000.", "0086138****8000."),
            ("86-138-0013-8000, again", "86138****8000, again"),
            ("138 0013 8000", "138****8000"),
            ("013800138000", "0138****8000"),
            ("(0)13800138000!", "(0138****8000!"),
            ("00138000", "****8000"),
            ("+1 (415) 555-0100", "+141****0100"),
            ("415-555-0100", "41****0100"),
            ("code 15, HTTP 400, at 2026-11-19", "code 15, HTTP 400, at 2026-11-19"),
        ] {
            assert_eq!(masked(&["13800138000", "+14155550100"], &[], words), shown, "{words}");
        }
    }

    /// SM-7
    #[test]
    fn shows_no_words_of_the_message() {
        let content = "Your code is 482913, valid for 5 minutes";
        for (value, words, shown) in [
            ("482913", "param code=482913 is wrong", "param code=*** is wrong"),
            ("5", "5 of 15 in v5", "*** of 15 in v5"),
            ("张", "姓名张不合法", "姓名***不合法"),
            (content, "blocked: 'Your code is 482913, va…'", "blocked: '***…'"),
            ("", "nothing", "nothing"),
        ] {
            assert_eq!(masked(&[], &[value], words), shown, "{words}");
        }
        let long = format!("{}13800138000", "x".repeat(195));
        let shown = masked(&["13800138000"], &[], &long);
        assert!(shown.len() <= MAX_SHOWN && !shown.contains("1380"), "{shown}");
    }
}
