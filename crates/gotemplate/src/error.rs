//! One error for compiling and rendering: what went wrong, where, and what was expected.

use std::fmt;
use std::sync::Arc;

/// Why a template could not be compiled or rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The source is not a template.
    Syntax,
    /// A function that does not exist is named.
    UnknownFunction,
    /// A variable is used that was never declared.
    UnknownVariable,
    /// A template is called that was never defined.
    UnknownTemplate,
    /// A function got too few or too many arguments.
    Arity,
    /// A value has the wrong type for its use.
    Type,
    /// An index or a key is outside the value.
    Index,
    /// A key is absent and the options ask for an error.
    Missing,
    /// A function could not do its work, or the template called `fail`.
    Function,
    /// A bound of [`Limits`](crate::Limits) is passed.
    Limit,
    /// The JSON text to render cannot be parsed.
    Data,
    /// The writer refused the output.
    Write,
}

impl ErrorKind {
    /// The kind as one lower-case word, stable for logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::UnknownFunction => "unknown_function",
            Self::UnknownVariable => "unknown_variable",
            Self::UnknownTemplate => "unknown_template",
            Self::Arity => "arity",
            Self::Type => "type",
            Self::Index => "index",
            Self::Missing => "missing",
            Self::Function => "function",
            Self::Limit => "limit",
            Self::Data => "data",
            Self::Write => "write",
        }
    }
}

/// A failure with its place in the template's source.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    fault: Fault,
    template: Arc<str>,
    line: usize,
    column: usize,
    source_line: String,
}

/// A failure before its place is known; one pointer, so that results stay small.
#[derive(Debug, Clone)]
pub(crate) struct Fault(Box<Details>);

#[derive(Debug, Clone)]
struct Details {
    kind: ErrorKind,
    message: String,
    expected: Option<String>,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Details { kind, message: message.into(), expected: None }))
    }

    pub(crate) fn syntax(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Syntax, message)
    }

    pub(crate) fn limit(what: &str, limit: usize) -> Self {
        Self::new(ErrorKind::Limit, format!("{what} passes the limit of {limit}"))
    }

    pub(crate) fn function(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Function, message)
    }

    pub(crate) fn wrong_type(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Type, message)
    }

    pub(crate) fn index(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Index, message)
    }

    pub(crate) fn expecting(mut self, expected: impl Into<String>) -> Self {
        self.0.expected = Some(expected.into());
        self
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Gives the failure its place: `offset` is a byte offset into `source`.
    #[cold]
    pub(crate) fn at(self, template: &Arc<str>, source: &str, offset: usize) -> Error {
        let offset = floor_char_boundary(source, offset);
        let start = source[..offset].rfind('\n').map_or(0, |newline| newline + 1);
        let end = source[offset..].find('\n').map_or(source.len(), |newline| offset + newline);
        Error(Box::new(Inner {
            fault: self,
            template: Arc::clone(template),
            line: source[..start].matches('\n').count() + 1,
            column: source[start..offset].chars().count() + 1,
            source_line: source[start..end].trim_end_matches('\r').to_owned(),
        }))
    }
}

fn floor_char_boundary(source: &str, offset: usize) -> usize {
    let mut offset = offset.min(source.len());
    while !source.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

impl Error {
    /// What sort of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.fault.0.kind
    }

    /// What happened, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.fault.0.message
    }

    /// What would have been right there, where that can be said.
    #[must_use]
    pub fn expected(&self) -> Option<&str> {
        self.0.fault.0.expected.as_deref()
    }

    /// The name the template was compiled under.
    #[must_use]
    pub fn template(&self) -> &str {
        &self.0.template
    }

    /// The line, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// The column in characters, counted from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// The whole source line the failure is on.
    #[must_use]
    pub fn source_line(&self) -> &str {
        &self.0.source_line
    }

    /// The failure over several lines, with the source line and a caret under the place.
    #[must_use]
    pub fn report(&self) -> String {
        let (excerpt, caret) = self.excerpt();
        let number = self.line().to_string();
        let gutter = " ".repeat(number.len());
        let mut report = format!(
            "error: {}\n{gutter}--> {}:{number}:{}\n{gutter} |\n{number} | {excerpt}\n{gutter} | {}^\n",
            self.message(),
            self.template(),
            self.column(),
            " ".repeat(caret),
        );
        if let Some(expected) = self.expected() {
            report.push_str(&format!("{gutter} = expected {expected}\n"));
        }
        report
    }

    /// The part of the source line around the place, and the caret's distance from its start.
    fn excerpt(&self) -> (String, usize) {
        const BEFORE: usize = 60;
        const WIDTH: usize = 120;
        let caret = self.column() - 1;
        let skipped = caret.saturating_sub(BEFORE);
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        let excerpt = self.source_line().chars().skip(skipped).take(WIDTH).map(visible).collect();
        (excerpt, caret - skipped)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.template(), self.line(), self.column(), self.message())?;
        match self.expected() {
            Some(expected) => write!(f, " (expected {expected})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("template", &self.template())
            .field("line", &self.line())
            .field("column", &self.column())
            .field("message", &self.message())
            .field("expected", &self.expected())
            .finish()
    }
}

impl std::error::Error for Error {}
