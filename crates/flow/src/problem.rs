//! What is wrong with a document, and where.

use crate::source::Place;
use serde::Serialize;
use std::fmt;

/// Errors and warnings listed at the most, each, so that a hostile document cannot make an endless answer.
const MAX_PROBLEMS: usize = 100;

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

impl Code {
    /// All of them, with what they mean.
    pub const ALL: [(Self, &'static str); 17] = [
        (Self::Syntax, "the text cannot be read, or something else belongs there"),
        (Self::Unknown, "there is no such field, or no such word"),
        (Self::Duplicate, "written twice; names of inputs, vars, nodes and locals are unique together"),
        (Self::UnknownNode, "an edge leads to a node that is not in this block"),
        (Self::UnknownTool, "there is no such tool, or the publisher may not call it"),
        (Self::MissingArgument, "the tool requires it, and nothing of that name can be bound"),
        (Self::UnknownArgument, "the tool takes no such argument"),
        (Self::TypeMismatch, "the value is not of the parameter's type"),
        (Self::Expression, "the expression cannot be read"),
        (Self::UnknownName, "nothing has that name: no input, var, node, local or type"),
        (Self::NotUpstream, "the node named has not ended when this one runs"),
        (Self::Unreachable, "the node can never run"),
        (Self::Cycle, "edges lead in a circle; use a loop to repeat"),
        (Self::LimitExceeded, "more than a limit below allows"),
        (Self::Race, "a warning: two nodes may write the same var at once"),
        (Self::Unused, "a warning: an input or var that nothing uses"),
        (Self::Unchecked, "a warning: the service cannot say at the moment what it offers"),
    ];

    /// The word, as it stands in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "Syntax",
            Self::Unknown => "Unknown",
            Self::Duplicate => "Duplicate",
            Self::UnknownNode => "UnknownNode",
            Self::UnknownTool => "UnknownTool",
            Self::MissingArgument => "MissingArgument",
            Self::UnknownArgument => "UnknownArgument",
            Self::TypeMismatch => "TypeMismatch",
            Self::Expression => "Expression",
            Self::UnknownName => "UnknownName",
            Self::NotUpstream => "NotUpstream",
            Self::Unreachable => "Unreachable",
            Self::Cycle => "Cycle",
            Self::LimitExceeded => "LimitExceeded",
            Self::Race => "Race",
            Self::Unused => "Unused",
            Self::Unchecked => "Unchecked",
        }
    }
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
    /// It keeps one call from being made, and says nothing of the rest.
    #[serde(skip)]
    pub(crate) is_of_call: bool,
}

impl Problem {
    pub(crate) fn error(code: Code, path: &str, at: Place, message: impl Into<String>) -> Self {
        let Place { line, column } = at;
        let (path, message, severity) = (path.to_owned(), message.into(), Severity::Error);
        Self { path, code, message, line, column, severity, is_of_call: false }
    }

    pub(crate) fn warning(code: Code, path: &str, at: Place, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, path, at, message) }
    }

    /// A call has no address; whatever runs before it reaches it.
    pub(crate) fn of_call(self) -> Self {
        Self { is_of_call: true, ..self }
    }

    /// A draft may be run with it: the node with the call fails when its turn comes.
    #[must_use]
    pub fn is_of_call(&self) -> bool {
        self.is_of_call
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

/// The problems found so far. Warnings take no error's place: a flow with an error never looks right.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl Problems {
    pub(crate) fn add(&mut self, problem: Problem) {
        let found = if problem.is_error() { &mut self.errors } else { &mut self.warnings };
        if found.len() < MAX_PROBLEMS && !found.contains(&problem) {
            found.push(problem);
        }
    }

    /// No more errors are listed: what it takes to find and word another is spared.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.len() >= MAX_PROBLEMS
    }

    /// In the order of the text.
    pub(crate) fn into_sorted(self) -> Vec<Problem> {
        let mut all = self.errors;
        all.extend(self.warnings);
        all.sort_by_key(|problem| (problem.line, problem.column));
        all
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        problems.into_iter().for_each(|problem| self.add(problem));
    }
}
