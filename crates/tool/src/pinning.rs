//! What becomes of tools that their service defines differently than when they were first seen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
/// How closely changes of tools are watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(missing_docs, reason = "see above; `Connector::pinning` says what they mean")]
pub enum Pinning {
    #[default]
    Off,
    Warn,
    Enforce,
}
