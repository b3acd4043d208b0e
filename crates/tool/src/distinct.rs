//! JSON of which each object has each name once: what is read twice must not be two things.

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};
use std::cell::Cell;
use std::fmt::{self, Write as _};

/// More of a path is not repeated.
const MAX_PATH_CHARACTERS: usize = 200;

/// Why a text is not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// An object has the name at this path more than once.
    Twice(String),
    /// It is no JSON, or nested too deep.
    Json(serde_json::Error),
}

/// Reads JSON as [`Value`] does, in one pass, apart from names that stand twice in one object: of those, readers take
/// the first or the last, each its own.
pub(crate) fn read(text: &str) -> Result<Value, Unread> {
    let twice = Cell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Place { step: Step::Root, outer: None, twice: &twice }.deserialize(&mut deserializer);
    match read.and_then(|value| deserializer.end().map(|()| value)) {
        Ok(value) => Ok(value),
        Err(error) => Err(twice.take().map_or_else(|| Unread::Json(error), Unread::Twice)),
    }
}

/// Reads the fields of an object in the same way, where it is a field of something else.
///
/// # Errors
/// Where a name stands twice, or it is no object.
pub fn map<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    let place = Place { step: Step::Root, outer: None, twice: &Cell::new(None) };
    match deserializer.deserialize_map(place)? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

/// Where in the text a value stands.
#[derive(Clone, Copy)]
struct Place<'p> {
    step: Step<'p>,
    outer: Option<&'p Place<'p>>,
    /// The path of a name that was there already.
    twice: &'p Cell<Option<String>>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Name(&'p str),
    Item(usize),
}

impl Place<'_> {
    fn within<'p>(&'p self, step: Step<'p>) -> Place<'p> {
        Place { step, outer: Some(self), twice: self.twice }
    }

    /// As `a[0].b`, like the paths of all problems with arguments.
    fn path(&self) -> String {
        let mut path = self.outer.map_or_else(String::new, Place::path);
        let _ = match self.step {
            Step::Root => Ok(()),
            Step::Name(name) if path.is_empty() => write!(path, "{name}"),
            Step::Name(name) => write!(path, ".{name}"),
            Step::Item(at) => write!(path, "[{at}]"),
        };
        path
    }
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self.within(Step::Item(items.len())))? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            match fields.entry(name) {
                Entry::Vacant(free) => {
                    let value = access.next_value_seed(self.within(Step::Name(free.key())))?;
                    free.insert(value);
                }
                Entry::Occupied(taken) => {
                    let path = self.within(Step::Name(taken.key())).path();
                    self.twice.set(Some(path.chars().take(MAX_PATH_CHARACTERS).collect()));
                    let name: String = taken.key().chars().take(MAX_PATH_CHARACTERS).collect();
                    // In the words that serde has for fields of its own; whoever reads more than this knows the place.
                    let error = A::Error::custom(format_args!("duplicate field `{name}`"));
                    return Err(error);
                }
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_a_value_reads() {
        for text in [
            "null",
            " [1, -2, 3.5, 1e400, 18446744073709551615, 123456789012345678901234, \"\\u00e9\\n\"] ",
            r#"{"a":{"a":{"a":[{"a":1},{"a":true}]}},"b":"","":{}}"#,
            "1e999",
            "{\"a\":1",
            "{} x",
            "{\"a\":01}",
            &format!("{}{}", "[".repeat(200), "]".repeat(200)),
        ] {
            match (read(text), serde_json::from_str::<Value>(text)) {
                (Ok(value), Ok(expected)) => assert_eq!(value, expected, "{text}"),
                (Err(Unread::Json(error)), Err(expected)) => {
                    assert_eq!(error.to_string(), expected.to_string(), "{text}");
                }
                (read, expected) => panic!("{text}: {read:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn names_the_place_of_a_name_that_stands_twice() {
        for (text, path) in [
            (r#"{"to":5,"amount":1,"to":"bob"}"#, "to"),
            (r#"{"a":[{"b":1},{"c":{"d":1,"d":1}}]}"#, "a[1].c.d"),
            // One name, spelled in two ways.
            (r#"{"id":1,"\u0069d":2}"#, "id"),
        ] {
            assert!(matches!(read(text), Err(Unread::Twice(found)) if found == path), "{text}");
        }
    }

    /// `Value` takes an object with the mark of raw values for the JSON in its text.
    #[test]
    fn no_name_has_a_meaning_of_its_own() {
        let text = r#"{"$serde_json::private::RawValue":"{\"to\":5}"}"#;
        assert_eq!(read(text).unwrap()["$serde_json::private::RawValue"], "{\"to\":5}");
    }
}
