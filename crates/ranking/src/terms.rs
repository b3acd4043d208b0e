//! Terms: what descriptions of tools and queries for them are compared by.
//!
//! Names are cut where programmers join words, English words are reduced to their stems, and Chinese goes by pairs as in
//! table search.

use crate::words::{Run, is_filler, lowered, of_han, pairs, runs};
use rust_stemmers::{Algorithm, Stemmer};

/// Words of more parts are somebody's data, and no name.
const MAX_PARTS: usize = 16;

/// Makes terms of texts.
pub(crate) struct Terms(Stemmer);

impl Terms {
    pub(crate) fn new() -> Self {
        Self(Stemmer::create(Algorithm::English))
    }

    /// Hands over the words of a description, in lower case and not yet stemmed.
    pub(crate) fn each_word(text: &str, mut take: impl FnMut(&str)) {
        let mut lower = String::new();
        for run in runs(text) {
            match run {
                Run::Han(characters) => {
                    characters.chars().for_each(|character| take(character.encode_utf8(&mut [0; 4])));
                    pairs(characters).for_each(&mut take);
                }
                Run::Word(word) => {
                    let mut count = 0;
                    for part in parts(word) {
                        count += 1;
                        take(in_lower_case(part, &mut lower));
                    }
                    if count > 1 {
                        take(in_lower_case(word, &mut lower));
                    }
                }
            }
        }
    }

    /// A word as it is compared: English without its ending.
    pub(crate) fn stem(&self, word: &str) -> String {
        match word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            true => self.0.stem(word).into_owned(),
            false => word.to_owned(),
        }
    }

    /// The words that are looked for.
    pub(crate) fn of_query<'a>(&self, query: &'a str) -> Wanted<'a> {
        let (mut plain, mut han) = (Vec::new(), Vec::new());
        for run in runs(query) {
            match run {
                Run::Word(word) => {
                    let cut: Vec<_> = parts(word).map(lowered).collect();
                    plain.extend((cut.len() > 1).then(|| lowered(word)));
                    plain.extend(cut);
                }
                Run::Han(characters) => {
                    han.push(characters);
                    plain.extend(of_han(characters).map(str::to_owned));
                }
            }
        }
        let mut of_names: Vec<String> = Vec::new();
        if plain.iter().any(|word| !says_little(word)) {
            for verb in plain.iter().filter_map(|word| in_name(word)) {
                if !of_names.contains(&verb) {
                    of_names.push(verb);
                }
            }
            plain.retain(|word| !says_little(word));
        }
        let mut terms: Vec<String> = Vec::new();
        for term in plain.iter().map(|word| self.stem(word)) {
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        Wanted { terms, of_names, han }
    }
}

/// What is looked for, each once.
pub(crate) struct Wanted<'a> {
    /// Terms; those that say nothing only where there are no others.
    pub(crate) terms: Vec<String>,
    /// Verbs that say nothing in a request, and much in a name, as [`in_name`] gives them.
    pub(crate) of_names: Vec<String>,
    /// Runs of Chinese, whole for those who look words up in them.
    pub(crate) han: Vec<&'a str>,
}

/// Lower case without a new text for each word.
fn in_lower_case<'a>(word: &str, buffer: &'a mut String) -> &'a str {
    buffer.clear();
    match word.is_ascii() && word.len() <= 64 {
        true => buffer.extend(word.bytes().map(|byte| char::from(byte.to_ascii_lowercase()))),
        false => buffer.push_str(&lowered(word)),
    }
    buffer
}

/// The parts of a name: `getUserID2` is get, User, ID, 2. A word that is none is its only part.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    let mut left = MAX_PARTS;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        left -= 1;
        let end = if left == 0 { rest.len() } else { end_of_part(rest) };
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

/// Where the first part ends: before a capital behind a small letter, before the last of several capitals that a small
/// letter follows, and between letters and digits.
fn end_of_part(word: &str) -> usize {
    let mut before: Option<char> = None;
    let mut characters = word.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        if let Some(before) = before {
            let is_digit_edge = before.is_ascii_digit() != character.is_ascii_digit();
            let is_hump = character.is_uppercase()
                && (before.is_lowercase() || (before.is_uppercase() && next.is_some_and(char::is_lowercase)));
            if is_digit_edge || is_hump {
                return at;
            }
        }
        before = Some(character);
    }
    word.len()
}

/// The term of a verb where it is a part of a tool's name: people say "get" whatever they want, and a tool that is called so
/// gets.
pub(crate) fn in_name(word: &str) -> Option<String> {
    matches!(word, "get" | "give" | "help" | "use").then(|| format!("{word}()"))
}

/// Words of requests that say nothing about the tool that is wanted.
fn says_little(word: &str) -> bool {
    const OF_REQUESTS: &str = "about also any available based must could d every get give help if into let like ll \
        m need please re s should so some t tell than them these us use ve want would";
    is_filler(word) || OF_REQUESTS.split(' ').any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        Terms::each_word(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn cuts_names_where_programmers_join_words() {
        assert_eq!(words("getUser_id2"), ["get", "user", "getuser", "id", "2", "id2"]);
        assert_eq!(words("HTTPServer"), ["http", "server", "httpserver"]);
        assert_eq!(words("read-file.v1"), ["read", "file", "v", "1", "v1"]);
        assert_eq!(words("plain words"), ["plain", "words"]);
        assert!(words(&"aB".repeat(10_000)).len() <= MAX_PARTS + 1);
    }

    #[test]
    fn stems_english_and_pairs_chinese() {
        let terms = Terms::new();
        assert_eq!(terms.of_query("Please list my emails").terms, ["list", "email"]);
        assert_eq!(
            terms.of_query("converting currencies").terms,
            [terms.stem("convert"), terms.stem("currency")]
        );
        assert_eq!(terms.of_query("发送邮件").terms, ["发送", "送邮", "邮件"]);
        assert_eq!(terms.of_query("to the").terms, ["to", "the"], "where there is nothing else");
    }
}
