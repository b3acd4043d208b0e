//! A JSON value whose copies are free: what two versions have in common is there once.

use crate::{Array, Object};
use serde_json::{Number, Value};
use std::sync::Arc;

/// A JSON value. A copy shares everything; a change copies only the way to what it changes.
#[derive(Debug, Clone, Default)]
pub enum Node {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, whole ones exactly.
    Number(Number),
    /// A string.
    Text(Arc<str>),
    /// A list.
    Array(Array),
    /// Fields in the order they were given.
    Object(Object),
}

impl Node {
    /// The type as JMESPath and JSON Schema call it.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// The list, if it is one.
    #[must_use]
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }

    /// The fields, if it has any.
    #[must_use]
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// How many levels of lists and objects there are.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Self::Array(array) => 1 + array.iter().map(Self::depth).max().unwrap_or_default(),
            Self::Object(object) => 1 + object.iter().map(|(_, node)| node.depth()).max().unwrap_or_default(),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => 0,
        }
    }

    /// Roughly how many bytes it takes in memory, shared parts counted wherever they occur.
    #[must_use]
    pub fn weight_bytes(&self) -> usize {
        const NODE: usize = size_of::<Node>();
        const ALLOCATION: usize = 48;
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => NODE,
            Self::Text(text) => NODE + ALLOCATION + text.len(),
            Self::Array(array) => NODE + ALLOCATION + array.iter().map(Self::weight_bytes).sum::<usize>(),
            // Names are shared by all objects of a document.
            Self::Object(object) => {
                NODE + ALLOCATION + object.iter().map(|(_, node)| 16 + node.weight_bytes()).sum::<usize>()
            }
        }
    }
}

/// Equal as JSON: numbers by value, objects whatever the order of their fields.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => same_number(a, b),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a.len() == b.len() && a.iter().eq(b.iter()),
            (Self::Object(a), Self::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(name, node)| b.get(name) == Some(node))
            }
            _ => false,
        }
    }
}

/// Whole numbers are compared exactly, others as floating point.
pub(crate) fn same_number(a: &Number, b: &Number) -> bool {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.as_f64() == b.as_f64(),
    }
}

pub(crate) fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::Text(text.as_str().into()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(fields) => Self::Object(
                fields.iter().map(|(name, value)| (name.as_str().into(), value.into())).collect(),
            ),
        }
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Vec<Node>> for Node {
    fn from(items: Vec<Node>) -> Self {
        Self::Array(items.into_iter().collect())
    }
}
