//! The values that an expression works on: those it was given are borrowed, those it makes are shared.

use crate::budget::Budget;
use crate::error::Fault;
use crate::time;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, TimeDelta, Utc};
use indexmap::{Equivalent, IndexMap};
use serde_json::{Map, Number, Value};
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Text<'a>),
    Bytes(Rc<[u8]>),
    List(List<'a>),
    Map(Fields<'a>),
    Time(DateTime<Utc>),
    Duration(TimeDelta),
    /// What `type(x)` gives.
    Type(&'static str),
}

/// A text.
#[derive(Debug, Clone)]
pub(crate) enum Text<'a> {
    Given(&'a str),
    Made(Rc<str>),
}

/// A list.
#[derive(Debug, Clone)]
pub(crate) enum List<'a> {
    Given(&'a [Value]),
    Made(Rc<[Val<'a>]>),
}

/// An object, or CEL's map.
#[derive(Debug, Clone)]
pub(crate) enum Fields<'a> {
    Given(&'a Map<String, Value>),
    Made(Rc<IndexMap<Key<'a>, Val<'a>>>),
}

/// A key of a map that was made; whole numbers of both kinds are one.
#[derive(Debug, Clone)]
pub(crate) enum Key<'a> {
    Text(Text<'a>),
    Number(i128),
    Bool(bool),
}

impl<'a> From<&'a Value> for Val<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => from_number(number),
            Value::String(text) => Self::Text(Text::Given(text)),
            Value::Array(items) => Self::List(List::Given(items)),
            Value::Object(fields) => Self::Map(Fields::Given(fields)),
        }
    }
}

fn from_number<'a>(number: &Number) -> Val<'a> {
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => Val::Int(number),
        (None, Some(number)) => Val::Uint(number),
        (None, None) => Val::Double(number.as_f64().unwrap_or(f64::NAN)),
    }
}

impl<'a> Val<'a> {
    pub(crate) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(Text::Made(text.into()))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List::Made(items.into()))
    }

    pub(crate) fn map(fields: IndexMap<Key<'a>, Self>) -> Self {
        Self::Map(Fields::Made(Rc::new(fields)))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The type as CEL's `type()` calls it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Time(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
        }
    }

    /// The type in words for a message.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Int(_) | Self::Uint(_) => "a whole number",
            Self::Double(_) => "a number",
            Self::Text(_) => "a text",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
            Self::Time(_) => "a time",
            Self::Duration(_) => "a duration",
            Self::Type(_) => "a type",
        }
    }

    /// As JSON, within the budget.
    pub(crate) fn to_json(&self, budget: &mut Budget) -> Result<Value, Fault> {
        budget.build_slots(1)?;
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(number) => Value::from(*number),
            Self::Uint(number) => Value::from(*number),
            Self::Double(number) => Value::Number(finite(*number)?),
            Self::Text(text) => {
                budget.build(text.len())?;
                Value::String((**text).to_owned())
            }
            Self::Bytes(bytes) => {
                budget.build(bytes.len() / 3 * 4 + 4)?;
                Value::String(STANDARD.encode(bytes))
            }
            Self::List(items) => budget.inside(|budget| list_to_json(items, budget))?,
            Self::Map(fields) => Value::Object(budget.inside(|budget| fields_to_json(fields, budget))?),
            Self::Time(_) | Self::Duration(_) | Self::Type(_) => Value::String(self.print(budget)?),
        })
    }

    /// As it stands in a text: texts as they are, lists and objects as JSON.
    pub(crate) fn print(&self, budget: &mut Budget) -> Result<String, Fault> {
        let text = match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Int(number) => itoa::Buffer::new().format(*number).to_owned(),
            Self::Uint(number) => itoa::Buffer::new().format(*number).to_owned(),
            Self::Double(number) => crate::number::print(*number),
            Self::Text(text) => {
                budget.build(text.len())?;
                return Ok((**text).to_owned());
            }
            Self::Bytes(bytes) => std::str::from_utf8(bytes)
                .map_err(|_| Fault::failed("these bytes are no text; base64() writes them as one"))?
                .to_owned(),
            Self::List(_) | Self::Map(_) => self.to_json(budget)?.to_string(),
            Self::Time(time) => time::print(*time),
            Self::Duration(duration) => time::print_duration(*duration),
            Self::Type(name) => (*name).to_owned(),
        };
        budget.build(text.len())?;
        Ok(text)
    }
}

