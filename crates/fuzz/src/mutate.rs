//! From good inputs to others: bytes, words, brackets and lines are changed, moved, repeated and nested.

use crate::random::Random;
use std::collections::BTreeSet;
use std::ops::Range;

/// Longer inputs are cut: every parser has its own limit long before.
const MAX_BYTES: usize = 64 * 1024;
/// Enough for the words of any seeds.
const MAX_WORDS: usize = 4_096;

/// Numbers at the edges of types, and what is none though it looks like one.
const NUMBERS: [&str; 14] = [
    "0",
    "-0",
    "-1",
    "2147483648",
    "9007199254740993",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "1e308",
    "1e400",
    "1e-400",
    "0x7fffffffffffffff",
    "00",
    "1.",
];
/// Bytes that mean something to somebody.
const BYTES: [&str; 22] = [
    "\0", "\r\n", "\n", "\t", "\"", "'", "\\", "\\u0000", "\\ud800", "%00", "%2e%2e", "{{", "}}", "${", "<<",
    "&a ", "*a ", "|", "$ref", "🦀", "\u{feff}", "\u{202e}",
];
const OPENING: &[u8] = b"([{";
const CLOSING: &[u8] = b")]}";

/// What inputs are made of.
#[derive(Debug)]
pub(crate) struct Corpus<'a> {
    seeds: &'a [Vec<u8>],
    words: Vec<Vec<u8>>,
}

impl<'a> Corpus<'a> {
    pub(crate) fn new(seeds: &'a [Vec<u8>]) -> Self {
        assert!(!seeds.is_empty(), "there is nothing to begin with");
        let words: BTreeSet<_> =
            seeds.iter().flat_map(|seed| words(seed).into_iter().map(|word| seed[word].to_vec())).collect();
        Self { seeds, words: words.into_iter().take(MAX_WORDS).collect() }
    }

    /// An input: a seed, changed a few times. Some are left as they are, a few are nothing but noise.
    pub(crate) fn input(&self, random: &mut Random) -> Vec<u8> {
        let mut input = random.one_of(self.seeds).clone();
        if random.below(64) == 0 {
            input = (0..random.below(256)).map(|_| random.next().to_le_bytes()[0]).collect();
        }
        let most = 1 << random.below(5);
        for _ in 0..random.below(most + 1) {
            self.change(&mut input, random);
            input.truncate(MAX_BYTES);
        }
        input
    }

    fn change(&self, input: &mut Vec<u8>, random: &mut Random) {
        match random.below(12) {
            0 => flip(input, random),
            1 => insert(input, random.one_of(&BYTES).as_bytes(), random),
            2 => {
                input.drain(random.range(input.len()));
            }
            3 => self.repeat(input, random),
            4 => insert(input, random.one_of::<Vec<u8>>(&self.words), random),
            5 => self.replace_word(input, random),
            6 => replace_number(input, random),
            7 => self.replace_group(input, random),
            8 => nest(input, random),
            9 => change_lines(input, random),
            10 => self.splice(input, random),
            _ => {
                let part = input[random.range(input.len())].to_vec();
                insert(input, &part, random);
            }
        }
    }

    /// A word many times over: what is nested, listed or called so often.
    fn repeat(&self, input: &mut Vec<u8>, random: &mut Random) {
        let many = 1 << random.below(13);
        let word = random.one_of(&self.words);
        let count = many.min(MAX_BYTES / word.len().max(1));
        insert(input, &word.repeat(count), random);
    }

    fn replace_word(&self, input: &mut Vec<u8>, random: &mut Random) {
        let found = words(input);
        if !found.is_empty() {
            let place = random.one_of(&found).clone();
            input.splice(place, random.one_of(&self.words).iter().copied());
        }
    }

    /// What stands in brackets becomes what stands in other brackets, of this input or another.
    fn replace_group(&self, input: &mut Vec<u8>, random: &mut Random) {
        let other = if random.below(2) == 0 { input.clone() } else { random.one_of(self.seeds).clone() };
        if let (Some(place), Some(group)) = (group(input, random), group(&other, random)) {
            input.splice(place, other[group].iter().copied());
        }
    }

    /// The beginning of one and the end of another.
    fn splice(&self, input: &mut Vec<u8>, random: &mut Random) {
        let other = random.one_of(self.seeds);
        input.truncate(random.below(input.len() + 1));
        input.extend_from_slice(&other[random.below(other.len() + 1)..]);
    }
}

fn flip(input: &mut [u8], random: &mut Random) {
    if !input.is_empty() {
        let at = random.below(input.len());
        input[at] ^= 1 << random.below(8);
    }
}

fn insert(input: &mut Vec<u8>, bytes: &[u8], random: &mut Random) {
    let at = random.below(input.len() + 1);
    input.splice(at..at, bytes.iter().copied());
}

fn replace_number(input: &mut Vec<u8>, random: &mut Random) {
    let mut found = words(input);
    found.retain(|word| input[word.start].is_ascii_digit());
    if !found.is_empty() {
        let place = random.one_of(&found).clone();
        input.splice(place, random.one_of(&NUMBERS).bytes());
    }
}

/// Puts what stands in brackets into many more of them.
fn nest(input: &mut Vec<u8>, random: &mut Random) {
    let Some(place) = group(input, random) else { return };
    let depth = 1 << random.below(12);
    let at = OPENING.iter().position(|byte| *byte == input[place.start]).unwrap_or(0);
    input.splice(place.end..place.end, std::iter::repeat_n(CLOSING[at], depth));
    input.splice(place.start..place.start, std::iter::repeat_n(OPENING[at], depth));
}

/// Drops a line, moves one, or changes how far it is indented.
fn change_lines(input: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = input.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let at = random.below(lines.len());
    let line = lines.remove(at);
    match random.below(4) {
        0 => {}
        1 => lines.insert(random.below(lines.len() + 1), line),
        2 => lines.insert(at, [&b" ".repeat(random.below(8)), &line[..]].concat()),
        _ => lines.insert(at, line.trim_ascii_start().to_vec()),
    }
    *input = lines.join(&b'\n');
}

/// Where words stand: runs of letters and digits, and each sign for itself.
fn words(text: &[u8]) -> Vec<Range<usize>> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let (mut found, mut start) = (Vec::new(), 0);
    while start < text.len() {
        let length = text[start..].iter().take_while(|byte| is_letter(**byte)).count().max(1);
        if !text[start].is_ascii_whitespace() {
            found.push(start..start + length);
        }
        start += length;
    }
    found
}

/// Something that stands in brackets, with them.
fn group(text: &[u8], random: &mut Random) -> Option<Range<usize>> {
    let opened: Vec<_> = (0..text.len()).filter(|at| OPENING.contains(&text[*at])).collect();
    if opened.is_empty() {
        return None;
    }
    let start = *random.one_of(&opened);
    let mut depth = 0_usize;
    for (at, byte) in text.iter().enumerate().skip(start) {
        depth += usize::from(OPENING.contains(byte));
        depth -= usize::from(CLOSING.contains(byte));
        if depth == 0 {
            return Some(start..at + 1);
        }
    }
    None
}
