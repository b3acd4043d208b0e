//! Numbers of people among other numbers: what dates, prices and ids look like is left alone.

use super::{digits, regex};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Digits in groups, as cards and telephones are written.
static GROUPS: LazyLock<Regex> = LazyLock::new(|| regex(r"(?-u:\b)[0-9]+(?:[ -][0-9]+)*(?-u:\b)"));

/// Nineteen digits, each a group of its own.
const MOST_BYTES: usize = 37;

/// Numbers of cards, also beside other numbers: every row of groups that is as long as a card's, with a right check digit.
/// What begins as no card does is one only if there is nothing beside it.
pub(super) fn cards(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for run in GROUPS.find_iter(text) {
        let groups = groups(text, run.range());
        let before = found.len();
        let mut at = 0;
        while let Some(first) = groups.get(at) {
            let rows = groups[at..].iter().map(|last| first.start..last.end);
            let fitting = rows
                .take_while(|row| row.len() <= MOST_BYTES)
                .filter(|row| is_known_card(&text[row.clone()]));
            match fitting.last() {
                Some(row) => {
                    at = groups.partition_point(|group| group.start < row.end);
                    found.push(row);
                }
                None => at += 1,
            }
        }
        let is_resident = run.len() == 18 && is_resident(run.as_str());
        if found.len() == before && is_card(run.as_str()) && !is_resident {
            found.push(run.range());
        }
    }
    found
}

fn groups(text: &str, run: Range<usize>) -> Vec<Range<usize>> {
    let mut start = run.start;
    let mut groups = Vec::new();
    for part in text[run].split([' ', '-']) {
        groups.push(start..start + part.len());
        start += part.len() + 1;
    }
    groups
}

/// By the check digit of Luhn.
fn is_card(text: &str) -> bool {
    let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
    let sum: u32 = digits(text)
        .rev()
        .enumerate()
        .map(|(at, digit)| if at % 2 == 1 { doubled(digit) } else { digit })
        .sum();
    (13..=19).contains(&digits(text).count())
        && sum.is_multiple_of(10)
        && digits(text).any(|digit| digit != 0)
}

/// It also begins, and is as long, as those of a network that issues cards.
fn is_known_card(text: &str) -> bool {
    let count = digits(text).count();
    let begin = digits(text).take(4).fold(0, |begin, digit| begin * 10 + digit);
    let is_issued = match begin {
        4000..=4999 => matches!(count, 13 | 16 | 19),
        5100..=5599 | 2221..=2720 | 3528..=3589 => count == 16,
        3400..=3499 | 3700..=3799 => count == 15,
        3000..=3059 | 3600..=3699 | 3800..=3999 => count == 14,
        6011 | 6200..=6299 | 6440..=6599 => (16..=19).contains(&count),
        _ => false,
    };
    is_issued && is_card(text)
}

/// Numbers of social security, and of residents of China.
pub(super) fn ids(text: &str) -> Vec<Range<usize>> {
    static IDS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"(?-u:\b)(?:[0-9]{3}-[0-9]{2}-[0-9]{4}|[0-9]{17}[0-9Xx])(?-u:\b)"));
    let is_id = |text: &str| text.contains('-') || is_resident(text);
    IDS.find_iter(text).filter(|found| is_id(found.as_str())).map(|found| found.range()).collect()
}

/// A day of birth in the middle, and a check digit at the end whose ten is an X.
fn is_resident(text: &str) -> bool {
    let part = |range: Range<usize>| text[range].parse().unwrap_or(0_u32);
    let is_day = (1800..2100).contains(&part(6..10))
        && (1..=12).contains(&part(10..12))
        && (1..=31).contains(&part(12..14));
    // The weight of each place is two to the power of its number from the end, modulo eleven.
    let sum = digits(&text[..17]).enumerate().map(|(at, digit)| digit * (1 << (17 - at))).sum::<u32>();
    let check = match &text[17..] {
        "X" | "x" => 10,
        digit => digit.parse().unwrap_or(0),
    };
    is_day && (sum + check) % 11 == 1
}

