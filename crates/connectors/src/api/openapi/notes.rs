//! What the reader of a preview must know: what was left out, and what is not as the document says.

use tool::Skipped;

/// A document that is wrong everywhere must not make an endless answer.
const MAX_WARNINGS: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) warnings: Vec<String>,
    pub(super) skipped: Vec<Skipped>,
}

impl Notes {
    /// Says something once.
    pub(super) fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        match self.warnings.len() {
            MAX_WARNINGS => self.warnings.push("there are more warnings than fit here".to_owned()),
            length if length > MAX_WARNINGS || self.warnings.contains(&warning) => {}
            _ => self.warnings.push(warning),
        }
    }

    pub(super) fn skip(&mut self, operation: &str, reason: impl Into<String>) {
        self.skipped.push(Skipped { operation: operation.to_owned(), reason: reason.into() });
    }
}
