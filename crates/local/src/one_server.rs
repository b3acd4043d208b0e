//! One MCP server from the command line: `serve -- npx -y some-server`, without any file.

use crate::mcp_config::masked_entry;
use gateway::ServiceDefinition;
use serde_json::{Value, json};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;

/// A server that is started with these words, as its operator's own.
#[derive(Debug, Clone)]
pub struct OneServer(Vec<String>);

impl OneServer {
    /// The id of the service, which nobody has named.
    pub const ID: &str = "server";

    /// The server, if there are words to start one with.
    #[must_use]
    pub fn new(words: Vec<String>) -> Option<Self> {
        (!words.is_empty()).then_some(Self(words))
    }

    /// The service as the gateway takes it.
    #[must_use]
    pub fn service(&self) -> ServiceDefinition {
        ServiceDefinition {
            scheme: connectors::MCP_SCHEME.into(),
            id: Self::ID.into(),
            name: Self::ID.into(),
            settings: self.settings(),
            is_enabled: true,
            is_trusted: true,
            variables: Vec::new(),
            problem: None,
            built_in: None,
            version: 1,
            made_at_ms: None,
        }
    }

    /// Its settings without secrets.
    #[must_use]
    pub fn shown(&self) -> Value {
        masked_entry(&self.settings())
    }

    fn settings(&self) -> Value {
        let (command, args) =
            self.0.split_first().map_or(("", &[] as &[String]), |(first, rest)| (first, rest));
        json!({ "command": command, "args": args })
    }

    /// What its pins are kept under: other words start another server. A hash, as the words may hold a key.
    #[must_use]
    pub fn pinned_as(&self) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        PathBuf::from(format!("/serve/{:016x}", hasher.finish()))
    }
}