/// Numbers of telephones: with their country, or as they are written within one.
pub(super) fn phones(text: &str) -> Vec<Range<usize>> {
    static PHONES: LazyLock<Regex> = LazyLock::new(|| {
        regex(concat!(
            r"\+[0-9]{1,3}(?:[ ./-]?\(?[0-9]{1,5}\)?){2,6}",
            // Mobiles of China.
            r"|1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}",
            // North America, in three parts.
            r"|(?:1[ .-])?\([2-9][0-9]{2}\) ?[2-9][0-9]{2}[ .-][0-9]{4}",
            r"|(?:1[ .-])?[2-9][0-9]{2}(?:-[2-9][0-9]{2}-| [2-9][0-9]{2} |\.[2-9][0-9]{2}\.)[0-9]{4}",
            // A zero before the city or network, as in most other countries.
            r"|\(0[1-9][0-9]{0,3}\) ?[0-9]{3,4}[ -]?[0-9]{3,4}",
            r"|0[1-9][0-9]{1,3}[ /-][0-9]{6,8}",
            r"|0[1-9][0-9]{0,3}[ -][0-9]{3,4}[ -][0-9]{3,4}",
        ))
    });
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(next) = PHONES.find_at(text, from) {
        let range = match next.as_str().starts_with('+') {
            true => without_more(text, next.range()),
            false => Some(next.range()).filter(|range| is_alone(text, range)),
        };
        from = range.as_ref().map_or(next.start() + 1, |range| range.end);
        found.extend(range);
    }
    found
}

/// As many groups as a number with its country can have; those behind are other numbers.
fn without_more(text: &str, mut range: Range<usize>) -> Option<Range<usize>> {
    while digits(&text[range.clone()]).count() > 15 {
        range.end = range.start + text[range.clone()].rfind([' ', '.', '/', '-'])?;
    }
    (digits(&text[range.clone()]).count() >= 8).then_some(range)
}

/// Neither a part of a longer number or word, nor an amount of money.
fn is_alone(text: &str, range: &Range<usize>) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let joins = |c: char| matches!(c, '-' | '.' | '/' | ',' | ':' | '+');
    let mut before = text[..range.start].chars().rev();
    let mut behind = text[range.end..].chars();
    let goes_on = |first: Option<char>, second: Option<char>| {
        first.is_some_and(is_word)
            || first.is_some_and(joins) && second.is_some_and(|second| second.is_ascii_digit())
    };
    let (last, next) = (before.next(), behind.next());
    let is_money = last.is_some_and(|c| matches!(c, '$' | '€' | '£' | '¥'));
    !is_money && !goes_on(last, before.next()) && !goes_on(next, behind.next())
}

#[cfg(test)]
mod tests {
    use super::super::{PERSONAL, replace};

    fn masked(text: &str) -> String {
        let kinds = PERSONAL.iter().map(|kind| (kind.name, kind));
        replace(text, kinds, &mut |name, _| format!("[{name}]")).unwrap_or_else(|| text.to_owned())
    }

    /// AG-18
    #[test]
    fn numbers_of_people_are_found_as_people_write_them() {
        for (text, expected) in [
            ("13800138000", "[phone]"),
            ("call 138-0013-8000 now", "call [phone] now"),
            ("手机号13800138000，", "手机号[phone],"),
            ("tel:13800138000 13900139000", "tel:[phone] [phone]"),
            ("(415) 555-2671", "[phone]"),
            ("415-555-2671, 415.555.2671", "[phone], [phone]"),
            ("1-415-555-2671", "[phone]"),
            ("电话：010-62345678", "电话:[phone]"),
            ("(010) 6234 5678 or 020 7946 0958", "[phone] or [phone]"),
            ("030/12345678", "[phone]"),
            ("+8613800138000 123", "[phone] 123"),
            ("+1 415 555 2671 4111111111111111", "[phone] [card]"),
            ("id 11010519491231002X.", "id [ssn]."),
            ("身份证11010519491231002x", "身份证[ssn]"),
            ("440524188001010014", "[ssn]"),
            ("078-05-1120", "[ssn]"),
            ("4111111111111111 123", "[card] 123"),
            ("4111111111111111 12/27 123", "[card] 12/27 123"),
            ("4111 1111 1111 1111, 12/27", "[card], 12/27"),
            ("order 7 4111 1111 1111 1111", "order 7 [card]"),
            ("4111 1111 1111 1111 4111-1111-1111-1111", "[card] [card]"),
            ("卡号4111111111111111", "卡号[card]"),
            ("3782 822463 10005 and 6222021234567890128", "[card] and [card]"),
        ] {
            assert_eq!(masked(text), expected, "{text}");
        }
    }

    /// AG-18
    #[test]
    fn other_numbers_are_left_alone() {
        for text in [
            "2026-11-18",
            "2026-11-18T05:04:21.123Z",
            "20261118050421",
            "18.11.2026 05:04",
            "1763442261123 ms",
            "1763442261 s",
            "order 100200300, 2 of 1234567890",
            "$13800138000, 13800138000.50",
            "1,234,567.89",
            "192.168.100.200",
            "550e8400-e29b-41d4-a716-446655440000",
            "110105194912310021",
            "11010519491331002X",
            "4111111111111112 123",
            "x13800138000 13800138000y 213800138000",
            "v1.13800138000",
            "12 27 2026 100 200",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
