//! Text with what people cannot see spelled out: whoever decides must see all that is sent, and a terminal must obey nothing.

use super::{is_foreign, is_joiner, is_selector, kind_of, selects};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with every character that hides something, moves a cursor or turns the reading around written as JSON
/// escapes it; line ends and tabs stay. What may be in use at the edge of a part of a text is left alone.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    let mut characters = text.chars().peekable();
    let (mut result, mut last, mut is_changed) = (String::with_capacity(text.len()), None, false);
    while let Some(character) = characters.next() {
        if is_unseen(character, last, characters.peek().copied()) {
            is_changed = true;
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(result, "\\u{unit:04x}");
            }
        } else {
            result.push(character);
        }
        last = Some(character);
    }
    if is_changed { Cow::Owned(result) } else { Cow::Borrowed(text) }
}

fn is_unseen(character: char, last: Option<char>, next: Option<char>) -> bool {
    match character {
        '\n' | '\t' => false,
        '\r' => next != Some('\n'),
        '\u{2028}' | '\u{2029}' => true,
        _ if is_joiner(character) => [last, next].into_iter().flatten().any(|beside| !is_foreign(beside)),
        _ if is_selector(character) => last.is_some() && !selects(character, last, next),
        _ => kind_of(character).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AG-13
    #[test]
    fn what_is_hidden_is_spelled_out_and_the_rest_stays() {
        for (text, expected) in [
            ("A\u{202e}B\u{200b}", "A\\u202eB\\u200b"),
            ("\u{1b}]0;PWNED\u{7}\u{1b}[31mred\0 end", "\\u001b]0;PWNED\\u0007\\u001b[31mred\\u0000 end"),
            ("\u{9b}2J\u{7f}a\rb", "\\u009b2J\\u007fa\\u000db"),
            ("x\u{e0041}\u{fe01}\u{2028}", "x\\udb40\\udc41\\ufe01\\u2028"),
            ("ig\u{200d}nore", "ig\\u200dnore"),
            (
                "two\r\nlines\tand 👨‍👩‍👧 ❤️ می‌خواهم 葛\u{e0100}城",
                "two\r\nlines\tand 👨‍👩‍👧 ❤️ می‌خواهم 葛\u{e0100}城",
            ),
            ("\u{200d}👧", "\u{200d}👧"),
        ] {
            assert_eq!(escaped(text), expected, "{text:?}");
        }
    }
}
