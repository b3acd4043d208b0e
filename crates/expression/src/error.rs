//! What is wrong with an expression, or went wrong in it, and where.

use std::fmt;

/// `std::result::Result` with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Which of three things happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The text is no expression; nothing was run.
    Syntax,
    /// The expression met a value it cannot work with.
    Evaluation,
    /// The expression is too large, or did too much.
    Limit,
}

/// A place in the text, both counted from 1; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Which line.
    pub line: usize,
    /// Which character of it.
    pub column: usize,
}

impl Position {
    /// The place of a byte of a text.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        Self { line, column: before[line_start..].chars().count() + 1 }
    }
}

/// What is wrong, in words for the author of the expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
    position: Position,
}

impl Error {
    /// Which of three things happened.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where it stands in the text that was given.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, position: Position { line, column }, .. } = self;
        write!(f, "{message} (line {line}, column {column})")
    }
}

impl std::error::Error for Error {}

/// A fault while the text is not at hand: the place is still a number of bytes.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) cause: Cause,
    pub(crate) message: String,
    /// `None` until the innermost part that knows its place adds it.
    pub(crate) at: Option<usize>,
}

/// What a fault is to those it passes on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Syntax,
    /// A name or a field is not there: `||`, `?.`, `has` and `default` go on.
    Absent,
    /// Another failure: a true on the other side of `||` still wins over it, as in CEL.
    Failed,
    /// Nothing goes on after this.
    Limit,
}

impl Fault {
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { cause: Cause::Failed, message: message.into(), at: None }
    }

    pub(crate) fn absent(message: impl Into<String>) -> Self {
        Self { cause: Cause::Absent, message: message.into(), at: None }
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self { cause: Cause::Limit, message: message.into(), at: None }
    }

    pub(crate) fn syntax(at: usize, message: impl Into<String>) -> Self {
        Self { cause: Cause::Syntax, message: message.into(), at: Some(at) }
    }

    pub(crate) fn at(mut self, offset: u32) -> Self {
        self.at.get_or_insert(offset as usize);
        self
    }

    pub(crate) fn in_text(self, text: &str) -> Error {
        let kind = match self.cause {
            Cause::Syntax => Kind::Syntax,
            Cause::Absent | Cause::Failed => Kind::Evaluation,
            Cause::Limit => Kind::Limit,
        };
        Error { kind, message: self.message, position: Position::of(text, self.at.unwrap_or(0)) }
    }
}
