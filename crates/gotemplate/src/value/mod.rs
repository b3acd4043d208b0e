//! What an expression evaluates to: borrowed from the data where possible, made by functions otherwise.

mod compare;
mod view;

pub(crate) use self::compare::{equals, is_less, same};
pub(crate) use self::view::ListView;

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value as Json;

use crate::budget::Budget;
use crate::error::Fault;

/// A value; cloning it never copies more than a pointer or two.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// A missing key, a null or a literal `nil`.
    Nil,
    Bool(bool),
    Int(i64, Width),
    /// An integer beyond `i64`.
    Uint(u64),
    Float(f64),
    /// An integer beyond `u64` or below `i64`, kept as its digits.
    Big(Rc<str>),
    Str(&'a str),
    Text(Rc<str>),
    /// A string that is not UTF-8: a cut through a character.
    Bytes(Rc<[u8]>),
    Array(&'a [Json]),
    Object(&'a serde_json::Map<String, Json>),
    List(Rc<List<'a>>),
    Map(Rc<Map<'a>>),
}

/// Which Go type an integer has; it shows in `%T`, `kindOf` and messages only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Int,
    Int64,
    Byte,
}

/// A list a function made.
#[derive(Debug)]
pub(crate) struct List<'a> {
    pub(crate) items: Vec<Value<'a>>,
    depth: usize,
}

/// A map a function made, sorted by key.
#[derive(Debug)]
pub(crate) struct Map<'a> {
    pub(crate) entries: Vec<(Cow<'a, str>, Value<'a>)>,
    depth: usize,
}

impl<'a> Value<'a> {
    #[inline]
    pub(crate) fn from_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Nil,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => Self::from_number(number),
            Json::String(text) => Self::Str(text),
            Json::Array(items) => Self::Array(items),
            Json::Object(entries) => Self::Object(entries),
        }
    }

    #[inline]
    fn from_number(number: &serde_json::Number) -> Self {
        if let Some(int) = number.as_i64() {
            Self::Int(int, Width::Int)
        } else if let Some(uint) = number.as_u64() {
            Self::Uint(uint)
        } else {
            number.as_f64().map_or(Self::Nil, Self::Float)
        }
    }

    pub(crate) fn int(int: i64) -> Self {
        Self::Int(int, Width::Int)
    }

    pub(crate) fn int64(int: i64) -> Self {
        Self::Int(int, Width::Int64)
    }

    /// A length or position as Go's `int`.
    pub(crate) fn size(size: usize) -> Self {
        Self::int(i64::try_from(size).unwrap_or(i64::MAX))
    }

    pub(crate) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A string of any bytes.
    pub(crate) fn string(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into()),
            Err(error) => Self::Bytes(error.into_bytes().into()),
        }
    }

    /// A list within the budget and not too deep.
    pub(crate) fn list(budget: &mut Budget<'_>, items: Vec<Self>) -> Result<Self, Fault> {
        budget.items(items.len())?;
        let depth = 1 + items.iter().map(Self::depth).max().unwrap_or(0);
        check_depth(budget, depth)?;
        Ok(Self::List(Rc::new(List { items, depth })))
    }

    /// A map within the budget and not too deep; of equal keys the last one wins.
    pub(crate) fn map(
        budget: &mut Budget<'_>,
        mut entries: Vec<(Cow<'a, str>, Self)>,
    ) -> Result<Self, Fault> {
        budget.items(entries.len())?;
        if !entries.is_sorted_by(|left, right| left.0 < right.0) {
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            entries.reverse();
            // Reversed, so that the last of equal keys comes first and stays.
            entries.dedup_by(|later, earlier| later.0 == earlier.0);
            entries.reverse();
        }
        let depth = 1 + entries.iter().map(|(_, value)| value.depth()).max().unwrap_or(0);
        check_depth(budget, depth)?;
        Ok(Self::Map(Rc::new(Map { entries, depth })))
    }

    /// How many made lists and maps are inside each other; borrowed ones count nothing.
    fn depth(&self) -> usize {
        match self {
            Self::List(list) => list.depth,
            Self::Map(map) => map.depth,
            _ => 0,
        }
    }

    /// Go's idea of truth: not nil, not false, not zero, not empty.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(int, _) => *int != 0,
            Self::Uint(uint) => *uint != 0,
            Self::Float(float) => *float != 0.0,
            Self::Big(_) => true,
            Self::Str(text) => !text.is_empty(),
            Self::Text(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::Array(items) => !items.is_empty(),
            Self::Object(entries) => !entries.is_empty(),
            Self::List(list) => !list.items.is_empty(),
            Self::Map(map) => !map.entries.is_empty(),
        }
    }

    /// The bytes of a string.
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Str(text) => Some(text.as_bytes()),
            Self::Text(text) => Some(text.as_bytes()),
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A string as text; a byte that belongs to no character becomes U+FFFD.
    pub(crate) fn as_text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Str(text) => Some(Cow::Borrowed(text)),
            Self::Text(text) => Some(Cow::Borrowed(text)),
            Self::Bytes(bytes) => Some(Cow::Owned(lossy(bytes))),
            _ => None,
        }
    }

    pub(crate) fn is_string(&self) -> bool {
        matches!(self, Self::Str(_) | Self::Text(_) | Self::Bytes(_))
    }

    /// The bytes or items a function has to look at when it is given this value.
    #[inline]
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Str(text) => text.len(),
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Array(items) => items.len(),
            Self::Object(entries) => entries.len(),
            Self::List(list) => list.items.len(),
            Self::Map(map) => map.entries.len(),
            Self::Nil | Self::Bool(_) | Self::Int(..) | Self::Uint(_) | Self::Float(_) | Self::Big(_) => 1,
        }
    }

    /// Go's name for the value's type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_, Width::Int) => "int",
            Self::Int(_, Width::Int64) => "int64",
            Self::Int(_, Width::Byte) => "uint8",
            Self::Uint(_) => "uint64",
            Self::Float(_) => "float64",
            Self::Big(_) => "big.Int",
            Self::Str(_) | Self::Text(_) | Self::Bytes(_) => "string",
            Self::Array(_) | Self::List(_) => "[]interface {}",
            Self::Object(_) | Self::Map(_) => "map[string]interface {}",
        }
    }

    /// Go's name for the kind of the value's type.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Self::Nil => "invalid",
            Self::Array(_) | Self::List(_) => "slice",
            Self::Object(_) | Self::Map(_) => "map",
            Self::Big(_) => "int",
            _ => self.type_name(),
        }
    }

    /// A field of a map; `None` when the value has no fields at all.
    #[inline]
    pub(crate) fn field(&self, name: &str) -> Option<Field<'a>> {
        match self {
            Self::Object(entries) => Some(
                lookup(entries, name).map_or(Field::Absent, |json| Field::Present(Self::from_json(json))),
            ),
            Self::Map(_) => {
                let found = self.as_map().and_then(|map| map.get(name));
                Some(found.map_or(Field::Absent, Field::Present))
            }
            Self::Nil => Some(Field::OfNothing),
            _ => None,
        }
    }
}

/// What looking up a field found.
pub(crate) enum Field<'a> {
    Present(Value<'a>),
    Absent,
    /// The receiver itself is nil.
    OfNothing,
}

/// Comparing a handful of keys is quicker than hashing one.
#[inline]
pub(crate) fn lookup<'a>(entries: &'a serde_json::Map<String, Json>, name: &str) -> Option<&'a Json> {
    const SMALL: usize = 8;
    if entries.len() > SMALL {
        return entries.get(name);
    }
    entries.iter().find_map(|(key, value)| (key == name).then_some(value))
}

fn check_depth(budget: &Budget<'_>, depth: usize) -> Result<(), Fault> {
    let limit = budget.limits().safe_value_depth();
    if depth > limit { Err(Fault::limit("the depth of a value", limit)) } else { Ok(()) }
}

/// The text of bytes, each byte that belongs to no character replaced by U+FFFD.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}
