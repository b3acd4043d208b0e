//! What is wrong with an input, place by place.

/// One thing wrong with an input: where, which rule, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Path into the input, e.g. `config.retry.max_attempts` or `tools[0].endpoint`.
    pub path: String,
    /// A stable word for programs, e.g. `Required` or `PathParameterMissing`.
    pub code: &'static str,
    /// A sentence for people and models.
    pub message: String,
    /// Which line of the input, from 1, where the input is a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Which character of the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

impl Problem {
    /// A problem at `path`.
    pub fn new(path: impl Into<String>, code: &'static str, message: impl Into<String>) -> Self {
        Self { path: path.into(), code, message: message.into(), line: None, column: None }
    }

    /// The same with its place in a text.
    #[must_use]
    pub fn at(self, line: usize, column: usize) -> Self {
        Self { line: Some(line), column: Some(column), ..self }
    }

    /// The problem is at `path` or below it.
    #[must_use]
    pub fn is_within(&self, path: &str) -> bool {
        let rest = self.path.strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
}
