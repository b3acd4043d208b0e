//! Where expressions stand in a document, and what goes wrong there.

use crate::cursor::Cursor;
use crate::problem::{Code, Problem};
use crate::source::{Place, Spot};
use expression::{Error, Position, Setting};
use serde_json::Value;

/// Where an expression stands in the document.
#[derive(Debug, Clone)]
pub struct Origin {
    path: Box<str>,
    spot: Spot,
    /// How far into the text of the value it begins.
    start: Position,
}

impl Origin {
    pub(crate) fn of(cursor: &Cursor<'_>) -> Self {
        Self::within(cursor, Position { line: 1, column: 1 })
    }

    /// Of a part of the cursor's text.
    pub(crate) fn within(cursor: &Cursor<'_>, start: Position) -> Self {
        Self { path: cursor.path.as_str().into(), spot: cursor.spot(), start }
    }

    /// Where the value stands, e.g. `nodes.order.args.id`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The place in the document of a place in the expression.
    #[must_use]
    pub fn place(&self, position: Position) -> Place {
        let column = if position.line == 1 { self.start.column - 1 } else { 0 };
        self.spot.place_of(Position {
            line: position.line + self.start.line - 1,
            column: position.column + column,
        })
    }

    pub(super) fn trouble(&self, error: &Error) -> Trouble {
        let is_limit = error.kind() == expression::Kind::Limit;
        Trouble {
            path: self.path.clone(),
            place: self.place(error.position()),
            message: error.message().to_owned(),
            is_limit,
        }
    }

    /// Counts a computed part against what the whole may have.
    pub(super) fn spend(&self, value: Value, left: &mut Room) -> Result<Value, Trouble> {
        let too_much =
            |message| Trouble { path: self.path.clone(), place: self.spot.at, message, is_limit: true };
        if !expression::is_within(&value, left.levels) {
            return Err(too_much(expression::too_deep()));
        }
        let rest = left.bytes.checked_sub(weight(&value));
        left.bytes = rest.ok_or_else(|| too_much("the values together are too large".to_owned()))?;
        Ok(value)
    }

    /// Where the value stands.
    pub(crate) fn start(&self) -> Place {
        self.spot.at
    }

    pub(crate) fn problem(&self, error: &Error) -> Problem {
        let code = match error.kind() {
            expression::Kind::Limit => Code::LimitExceeded,
            expression::Kind::Syntax | expression::Kind::Evaluation => Code::Expression,
        };
        Problem::error(code, &self.path, self.place(error.position()), error.message())
    }
}

/// How much a value may still grow while its parts are computed.
#[derive(Debug)]
pub(super) struct Room {
    bytes: usize,
    /// Lists and objects in one another; the document itself has no more than a value may have.
    levels: usize,
}

impl Room {
    pub(super) fn new(setting: &Setting) -> Self {
        Self { bytes: setting.limits.built_bytes, levels: expression::VALUE_LEVELS }
    }

    /// Builds what stands in a list or an object, one level further in.
    pub(super) fn inside<T>(&mut self, build: impl FnOnce(&mut Self) -> T) -> T {
        let around = self.levels;
        self.levels = around.saturating_sub(1);
        let built = build(self);
        self.levels = around;
        built
    }
}

/// What an expression could not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The value that it stands in, e.g. `nodes.order.args.id`.
    pub path: Box<str>,
    /// Where in the document.
    pub place: Place,
    /// In words.
    pub message: String,
    /// It was too much, not wrong.
    pub is_limit: bool,
}

/// About how many bytes a value takes as text.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| 1 + weight(item)).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, value)| name.len() + 4 + weight(value)).sum::<usize>()
        }
    }
}
