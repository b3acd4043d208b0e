//! What the reader of a preview must know: what was left out, and what is not as the document says.

use std::collections::HashMap;
use tool::Skipped;

/// A document that is wrong everywhere must not make an endless answer.
const MAX_WARNINGS: usize = 100;

#[derive(Debug, Default, Clone)]
pub(super) struct Notes {
    pub(super) skipped: Vec<Skipped>,
    warnings: Vec<Warning>,
    /// Where each warning is, by its words.
    places: HashMap<String, usize>,
    has_more: bool,
    /// The operation that is being read, e.g. `GET /pets`.
    operation: Option<String>,
}

#[derive(Debug, Clone)]
struct Warning {
    words: String,
    first: Option<String>,
    last: Option<String>,
    /// Operations beside the first one.
    more: usize,
}

impl Notes {
    /// What comes next is about this operation.
    pub(super) fn begin(&mut self, operation: &str) {
        self.operation = Some(operation.to_owned());
    }

    /// What comes next is about the whole document.
    pub(super) fn end(&mut self) {
        self.operation = None;
    }

    /// Says something once, and of which operations it is true.
    pub(super) fn warn(&mut self, words: impl Into<String>) {
        let words = words.into();
        if let Some(warning) = self.places.get(&words).and_then(|place| self.warnings.get_mut(*place)) {
            if warning.last != self.operation {
                warning.last.clone_from(&self.operation);
                warning.more += 1;
            }
        } else if self.warnings.len() == MAX_WARNINGS {
            self.has_more = true;
        } else {
            self.places.insert(words.clone(), self.warnings.len());
            let (first, last) = (self.operation.clone(), self.operation.clone());
            self.warnings.push(Warning { words, first, last, more: 0 });
        }
    }

    pub(super) fn skip(&mut self, operation: &str, reason: impl Into<String>) {
        self.skipped.push(Skipped { operation: operation.to_owned(), reason: reason.into() });
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let more = self.has_more.then(|| "there are more warnings than fit here".to_owned());
        self.warnings.iter().map(Warning::text).chain(more).collect()
    }
}

impl Warning {
    fn text(&self) -> String {
        match (&self.first, self.more) {
            (None, _) => self.words.clone(),
            (Some(first), 0) => format!("{first}: {}", self.words),
            (Some(first), more) => format!("{first} and {more} more: {}", self.words),
        }
    }
}
