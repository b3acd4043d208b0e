//! The setting `allow_private_network`.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// Everything, nothing, or some ranges.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum AllowPrivateNetwork {
    Everything(bool),
    Ranges(Vec<String>),
}

/// The schema of the setting, in words the form and the checker both understand.
pub(crate) fn allow_private_network_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["boolean", "array"],
        "items": { "type": "string" },
        "default": false
    })
}
