//! Between JSON text and the tree: names of fields are kept once, answers are bounded.

use crate::{Array, Node, Object};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Number;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

impl Node {
    /// Reads JSON text, up to 127 levels deep.
    ///
    /// # Errors
    /// Where the text is no JSON.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The value as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "null".to_owned())
    }

    /// The value as JSON text, unless that has more bytes than this.
    #[must_use]
    pub fn to_json_within(&self, max_bytes: usize) -> Option<String> {
        let mut text = Bounded { text: Vec::new(), max_bytes };
        serde_json::to_writer(&mut text, self).ok()?;
        String::from_utf8(text.text).ok()
    }

    /// How many bytes the value has as JSON text.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.size_bytes_within(usize::MAX).unwrap_or(usize::MAX)
    }

    /// The same, unless it is more than this: counting stops there.
    #[must_use]
    pub fn size_bytes_within(&self, max_bytes: usize) -> Option<usize> {
        let mut size = Size { counted: 0, max_bytes };
        serde_json::to_writer(&mut size, self).ok()?;
        Some(size.counted)
    }
}

struct Bounded {
    text: Vec<u8>,
    max_bytes: usize,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.text.len() + bytes.len() > self.max_bytes {
            return Err(io::Error::other("too large"));
        }
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Size {
    counted: usize,
    max_bytes: usize,
}

impl Write for Size {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.counted = self.counted.saturating_add(bytes.len());
        if self.counted > self.max_bytes { Err(io::Error::other("too large")) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(array) => array.serialize(serializer),
            Self::Object(object) => object.serialize(serializer),
        }
    }
}

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(name, node)| (&**name, node)))
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Reader(&RefCell::default()).deserialize(deserializer)
    }
}

/// Reads a value. The same names occur in most objects of a document: each is kept once.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a RefCell<HashSet<Arc<str>>>);

impl Reader<'_> {
    fn name(self, name: &str) -> Arc<str> {
        let mut names = self.0.borrow_mut();
        if let Some(known) = names.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        names.insert(name.clone());
        name
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Node, E> {
        Number::from_f64(value).map(Node::Number).ok_or_else(|| E::custom("a number is out of range"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut read = Vec::with_capacity(items.size_hint().unwrap_or_default().min(1024));
        while let Some(item) = items.next_element_seed(self)? {
            read.push(item);
        }
        Ok(read.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let mut read = Vec::new();
        while let Some(name) = fields.next_key_seed(Name(self))? {
            read.push((name, fields.next_value_seed(self)?));
        }
        Ok(Node::Object(read.into_iter().collect()))
    }
}

struct Name<'a>(Reader<'a>);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Arc<str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Arc<str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Arc<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E>(self, name: &str) -> Result<Arc<str>, E> {
        Ok(self.0.name(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_whole_numbers() {
        let text =
            r#"{"b":[1,2.5,-3,9007199254740993,18446744073709551615],"a":null,"é\u0000":"x\"","t":true}"#;
        let node = Node::parse(text).unwrap();
        assert_eq!(node.to_json(), text);
        assert_eq!(node.size_bytes(), text.len());
        assert_eq!(node.to_json_within(text.len()).as_deref(), Some(text));
        assert_eq!(node.to_json_within(text.len() - 1), None);
        assert_eq!(Node::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap().to_json(), r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn refuses_what_is_no_json() {
        for text in ["", "{", "[1,]", "nul", "1 2"] {
            assert!(Node::parse(text).is_err(), "{text}");
        }
        assert!(Node::parse(&"[".repeat(100_000)).is_err());
    }
}
