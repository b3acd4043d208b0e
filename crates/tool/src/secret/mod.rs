//! Secrets: texts that reach their destination and nothing else.

pub mod names;
mod phone;
mod pieces;
mod redactor;
mod values;

pub use phone::{PHONE, masked_number};
pub use redactor::Redactor;
pub use values::SecretValues;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// What a secret looks like to everyone who may not see it.
pub const MASK: &str = "***";

/// Header names, in lower case, whose values are secrets whoever sets them.
pub const HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "x-api-key"];

/// A password, key or token. It has no `Display`, prints as `***` in `Debug` and JSON,
/// and its memory is wiped when the last copy goes.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Takes the text over.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(Zeroizing::new(text.into())))
    }

    /// The text itself, for the one place that must send it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "writeOnly": true, "format": "password" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_itself_only_when_asked() {
        let secret: Secret = serde_json::from_str("\"hunter2\"").unwrap();
        assert_eq!(secret.expose(), "hunter2");
        assert_eq!(format!("{secret:?}"), "***");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"***\"");
    }
}