fn finite(number: f64) -> Result<Number, Fault> {
    Number::from_f64(number).ok_or_else(|| Fault::failed(format!("{number} has no place in JSON")))
}

fn list_to_json(items: &List<'_>, budget: &mut Budget) -> Result<Value, Fault> {
    Ok(Value::Array(items.iter().map(|item| item.to_json(budget)).collect::<Result<_, _>>()?))
}

fn fields_to_json(fields: &Fields<'_>, budget: &mut Budget) -> Result<Map<String, Value>, Fault> {
    let mut object = Map::with_capacity(fields.len().min(1024));
    let mut insert = |key: String, value: &Val<'_>, budget: &mut Budget| {
        budget.build(key.len())?;
        object.insert(key, value.to_json(budget)?);
        Ok::<_, Fault>(())
    };
    match fields {
        Fields::Given(fields) => {
            for (key, value) in *fields {
                insert(key.clone(), &Val::from(value), budget)?;
            }
        }
        Fields::Made(fields) => {
            for (key, value) in &**fields {
                insert(key.to_string(), value, budget)?;
            }
        }
    }
    Ok(object)
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Given(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Given(items) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Val<'a>> {
        match self {
            Self::Given(items) => items.get(index).map(Val::from),
            Self::Made(items) => items.get(index).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Val<'a>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl<'a> Fields<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Given(fields) => fields.len(),
            Self::Made(fields) => fields.len(),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Val<'a>> {
        match self {
            Self::Given(fields) => fields.get(name).map(Val::from),
            Self::Made(fields) => fields.get(&Name(name)).cloned(),
        }
    }

    /// The value of any key; an object has only names.
    pub(crate) fn get_key(&self, key: &Key<'a>) -> Option<Val<'a>> {
        match (self, key) {
            (_, Key::Text(name)) => self.get(name),
            (Self::Made(fields), _) => fields.get(key).cloned(),
            (Self::Given(_), Key::Number(_) | Key::Bool(_)) => None,
        }
    }

    /// All keys and values, in their order.
    pub(crate) fn entries(&self) -> Vec<(Key<'a>, Val<'a>)> {
        match self {
            Self::Given(fields) => {
                fields.iter().map(|(key, value)| (Key::Text(Text::Given(key)), Val::from(value))).collect()
            }
            Self::Made(fields) => fields.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }
}

impl<'a> Key<'a> {
    /// The key that a value stands for.
    pub(crate) fn of(value: &Val<'a>) -> Result<Self, Fault> {
        Ok(match value {
            Val::Text(text) => Self::Text(text.clone()),
            Val::Int(number) => Self::Number((*number).into()),
            Val::Uint(number) => Self::Number((*number).into()),
            Val::Bool(value) => Self::Bool(*value),
            // `{1: …}[1.0]`: numbers mix here, too. Every whole double fits, up to its own precision.
            Val::Double(number) if number.fract() == 0.0 && number.abs() < 1e18 => {
                Self::Number(*number as i128)
            }
            other => return Err(Fault::failed(format!("{} cannot be a key", other.kind()))),
        })
    }

    pub(crate) fn to_value(&self) -> Val<'a> {
        match self {
            Self::Text(text) => Val::Text(text.clone()),
            Self::Bool(value) => Val::Bool(*value),
            Self::Number(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => Val::Int(number),
                (Err(_), Ok(number)) => Val::Uint(number),
                (Err(_), Err(_)) => Val::Null,
            },
        }
    }
}

impl std::fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Bool(value) => write!(f, "{value}"),
        }
    }
}

/// A name that is looked up among keys without making one of it.
struct Name<'b>(&'b str);

impl Equivalent<Key<'_>> for Name<'_> {
    fn equivalent(&self, key: &Key<'_>) -> bool {
        matches!(key, Key::Text(text) if **text == *self.0)
    }
}

impl Hash for Name<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Text(text) => (**text).hash(state),
            Self::Number(number) => number.hash(state),
            Self::Bool(value) => value.hash(state),
        }
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => **a == **b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Key<'_> {}
