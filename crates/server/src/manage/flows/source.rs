//! The `source` of a flow in a body: a text, or the document itself, which is kept as it was written.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The text of a flow. A document is the text that it has in the body: nothing in it is lost, and its problems have
/// places.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = match raw.get().as_bytes().first() {
            Some(b'"') => {
                serde_json::from_str(raw.get()).map_err(|_| D::Error::custom("no text of Unicode"))?
            }
            Some(b'{') => raw.get().to_owned(),
            _ => return Err(D::Error::custom("neither a text nor a document")),
        };
        Ok(Self { text })
    }
}

/// A flow, at most 512 KiB of it.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = FlowSource)]
#[expect(dead_code, reason = "documents what is read as it is")]
pub(crate) enum SourceSchema {
    /// YAML or JSON.
    Text(String),
    /// The document itself: `docs/reference/flows.md` says what stands in it.
    #[schema(value_type = Object)]
    Document(Map<String, Value>),
}
