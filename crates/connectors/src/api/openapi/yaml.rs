//! YAML as JSON values, with a bound on depth and size that aliases cannot get around.

use super::yaml_error::explain;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::Cell;
use std::fmt;

/// As deep as JSON may be, and with room: real documents have about thirty levels.
const MAX_DEPTH: usize = 100;

/// What comes out may be more than what went in, since an alias repeats what its anchor says.
const MAX_NODES: usize = 1_000_000;
const MAX_ALIASED_NODES: usize = 200_000;
const MAX_TEXT_BYTES: usize = 32 * 1024 * 1024;

/// The parser needs up to 25 KiB of stack for each level when it is not optimized.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Parses one YAML document.
///
/// # Errors
/// Why it is none, or is too much.
pub fn parse(text: &str) -> Result<Value, String> {
    // A stack of its own: how much of one is left here depends on who called.
    std::thread::scope(|scope| {
        let thread =
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || parse_here(text));
        let thread = thread.map_err(|error| format!("no thread can be started: {error}"))?;
        thread.join().unwrap_or_else(|_| Err("the parser failed".to_owned()))
    })
}

fn parse_here(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_documents: 1,
            max_nodes: MAX_NODES,
            max_events: 2 * MAX_NODES,
            max_total_scalar_bytes: MAX_TEXT_BYTES,
            max_recorded_anchor_bytes: MAX_TEXT_BYTES,
            // How often one anchor is used says nothing; how much comes of it is bounded.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_ALIASED_NODES },
        // The words of YAML 1.2: "on" and "no" are texts.
        strict_booleans: true,
        with_snippet: false,
    };
    let left = Cell::new(MAX_TEXT_BYTES);
    let parsed = serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        Node { depth: 0, left: &left }.deserialize(deserializer)
    });
    parsed.map_err(|error| explain(&error))
}

/// One value on its way in.
#[derive(Clone, Copy)]
struct Node<'a> {
    depth: usize,
    left: &'a Cell<usize>,
}

impl Node<'_> {
    fn inner<E: Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format_args!("it is nested more than {MAX_DEPTH} levels deep")));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn spend<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.ok_or_else(|| E::custom("its aliases make too much of it"))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON has")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    /// JSON has neither infinity nor "not a number"; the texts stay.
    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or_else(|| value.to_string().into(), Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.spend(text.len())?;
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        self.spend(text.len())?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.spend(key.len())?;
            map.insert(key, entries.next_value_seed(inner)?);
        }
        Ok(map.into())
    }
}
