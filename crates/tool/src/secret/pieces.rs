//! Parts of secrets: what is cut out of one is as secret, as far as it can be told from any other text.

use super::MASK;
use std::collections::HashSet;

/// So many letters in a row that a secret has, too, are a part of it. Fewer are found in other texts by chance.
const LETTERS: usize = 6;
/// A whole text that stands in a secret is a part of it from so many bytes on.
const SHORTEST: usize = 3;
/// Of more than so many letters only the first are known, or one input could fill the memory.
const MAX_LETTERS: usize = 64 * 1024;

/// The parts of some secrets, in letters of any case.
#[derive(PartialEq, Eq)]
pub(super) struct Pieces {
    secrets: Vec<String>,
    rows: HashSet<[char; LETTERS]>,
}

impl Pieces {
    pub(super) fn of(secrets: &[String]) -> Self {
        let secrets: Vec<_> = secrets.iter().map(|secret| secret.to_lowercase()).collect();
        let rows = secrets.iter().flat_map(|secret| {
            let letters: Vec<_> = secret.chars().take(MAX_LETTERS).collect();
            letters.array_windows().copied().collect::<Vec<[char; LETTERS]>>()
        });
        let rows = rows.take(MAX_LETTERS).collect();
        Self { secrets, rows }
    }

    /// The whole text is a part of a secret.
    pub(super) fn has(&self, text: &str) -> bool {
        text.len() >= SHORTEST && self.contain(text)
    }

    /// Together these are enough of a secret, however short each of them is: what is left of one that was split.
    pub(super) fn have_all<'a>(&self, mut texts: impl Iterator<Item = &'a str> + Clone) -> bool {
        let size: usize = texts.clone().map(str::len).sum();
        size >= LETTERS && texts.all(|text| self.contain(text))
    }

    fn contain(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.secrets.iter().any(|secret| secret.contains(&text))
    }

    /// The text with `***` in place of every part.
    pub(super) fn masked(&self, text: &str) -> String {
        let letters: Vec<char> = text.chars().collect();
        let plain: Vec<char> =
            letters.iter().map(|letter| letter.to_lowercase().next().unwrap_or(*letter)).collect();
        let (mut masked, mut hidden_until) = (String::with_capacity(text.len()), 0);
        for (at, letter) in letters.iter().enumerate() {
            let row = plain[at..].first_chunk::<LETTERS>();
            if row.is_some_and(|row| self.rows.contains(row)) {
                if at >= hidden_until {
                    masked.push_str(MASK);
                }
                hidden_until = at + LETTERS;
            }
            if at >= hidden_until {
                masked.push(*letter);
            }
        }
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_wherever_they_stand() {
        let pieces = Pieces::of(&["Hunter2-is-MY-password".to_owned(), "ab".to_owned()]);
        assert_eq!(pieces.masked("user hunter2, PASSWORD!"), "user ***, ***!");
        assert_eq!(pieces.masked("is-my-pass and hunt"), "*** and hunt");
        assert_eq!(pieces.masked("grüße"), "grüße");
        assert!(pieces.has("hunter2") && pieces.has("MY-") && !pieces.has("is") && !pieces.has("other"));
        assert!(pieces.have_all(["h", "u", "n", "t", "e", "r"].into_iter()));
        assert!(!pieces.have_all(["h", "u"].into_iter()) && !pieces.have_all(["hunter", "?"].into_iter()));
        assert!(!pieces.have_all([].into_iter()));
    }
}
