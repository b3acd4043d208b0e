//! Services made from a description of an API instead of by hand.

use crate::{Env, Pattern, Result};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;

/// How a type of service reads a description, e.g. an OpenAPI document.
#[derive(Clone, Copy)]
pub struct Import {
    /// Reads a description. Nothing is stored; the only I/O is fetching the description itself.
    pub read: fn(ImportRequest, Env) -> ImportFuture,
}

/// A description that is being read.
pub type ImportFuture = Pin<Box<dyn Future<Output = Result<Imported>> + Send>>;

/// What to read, and what to make of it.
#[derive(Debug, Clone)]
pub struct ImportRequest {
    /// Where the description is.
    pub source: ImportSource,
    /// Operations to take; all unless given.
    pub include: Vec<Pattern>,
    /// Operations to leave out.
    pub exclude: Vec<Pattern>,
    /// Values for the holes in the server's address.
    pub server_variables: BTreeMap<String, String>,
    /// Settings that win over those in the description.
    pub config: Map<String, Value>,
}

impl ImportRequest {
    /// Everything in this description, as it stands.
    #[must_use]
    pub fn all_of(source: ImportSource) -> Self {
        Self {
            source,
            include: Vec::new(),
            exclude: Vec::new(),
            server_variables: BTreeMap::new(),
            config: Map::new(),
        }
    }
}

/// Where a description is.
#[derive(Debug, Clone)]
pub enum ImportSource {
    /// Parsed already.
    Document(Value),
    /// As it stands in a file.
    Text(String),
    /// To be fetched, under the same rule for private addresses as a service's calls.
    Url(String),
}

/// A service as it would be made.
#[derive(Debug, Clone)]
pub struct Imported {
    /// An id made from the title.
    pub id: String,
    /// The title.
    pub name: String,
    /// What the description says about itself.
    pub description: Option<String>,
    /// Settings; credentials are there only if the request gave them.
    pub config: Map<String, Value>,
    /// Those of the settings that hold the description itself, so that an update replaces them.
    pub described: Map<String, Value>,
    /// The tools, in the order of the description.
    pub tools: Vec<ImportedTool>,
    /// Settings that must be filled in before the service can sign in.
    pub credentials: Vec<Credential>,
    /// What became no tool.
    pub skipped: Vec<Skipped>,
    /// What is not as the description says.
    pub warnings: Vec<String>,
    /// The same about where the API is; of no use to a service that has an address already.
    pub address_warnings: Vec<String>,
}

/// A tool as it would be made.
#[derive(Debug, Clone)]
pub struct ImportedTool {
    /// The definition, as the service's settings have it in `tools`.
    pub definition: Map<String, Value>,
    /// JSON Schema of the arguments, as clients will see it.
    pub input_schema: Box<RawValue>,
    /// JSON Schema of the answers, where the description tells it and the definition does not.
    pub output_schema: Option<Box<RawValue>>,
    /// What else steers its calls, by names: whether they may be repeated, and how messages are written on the wire.
    pub steered_by: Map<String, Value>,
}

/// A setting that only the user knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Credential {
    /// Path into `config`, e.g. `auth_config.value`.
    pub setting: String,
    /// What it is.
    pub description: String,
}

/// An operation that became no tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Which one, e.g. `POST /upload`.
    pub operation: String,
    /// Why, and what could be done.
    pub reason: String,
}

impl fmt::Debug for Import {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Import")
    }
}
