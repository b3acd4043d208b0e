//! What a loop goes over, one item at a time.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value as Json;

use crate::budget::Budget;
use crate::error::Fault;
use crate::program::Range;
use crate::value::{List, Value, Width};

/// A loop being run.
pub(super) struct Loop<'a> {
    pub(super) items: Items<'a>,
    /// The dot to go back to.
    pub(super) dot: Value<'a>,
    pub(super) range: &'a Range,
}

/// The rest of a list, a map or a count.
pub(super) enum Items<'a> {
    Array {
        items: &'a [Json],
        next: usize,
    },
    List {
        list: Rc<List<'a>>,
        next: usize,
    },
    Count {
        next: i64,
        end: i64,
        width: Width,
    },
    /// A map whose keys already are in order.
    Ordered(serde_json::map::Iter<'a>),
    /// A small map: the next key is searched, which needs no allocation.
    Small {
        entries: &'a serde_json::Map<String, Json>,
        last: Option<&'a str>,
    },
    Sorted(std::vec::IntoIter<(Cow<'a, str>, Value<'a>)>),
}

/// Up to here searching for the next key beats sorting.
const SMALL: usize = 16;

impl<'a> Items<'a> {
    /// `None` when there is nothing to go over.
    pub(super) fn new(budget: &mut Budget<'_>, value: Value<'a>) -> Result<Option<Self>, Fault> {
        Ok(match value {
            Value::Nil => None,
            Value::Array(items) => (!items.is_empty()).then_some(Self::Array { items, next: 0 }),
            Value::List(list) => (!list.items.is_empty()).then_some(Self::List { list, next: 0 }),
            Value::Int(end, width) => (end > 0).then_some(Self::Count { next: 0, end, width }),
            Value::Uint(end) => {
                let end = i64::try_from(end).unwrap_or(i64::MAX);
                Some(Self::Count { next: 0, end, width: Width::Int })
            }
            Value::Object(entries) if entries.is_empty() => None,
            Value::Object(entries) => Some(Self::object(budget, entries)?),
            Value::Map(map) => {
                budget.items(map.entries.len())?;
                let entries = map.entries.clone();
                (!entries.is_empty()).then_some(Self::Sorted(entries.into_iter()))
            }
            Value::Bool(_)
            | Value::Float(_)
            | Value::Big(_)
            | Value::Str(_)
            | Value::Text(_)
            | Value::Bytes(_) => {
                let message = format!("can't range over a {}", value.type_name());
                return Err(Fault::wrong_type(message).expecting("a list, a map or an integer"));
            }
        })
    }

    fn object(budget: &mut Budget<'_>, entries: &'a serde_json::Map<String, Json>) -> Result<Self, Fault> {
        if entries.len() > SMALL {
            budget.items(entries.len().saturating_mul(3))?;
        }
        if entries.keys().is_sorted() {
            return Ok(Self::Ordered(entries.iter()));
        }
        if entries.len() <= SMALL {
            return Ok(Self::Small { entries, last: None });
        }
        let sorted = Value::Object(entries).as_map().map(|map| map.sorted()).unwrap_or_default();
        Ok(Self::Sorted(sorted.into_iter()))
    }

    /// The next key and item; the key is worked out only when it is wanted.
    #[inline]
    pub(super) fn next(&mut self, wants_key: bool) -> Option<(Value<'a>, Value<'a>)> {
        match self {
            Self::Array { items, next } => {
                let item = items.get(*next)?;
                *next += 1;
                Some((Value::size(*next - 1), Value::from_json(item)))
            }
            Self::List { list, next } => {
                let item = list.items.get(*next)?.clone();
                *next += 1;
                Some((Value::size(*next - 1), item))
            }
            Self::Count { next, end, width } => {
                let count = (*next < *end).then_some(*next)?;
                *next += 1;
                Some((Value::Nil, Value::Int(count, *width)))
            }
            Self::Ordered(entries) => {
                let (key, value) = entries.next()?;
                Some((Value::Str(key), Value::from_json(value)))
            }
            Self::Small { entries, last } => {
                let after = |key: &&'a String| last.is_none_or(|last| key.as_str() > last);
                let key = entries.keys().filter(after).min()?;
                *last = Some(key);
                Some((Value::Str(key), Value::from_json(entries.get(key)?)))
            }
            Self::Sorted(entries) => {
                let (key, value) = entries.next()?;
                let key = if wants_key { Value::from(key) } else { Value::Nil };
                Some((key, value))
            }
        }
    }
}
