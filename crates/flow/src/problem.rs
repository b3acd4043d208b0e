//! What is wrong with a document, and where.

use crate::source::Place;
use serde::Serialize;
use std::fmt;

/// Problems listed at the most, so that a hostile document cannot make an endless answer.
const MAX_PROBLEMS: usize = 200;

/// What kind of problem, as a stable word for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Code {
    Syntax,
    Unknown,
    Duplicate,
    UnknownNode,
    UnknownTool,
    MissingArgument,
    UnknownArgument,
    TypeMismatch,
    Expression,
    UnknownName,
    NotUpstream,
    Unreachable,
    Cycle,
    LimitExceeded,
    Race,
    Unused,
    Unchecked,
}

/// Whether a problem stops publishing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Severity {
    Error,
    Warning,
}

/// One thing wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where in the tree, e.g. `nodes.order.exec` or `triggers[0].cron`.
    pub path: String,
    /// Which kind.
    pub code: Code,
    /// A sentence for people and models.
    pub message: String,
    /// Where in the text, counted from 1.
    pub line: usize,
    /// Which character of the line, counted from 1.
    pub column: usize,
    /// Whether it stops publishing.
    pub severity: Severity,
}

impl Problem {
    pub(crate) fn error(code: Code, path: &str, at: Place, message: impl Into<String>) -> Self {
        let Place { line, column } = at;
        Self { path: path.to_owned(), code, message: message.into(), line, column, severity: Severity::Error }
    }

    pub(crate) fn warning(code: Code, path: &str, at: Place, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, path, at, message) }
    }

    /// The problem stops publishing.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, code, message, .. } = self;
        write!(f, "{line}:{column}: {code:?}: {message}")
    }
}

/// The problems found so far.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn add(&mut self, problem: Problem) {
        if self.0.len() < MAX_PROBLEMS && !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }

    /// No more are listed: what it takes to find and word another is spared.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_PROBLEMS
    }

    /// In the order of the text.
    pub(crate) fn into_sorted(mut self) -> Vec<Problem> {
        self.0.sort_by_key(|problem| (problem.line, problem.column));
        self.0
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        problems.into_iter().for_each(|problem| self.add(problem));
    }
}
