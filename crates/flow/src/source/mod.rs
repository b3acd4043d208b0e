//! Text as a tree of values that know where they stand; YAML and JSON give the same tree.

mod parse;
mod scalar;

pub(crate) use parse::parse;

use expression::Position;
use serde_json::{Map, Number, Value};

/// The longest document, in bytes.
pub const MAX_BYTES: usize = 512 * 1024;

/// A place in a document, both counted from 1; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Which line.
    pub line: usize,
    /// Which character of it.
    pub column: usize,
}

impl Place {
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    pub(crate) spot: Spot,
    pub(crate) content: Content,
}

/// Where a value stands, and where the text in it begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    pub(crate) at: Place,
    /// Behind a quote, or on the line below a `|`.
    pub(crate) text: Place,
    /// Lines of the text are lines of the document, as below a `|`.
    pub(crate) keeps_lines: bool,
}

impl Spot {
    pub(crate) fn plain(at: Place) -> Self {
        Self { at, text: at, keeps_lines: false }
    }

    /// The place of something inside the text; the value's own where lines were folded.
    pub(crate) fn place_of(&self, position: Position) -> Place {
        match position.line {
            1 => Place { line: self.text.line, column: self.text.column + position.column - 1 },
            line if self.keeps_lines => {
                Place { line: self.text.line + line - 1, column: self.text.column + position.column - 1 }
            }
            _ => self.at,
        }
    }
}

/// What JSON can say.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<Entry>),
}

/// One field of an object.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Place,
    pub(crate) value: Tree,
}

impl Tree {
    /// What the value is called in messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Bool(_) => "true or false",
            Content::Number(_) => "a number",
            Content::Text(_) => "a text",
            Content::List(_) => "a list",
            Content::Map(_) => "an object",
        }
    }

    /// The value without its places.
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(value) => Value::Bool(*value),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text(text) => Value::String(text.clone()),
            Content::List(items) => items.iter().map(Self::to_value).collect(),
            Content::Map(entries) => {
                let field = |entry: &Entry| (entry.key.clone(), entry.value.to_value());
                Value::Object(entries.iter().map(field).collect::<Map<_, _>>())
            }
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }
}
