//! Lists and maps seen alike, whether they are borrowed data or were made by a function.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::{List, Map, Value, lookup};

/// A list to read from.
#[derive(Clone, Copy)]
pub(crate) enum ListView<'v, 'a> {
    Array(&'a [Json]),
    List(&'v List<'a>),
}

impl<'v, 'a> ListView<'v, 'a> {
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Array(items) => items.len(),
            Self::List(list) => list.items.len(),
        }
    }

    pub(crate) fn get(self, at: usize) -> Option<Value<'a>> {
        match self {
            Self::Array(items) => items.get(at).map(Value::from_json),
            Self::List(list) => list.items.get(at).cloned(),
        }
    }

    /// Adds all items to a vector.
    pub(crate) fn copy_to(self, items: &mut Vec<Value<'a>>) {
        match self {
            Self::Array(array) => items.extend(array.iter().map(Value::from_json)),
            Self::List(list) => items.extend_from_slice(&list.items),
        }
    }

    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = Value<'a>> + use<'v, 'a> {
        (0..self.len()).map(move |at| self.get(at).unwrap_or(Value::Nil))
    }
}

/// A map to read from.
#[derive(Clone, Copy)]
pub(crate) enum MapView<'v, 'a> {
    Object(&'a serde_json::Map<String, Json>),
    Map(&'v Map<'a>),
}

impl<'a> MapView<'_, 'a> {
    pub(crate) fn get(self, key: &str) -> Option<Value<'a>> {
        match self {
            Self::Object(entries) => lookup(entries, key).map(Value::from_json),
            Self::Map(map) => {
                let at = map.entries.binary_search_by(|(present, _)| present.as_ref().cmp(key)).ok()?;
                Some(map.entries[at].1.clone())
            }
        }
    }

    /// The entries in the order of their keys.
    pub(crate) fn sorted(self) -> Vec<(Cow<'a, str>, Value<'a>)> {
        match self {
            Self::Map(map) => map.entries.clone(),
            Self::Object(entries) => {
                let mut sorted: Vec<_> = entries
                    .iter()
                    .map(|(key, value)| (Cow::Borrowed(key.as_str()), Value::from_json(value)))
                    .collect();
                sorted.sort_by(|left, right| left.0.cmp(&right.0));
                sorted
            }
        }
    }
}

impl<'a> Value<'a> {
    pub(crate) fn as_list(&self) -> Option<ListView<'_, 'a>> {
        match self {
            Self::Array(items) => Some(ListView::Array(items)),
            Self::List(list) => Some(ListView::List(list)),
            _ => None,
        }
    }

    pub(crate) fn as_map(&self) -> Option<MapView<'_, 'a>> {
        match self {
            Self::Object(entries) => Some(MapView::Object(entries)),
            Self::Map(map) => Some(MapView::Map(map)),
            _ => None,
        }
    }
}

impl<'a> From<Cow<'a, str>> for Value<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::Str(text),
            Cow::Owned(text) => Self::text(text),
        }
    }
}
