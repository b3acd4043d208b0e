//! Telephone numbers: read, completed, and shown to those who may see less.

use crate::shared::arguments::wrong;
use tool::Result;
use tool::secret::masked_number;

/// Numbers that have more digits and begin like their country begin with their country.
const MAX_NATIONAL: usize = 10;
/// Countries in which the 0 at the beginning is part of the number; elsewhere it is said within the country only.
const BEGIN_WITH_ZERO: [&str; 7] = ["39", "225", "229", "241", "242", "378", "379"];

/// A number with its country, in digits alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    /// As callers wrote it.
    pub(super) given: String,
    country_code: String,
    national: String,
}

impl Number {
    /// Reads `13800138000`, `+8613800138000` or `008613800138000`; spaces and hyphens between digits do not count.
    pub(super) fn parse(text: &str, country_code: &str, parameter: &str) -> Result<Self> {
        let digits: String = text.trim().chars().filter(|c| !matches!(c, ' ' | '-' | '(' | ')')).collect();
        let (is_whole, digits) = match digits.strip_prefix('+').or_else(|| digits.strip_prefix("00")) {
            Some(rest) => (true, rest.to_owned()),
            None => (false, digits),
        };
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= 40;
        let most = if is_whole { 15 } else { 15 - country_code.len() };
        if !is_number || !(5..=most).contains(&digits.len()) || (is_whole && digits.starts_with('0')) {
            let shown = masked_number(&tool::plain(text));
            let why = format!("has '{shown}', which is no telephone number such as +14155550100");
            return Err(wrong(parameter, &why));
        }
        // Too long for a number without its country: it would get the country twice.
        if !is_whole && digits.len() > MAX_NATIONAL && digits.starts_with(country_code) {
            let shown = masked_number(&digits);
            let why = format!(
                "has '{shown}', which begins like the country {country_code}; write '+' before it, or leave the country out"
            );
            return Err(wrong(parameter, &why));
        }
        let (country_code, national) = match is_whole {
            false => (country_code, digits.as_str()),
            true => match digits.strip_prefix(country_code) {
                Some(national) if !national.is_empty() => (country_code, national),
                // Which part is the country is not ours to know, and only numbers of ours are written without it.
                _ => ("", digits.as_str()),
            },
        };
        // A message to a number with a 0 too many reaches nobody, or somebody else.
        if national.starts_with('0') && !BEGIN_WITH_ZERO.contains(&country_code) {
            let shown = masked_number(&tool::plain(text));
            let why = format!(
                "has '{shown}', whose 0 is dialled within its country only; write it in E.164, with '+', the country and no 0 behind it, e.g. +442071838750"
            );
            return Err(wrong(parameter, &why));
        }
        Ok(Self {
            given: text.trim().to_owned(),
            country_code: country_code.to_owned(),
            national: national.to_owned(),
        })
    }

    /// `+8613800138000`.
    pub(super) fn e164(&self) -> String {
        format!("+{}{}", self.country_code, self.national)
    }

    /// `13800138000`; all of it where which part is the country is not known.
    pub(super) fn national(&self) -> &str {
        &self.national
    }

    /// `13800138000` in China, `8613800138000` elsewhere: as Aliyun has it.
    pub(super) fn national_in_china(&self) -> String {
        if self.country_code == "86" {
            return self.national.clone();
        }
        format!("{}{}", self.country_code, self.national)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, country_code: &str) -> Number {
        Number::parse(text, country_code, "to").unwrap()
    }

    #[test]
    fn completes_numbers_with_the_country() {
        for (text, country_code, e164, national) in [
            ("13800138000", "86", "+8613800138000", "13800138000"),
            ("+8613800138000", "86", "+8613800138000", "13800138000"),
            ("0086 138 0013 8000", "86", "+8613800138000", "13800138000"),
            ("138-0013 8000", "86", "+8613800138000", "13800138000"),
            ("+14155550100", "86", "+14155550100", "14155550100"),
            ("(415) 555-0100", "1", "+14155550100", "14155550100"),
        ] {
            let number = number(text, country_code);
            assert_eq!((number.e164().as_str(), number.national_in_china().as_str()), (e164, national));
        }
    }

    /// SM-7: the 0 of long-distance calls is no part of a number, but where it is.
    #[test]
    fn refuses_the_zero_that_is_dialled_within_a_country() {
        for text in ["07700 900123", "+44 (0)7700 900123", "00440 7700900123"] {
            let error = Number::parse(text, "44", "to").unwrap_err();
            assert!(error.message().contains("E.164") && !error.message().contains("7700900"), "{error}");
        }
        assert!(Number::parse("013800138000", "86", "to").is_err());
        assert_eq!(number("06 698 12345", "39").e164(), "+390669812345");
        assert_eq!(number("+225 0701020304", "225").e164(), "+2250701020304");
        assert_eq!(number("+390669812345", "86").e164(), "+390669812345");
    }

    /// SM-7
    #[test]
    fn refuses_what_is_no_number_without_showing_it() {
        for text in [
            "",
            "12",
            "8613800138000",
            "1380013800a",
            "+",
            "+0123456789",
            "1234567890123456",
            "13800138000,13900139000",
        ] {
            let error = Number::parse(text, "86", "to").unwrap_err();
            assert_eq!(error.parameter(), Some("to"));
        }
        let error = Number::parse("1380013800x", "86", "to").unwrap_err();
        assert!(!error.message().contains("13800138"), "{error}");
    }
}
