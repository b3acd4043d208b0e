//! Personal data in texts: addresses of mail, numbers of telephones, cards, accounts and social security.

use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// A kind of personal data.
#[derive(Debug)]
pub struct Kind {
    /// What it is called.
    pub name: &'static str,
    pattern: LazyLock<Regex>,
    /// What fits the pattern is checked once more.
    is_real: fn(&str) -> bool,
}

impl Kind {
    /// The text with something else in the place of each that is found.
    pub fn replace(&self, text: &str, with: &mut dyn FnMut(&str) -> String) -> String {
        let replaced = self.pattern.replace_all(text, |part: &regex::Captures<'_>| {
            if (self.is_real)(&part[0]) { with(&part[0]) } else { part[0].to_owned() }
        });
        replaced.into_owned()
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
pub static KEY: Kind = Kind {
    name: "key",
    pattern: LazyLock::new(|| {
        regex(concat!(
            r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs]|AKIA|ASIA|AIza|eyJ)[A-Za-z0-9_\-.]{12,}",
            r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----"
        ))
    }),
    is_real: |_| true,
};

/// In the order in which they are looked for: what an earlier one has taken is not looked at again.
pub static PERSONAL: [Kind; 5] = [
    Kind {
        name: "email",
        pattern: LazyLock::new(|| {
            regex(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}")
        }),
        is_real: |_| true,
    },
    Kind {
        name: "iban",
        pattern: LazyLock::new(|| regex(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b")),
        is_real: is_iban,
    },
    Kind { name: "card", pattern: LazyLock::new(|| regex(r"\b\d(?:[ -]?\d){12,18}\b")), is_real: is_card },
    Kind { name: "ssn", pattern: LazyLock::new(|| regex(r"\b\d{3}-\d{2}-\d{4}\b")), is_real: |_| true },
    Kind {
        name: "phone",
        pattern: LazyLock::new(|| regex(r"\+\d{1,3}(?:[ ./-]?\(?\d{1,5}\)?){2,6}")),
        is_real: |text| (8..=15).contains(&digits(text).count()),
    },
];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are written here")
}

fn digits(text: &str) -> impl DoubleEndedIterator<Item = u32> + '_ {
    text.chars().filter_map(|c| c.to_digit(10))
}

/// By the check digit of Luhn.
fn is_card(text: &str) -> bool {
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 = digits(text)
        .rev()
        .enumerate()
        .map(|(at, digit)| if at % 2 == 1 { doubled(digit) } else { digit })
        .sum();
    sum.is_multiple_of(10) && digits(text).any(|digit| digit != 0)
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
