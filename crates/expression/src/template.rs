//! Texts with values in them: `Hello ${name}`.

use crate::error::{Position, Result};
use crate::tree::Piece;
use crate::{Scope, Setting, eval, parse};
use serde_json::Value;
use std::sync::Arc;

/// A parsed text with `${…}` in it; `$${` is a literal `${`. Copies share it.
#[derive(Debug, Clone)]
pub struct Template {
    text: Arc<str>,
    pieces: Arc<[Piece]>,
    names: Arc<[(Box<str>, u32)]>,
}

impl Template {
    /// Parses a text.
    ///
    /// # Errors
    /// What is wrong with an expression in it, and where.
    pub fn parse(text: &str) -> Result<Self> {
        let (pieces, names) = parse::template(text).map_err(|fault| fault.in_text(text))?;
        Ok(Self { text: text.into(), pieces: pieces.into(), names: names.into() })
    }

    /// The text has no values in it: it is the same for every scope.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        !self.pieces.iter().any(|piece| matches!(piece, Piece::Value(_)))
    }

    /// The name, where the text is one `${name}` and nothing else.
    #[must_use]
    pub fn as_name(&self) -> Option<&str> {
        match &*self.pieces {
            [Piece::Value(value)] => value.as_name(&self.names),
            _ => None,
        }
    }

    /// The text with its values; a value that stands alone keeps its type.
    ///
    /// # Errors
    /// A value that an expression cannot work with, or the end of the budget.
    pub fn evaluate(&self, scope: &dyn Scope, setting: &Setting) -> Result<Value> {
        let value = eval::run_pieces(&self.pieces, &self.names, scope, setting);
        value.map_err(|fault| fault.in_text(&self.text))
    }

    /// The names that it takes from its scope, in the order of the text, each with its first place.
    pub fn names(&self) -> impl Iterator<Item = (&str, Position)> {
        self.names.iter().map(|(name, at)| (&**name, Position::of(&self.text, *at as usize)))
    }
}
