//! Chunks: a text in parts that are small enough to be read at a glance, each beginning a little before the last one's end.

use std::ops::Range;

/// The most characters of a chunk.
pub const CHARACTERS: usize = 1000;
/// How many characters of a chunk stand in the one before as well.
pub const OVERLAP: usize = 100;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// From its first character to behind its last.
    pub characters: Range<usize>,
    /// The same in bytes.
    pub bytes: Range<usize>,
}

/// The chunks of a text. A chunk ends behind the last line end of its second half, where there is
/// one, and otherwise in the middle of a line.
#[must_use]
pub fn cut(text: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    if text.trim().is_empty() {
        return chunks;
    }
    let (mut character, mut byte) = (0, 0);
    loop {
        let (count, length, is_last) = first(&text[byte..]);
        let (end, byte_end) = (character + count, byte + length);
        chunks.push(Chunk { characters: character..end, bytes: byte..byte_end });
        if is_last {
            return chunks;
        }
        let back = text[byte..byte_end].char_indices().rev().nth(OVERLAP - 1).map_or(0, |(at, _)| at);
        (character, byte) = (end - OVERLAP, byte + back);
    }
}

/// How many characters and bytes the first chunk has, and whether nothing follows.
fn first(text: &str) -> (usize, usize, bool) {
    let mut line_end = None;
    for (count, (byte, character)) in text.char_indices().enumerate() {
        if count == CHARACTERS {
            let (count, byte) = line_end.unwrap_or((count, byte));
            return (count, byte, false);
        }
        if character == '\n' && count >= CHARACTERS / 2 {
            line_end = Some((count + 1, byte + 1));
        }
    }
    (text.chars().count(), text.len(), true)
}

/// The part of a text between two characters.
#[must_use]
pub fn part(text: &str, start: usize, end: usize) -> String {
    text.chars().skip(start).take(end.saturating_sub(start)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn characters(text: &str) -> Vec<Range<usize>> {
        let chunks = cut(text);
        for chunk in &chunks {
            let (start, end) = (chunk.characters.start, chunk.characters.end);
            assert_eq!(part(text, start, end), text[chunk.bytes.clone()]);
        }
        chunks.into_iter().map(|chunk| chunk.characters).collect()
    }

    #[test]
    fn cuts_where_lines_end_and_counts_characters() {
        assert_eq!(characters("short"), vec![0..5; 1]);
        assert!(cut("").is_empty() && cut(" \n ").is_empty());
        assert_eq!(characters(&"é".repeat(1000)), vec![0..1000; 1]);
        assert_eq!(characters(&"中".repeat(1001)), [0..1000, 900..1001]);
        let lines = format!("{}\n{}", "a".repeat(700), "b".repeat(700));
        assert_eq!(characters(&lines), [0..701, 601..1401]);
        let early = format!("{}\n{}", "a".repeat(100), "b".repeat(1500));
        assert_eq!(
            characters(&early)[0],
            0..1000,
            "a line end in the first half would make the chunk too small"
        );
    }

    #[test]
    fn loses_no_character_and_overlaps_by_a_hundred() {
        let text: String = (0..5000).map(|n| if n % 83 == 0 { '\n' } else { 'x' }).collect();
        let chunks = characters(&text);
        assert_eq!((chunks[0].start, chunks.last().unwrap().end), (0, 5000));
        for pair in chunks.windows(2) {
            assert_eq!(pair[0].end - pair[1].start, OVERLAP);
            assert!(pair[0].len() <= CHARACTERS);
            assert_eq!(text.chars().nth(pair[0].end - 1), Some('\n'));
        }
    }

    #[test]
    fn shows_the_part_between_two_characters() {
        assert_eq!(part("aé中b", 1, 3), "é中");
        assert_eq!(part("ab", 1, 9), "b");
        assert_eq!(part("ab", 5, 1), "");
    }
}
