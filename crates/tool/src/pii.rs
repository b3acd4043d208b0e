//! Personal data in texts: addresses of mail, numbers of telephones, cards, accounts and social security.

use regex::Regex;
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
}
