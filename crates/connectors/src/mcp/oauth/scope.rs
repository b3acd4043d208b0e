//! What a token may be used for: a set of words, in the order in which they came up.

/// The scope of a token or of a request for one.
#[derive(Debug, Clone, Default, Eq)]
pub(super) struct Scope(Vec<String>);

/// More words than any server needs; the rest is passed over.
const MAX_WORDS: usize = 256;

impl Scope {
    pub(super) fn parse(text: &str) -> Self {
        Self::of(text.split_ascii_whitespace())
    }

    pub(super) fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut scope = Self::default();
        words.into_iter().for_each(|word| scope.add(word));
        scope
    }

    pub(super) fn add(&mut self, word: &str) {
        // As RFC 6749 defines a word: visible ASCII, without quotes.
        let is_word = word.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
        if is_word && !word.is_empty() && !self.contains(word) && self.0.len() < MAX_WORDS {
            self.0.push(word.to_owned());
        }
    }

    /// This and the other.
    #[must_use]
    pub(super) fn with(mut self, other: &Self) -> Self {
        other.0.iter().for_each(|word| self.add(word));
        self
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        other.0.iter().all(|word| self.contains(word))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn text(&self) -> String {
        self.0.join(" ")
    }

    fn contains(&self, word: &str) -> bool {
        self.0.iter().any(|known| known == word)
    }
}

/// The order of the words means nothing.
impl PartialEq for Scope {
    fn eq(&self, other: &Self) -> bool {
        self.covers(other) && other.covers(self)
    }
}
