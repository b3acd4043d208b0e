//! Text from outside without what people cannot see: a model would read it, and might obey.

mod escaped;
mod json;

pub use escaped::escaped;
pub(crate) use json::{DATA, NAMES, clean_field};

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// What hides in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hidden {
    /// Sequences that move the cursor, colour or name the window of a terminal.
    TerminalEscape,
    /// Other control characters.
    Control,
    /// Characters without width.
    ZeroWidth,
    /// Characters that turn the direction of reading around.
    Bidirectional,
    /// Unicode tags, which spell out text that nobody sees.
    Tag,
    /// Variation selectors, and controls of rare scripts, where they select nothing: they can carry text, too.
    VariationSelector,
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TerminalEscape => "terminal escapes",
            Self::Control => "control characters",
            Self::ZeroWidth => "zero-width characters",
            Self::Bidirectional => "bidirectional controls",
            Self::Tag => "Unicode tags",
            Self::VariationSelector => "variation selectors",
        })
    }
}

/// The text without what hides in it; `found` learns what that was.
#[must_use]
pub fn clean<'a>(text: &'a str, found: &mut BTreeSet<Hidden>) -> Cow<'a, str> {
    if !text.chars().any(is_suspect) {
        return Cow::Borrowed(text);
    }
    let characters: Vec<char> = text.chars().collect();
    let mut result = String::with_capacity(text.len());
    let mut last = None;
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        if matches!(character, '\u{1b}' | '\u{9b}') {
            found.insert(Hidden::TerminalEscape);
            at += escape_length(&characters[at..]);
            continue;
        }
        at += 1;
        match hidden(character, last, characters.get(at).copied()) {
            Some(kind) => drop(found.insert(kind)),
            None => {
                result.push(character);
                last = Some(character);
            }
        }
    }
    if result.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(result) }
}

/// Whether a character may have to go: a cheap test that nearly every text passes.
fn is_suspect(character: char) -> bool {
    match character {
        '\n' | '\t' | ' '..='~' => false,
        '\0'..='\u{9f}' => true,
        _ => kind_of(character).is_some() || is_joiner(character) || is_selector(character),
    }
}

/// What a character hides, between the last one that stays and the next one.
fn hidden(character: char, last: Option<char>, next: Option<char>) -> Option<Hidden> {
    match character {
        '\n' | '\t' => None,
        '\r' => (next != Some('\n')).then_some(Hidden::Control),
        // Scripts and emoji need them between their own characters.
        _ if is_joiner(character) => {
            let is_used = last.is_some_and(is_foreign) && next.is_some_and(is_foreign);
            (!is_used).then_some(Hidden::ZeroWidth)
        }
        _ if is_selector(character) => (!selects(character, last, next)).then_some(Hidden::VariationSelector),
        _ => kind_of(character),
    }
}

/// What hides by itself. Not here is what shows: private characters, which fonts draw as they like and others as a box, and
/// blanks such as that of Braille, which one sees as what they are.
fn kind_of(character: char) -> Option<Hidden> {
    Some(match character {
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => Hidden::Control,
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{2060}'..='\u{2065}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' => Hidden::ZeroWidth,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => {
            Hidden::Bidirectional
        }
        '\u{e0000}'..='\u{e00ff}' | '\u{e01f0}'..='\u{e0fff}' => Hidden::Tag,
        _ => return None,
    })
}

fn is_joiner(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}')
}

fn is_selector(character: char) -> bool {
    match character {
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => true,
        // Those of Mongolian, and what fills a place of Khitan.
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{16fe4}' => true,
        _ => is_hieroglyph_control(character),
    }
}

/// They say how Egyptian signs stand together.
fn is_hieroglyph_control(character: char) -> bool {
    matches!(character, '\u{13430}'..='\u{1343f}')
}

/// One selector behind a character that has variations.
fn selects(selector: char, last: Option<char>, next: Option<char>) -> bool {
    let is_hieroglyph =
        |character: char| matches!(character, '\u{13000}'..='\u{1345f}') && !is_hieroglyph_control(character);
    if is_hieroglyph_control(selector) {
        // Two may stand between signs, such as one that joins and one that begins a group.
        let is_second = last.is_some_and(is_hieroglyph_control) && next.is_some_and(is_hieroglyph);
        return last.is_some_and(is_hieroglyph) || is_second;
    }
    let Some(last) = last.filter(|last| !is_selector(*last)) else { return false };
    match selector {
        '\u{180b}'..='\u{180d}' | '\u{180f}' => {
            matches!(last, '\u{1807}' | '\u{180a}' | '\u{1820}'..='\u{18aa}')
        }
        '\u{16fe4}' => matches!(last, '\u{18b00}'..='\u{18cff}'),
        // Text or emoji; the keys 0 to 9, # and * are followed by their frame.
        '\u{fe0e}' | '\u{fe0f}' => is_foreign(last) || next == Some('\u{20e3}'),
        _ => matches!(last, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'),
    }
}

fn is_foreign(character: char) -> bool {
    !character.is_ascii() && kind_of(character).is_none() && !is_joiner(character)
}

/// How many characters an escape sequence has, at least the first.
fn escape_length(rest: &[char]) -> usize {
    let is_single = rest.first() == Some(&'\u{9b}');
    let (kind, body) = if is_single { ('[', 1) } else { (rest.get(1).copied().unwrap_or_default(), 2) };
    match kind {
        // Parameters, then one letter.
        '[' => {
            let end = rest.iter().skip(body).position(|c| !matches!(c, ' '..='?'));
            end.map_or(1, |end| match rest[body + end] {
                '@'..='~' => body + end + 1,
                _ => body + end,
            })
        }
        // Up to a bell or a string terminator; without one only the escape itself goes.
        ']' | 'P' | 'X' | '^' | '_' => {
            let ends = |at: &usize| rest[*at] == '\u{7}' || rest[*at] == '\u{9c}' || rest[*at] == '\u{1b}';
            let end = (body..rest.len()).find(ends);
            end.map_or(1, |end| if rest[end] == '\u{1b}' { (end + 2).min(rest.len()) } else { end + 1 })
        }
        '(' | ')' | '*' | '+' | '#' | '%' => 3.min(rest.len()),
        '0'..='~' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cleaned(text: &str) -> (String, Vec<Hidden>) {
        let mut found = BTreeSet::new();
        let result = clean(text, &mut found).into_owned();
        (result, found.into_iter().collect())
    }

    #[test]
    fn takes_out_what_nobody_sees() {
        for (text, result, kind) in [
            ("a\u{200b}b\u{feff}", "ab", Hidden::ZeroWidth),
            ("ig\u{200d}nore", "ignore", Hidden::ZeroWidth),
            ("a\u{202e}b\u{2069}", "ab", Hidden::Bidirectional),
            ("hi\u{e0001}\u{e0068}\u{e0069}\u{e007f}", "hi", Hidden::Tag),
            ("x\u{fe01}\u{e0125}\u{e0130}", "x", Hidden::VariationSelector),
            ("a\u{180b}\u{180c}\u{180d}\u{180f}b", "ab", Hidden::VariationSelector),
            ("x\u{16fe4}\u{13430}\u{1343f}y", "xy", Hidden::VariationSelector),
            ("\u{13000}\u{13430}\u{13431}\u{13432}", "\u{13000}\u{13430}", Hidden::VariationSelector),
            ("\u{1f600}\u{fe0f}\u{fe01}\u{fe02}", "\u{1f600}\u{fe0f}", Hidden::VariationSelector),
            ("\u{1b}[31mred\u{1b}[0m", "red", Hidden::TerminalEscape),
            ("\u{9b}2Jgone", "gone", Hidden::TerminalEscape),
            ("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\", "link", Hidden::TerminalEscape),
            ("\u{1b}]0;open", "]0;open", Hidden::TerminalEscape),
            ("a\u{8}\u{0}b\rc", "abc", Hidden::Control),
        ] {
            assert_eq!(cleaned(text), (result.to_owned(), vec![kind]), "{text:?}");
        }
    }

    #[test]
    fn leaves_every_script_and_emoji_alone() {
        for text in [
            "plain\ttext\r\nwith lines\n",
            "👨‍👩‍👧 ❤️ 1️⃣ 🏳️‍🌈 👁️‍🗨️",
            "می‌خواهم", // Persian needs its zero-width non-joiner.
            "क्‍ष שלום مرحبا",
            "葛\u{e0100}城",
            "\u{1828}\u{180b}\u{1820}", // Mongolian chooses between forms of a letter.
            "\u{18b00}\u{16fe4}",
            "\u{13000}\u{13430}\u{13437}\u{13001}\u{13431}\u{13002}\u{13438}",
            "\u{2801}\u{2800}\u{2803}", // Braille has a blank.
            "naïve — “quoted” …",
        ] {
            assert_eq!(cleaned(text), (text.to_owned(), vec![]), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn cleaning_twice_changes_nothing_more(text in any::<String>()) {
            let (once, _) = cleaned(&text);
            let (twice, _) = cleaned(&once);
            let has_escape = once.contains('\u{1b}');
            prop_assert!(!has_escape);
            prop_assert_eq!(once, twice);
        }
    }
}
