//! The settings of an MCP server: what may be written.

mod opening;

use super::auth::{AuthSettings, AuthType};
use crate::shared::network::{AllowPrivateNetwork, allow_private_network_schema};
use crate::shared::tls::{TlsSettings, tls_schema};
use mcp::Version;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tool::{Connector, Env, Pinning, Result, Secret};

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum Type {
    Stdio,
    Http,
    StreamableHttp,
    #[serde(rename = "streamableHttp")]
    StreamableHttpCamel,
    Sse,
    Ws,
    Websocket,
}

/// An MCP server: a command that we start, or a URL.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// How to talk to it: `stdio`, `http` (also `streamable-http`, `streamableHttp`), `sse`, or `ws` (also
    /// `websocket`). Without it a command is `stdio`, and a URL is tried as `http`, then as `sse`.
    #[serde(default, rename = "type")]
    transport: Option<Type>,
    /// The command to start, a path or a name in `PATH`, e.g. `npx`.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    command: Option<String>,
    /// Arguments of the command. Keys and tokens belong into `env`.
    #[serde(default)]
    args: Vec<String>,
    /// Variables for the command, in addition to our own environment.
    #[serde(default)]
    env: BTreeMap<String, Secret>,
    /// The folder in which the command runs.
    #[serde(default)]
    cwd: Option<PathBuf>,
    /// Where the server is, e.g. `https://mcp.example.com/mcp`.
    #[serde(default)]
    #[schemars(extend("x-address" = true, "x-secret" = "query"))]
    url: Option<String>,
    /// The same as `url`, as some clients write it.
    #[serde(default, rename = "httpUrl")]
    #[schemars(extend("x-address" = true, "x-secret" = "query"))]
    http_url: Option<String>,
    /// The same as `url`, as some clients write it.
    #[serde(default, rename = "serverUrl")]
    #[schemars(extend("x-address" = true, "x-secret" = "query"))]
    server_url: Option<String>,
    /// Headers of every request to a URL, e.g. `Authorization`.
    #[serde(default)]
    headers: BTreeMap<String, Secret>,
    /// A key for a URL, sent as `auth_type` says: as a bearer token unless it is `apikey`.
    #[serde(default)]
    api_key: Option<Secret>,
    /// How to sign in at a URL: `none`, `apikey`, `bearer` or `oauth2`.
    #[serde(default)]
    auth_type: Option<AuthType>,
    /// What the `auth_type` needs: `header` and `value`, or `token`, or `client_id` and `client_secret`.
    #[serde(default)]
    #[schemars(schema_with = "auth_schema")]
    auth_config: Option<AuthSettings>,
    /// For a URL: our certificate, for servers that ask for one, and the authorities we believe.
    #[serde(default)]
    #[schemars(schema_with = "tls_schema")]
    tls: Option<TlsSettings>,
    /// Where a login of a person is kept. Services of an mcp.json have such a file by themselves; elsewhere
    /// only administrators may name one.
    #[serde(default)]
    login_file: Option<PathBuf>,
    /// How long one call may take, in milliseconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 3_600_000))]
    timeout: u64,
    /// How long the server may take to start and to shake hands, in milliseconds.
    #[serde(default = "default_start_timeout")]
    #[schemars(range(min = 1, max = 600_000))]
    start_timeout: u64,
    /// Only these tools are offered: names, with `*` for any characters.
    #[serde(default, rename = "includeTools")]
    include_tools: Option<Vec<String>>,
    /// These tools are not offered: names, with `*` for any characters.
    #[serde(default, rename = "excludeTools")]
    exclude_tools: Vec<String>,
    /// How many calls may be under way at once; more wait. No limit unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    max_concurrent_calls: Option<usize>,
    /// Private, loopback and link-local addresses are refused unless this is `true` or lists their
    /// ranges, e.g. `["10.0.0.0/8"]`.
    #[serde(default)]
    #[schemars(schema_with = "allow_private_network_schema")]
    allow_private_network: Option<AllowPrivateNetwork>,
    /// The pause after a failed connection, in milliseconds; it doubles with each one, up to 30 s. Unless given, it
    /// is 1000 for the type `sse` and 100 for the others.
    #[serde(default, rename = "reconnectInterval")]
    #[schemars(range(min = 1, max = 30_000))]
    reconnect_interval: Option<u64>,
    /// How often one call connects anew when it finds the connection broken. Unless given, it is 5 for the type
    /// `sse` and 1 for the others.
    #[serde(default, rename = "maxRetries")]
    #[schemars(range(min = 0, max = 20))]
    max_retries: Option<u32>,
    /// A connection that nobody has used for so long is closed, in milliseconds; 0 is never.
    #[serde(default)]
    #[schemars(range(min = 0, max = 86_400_000))]
    idle_timeout: u64,
    /// What happens when the server defines a tool differently than when it was first seen: `off`
    /// is nothing, `warn` reports it, `enforce` holds the tool back until somebody approves.
    #[serde(default = "default_pin")]
    pin: Pinning,
    /// How clients see what the server offers.
    #[serde(default)]
    expose: Expose,
    /// The version of MCP to begin with, e.g. `2026-07-28`. Without it the two sides find one; on stdio
    /// that is one with a handshake where the server speaks such.
    #[serde(default, rename = "protocolVersion")]
    protocol_version: Option<ProtocolVersion>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
enum ProtocolVersion {
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl From<ProtocolVersion> for Version {
    fn from(version: ProtocolVersion) -> Self {
        match version {
            ProtocolVersion::V2024_11_05 => Self::V2024_11_05,
            ProtocolVersion::V2025_03_26 => Self::V2025_03_26,
            ProtocolVersion::V2025_06_18 => Self::V2025_06_18,
            ProtocolVersion::V2025_11_25 => Self::V2025_11_25,
            ProtocolVersion::V2026_07_28 => Self::V2026_07_28,
        }
    }
}

/// How clients see what a server offers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Expose {
    /// Put the service's name before the names of tools and prompts: `Service__tool`. Without it the
    /// names are the server's own, and of two tools of one name the second gets a suffix.
    #[serde(default = "default_prefix")]
    prefix: bool,
}

impl Default for Expose {
    fn default() -> Self {
        Self { prefix: default_prefix() }
    }
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = "mcp";
    const TITLE: &'static str = "MCP server";
    const WORDS: &'static [&'static [tool::words::Word]] =
        &[super::words::WORDS, crate::shared::words::SHARED];

    /// Whoever writes a command runs it here, and whoever names a login uses it.
    fn privileged(settings: &Value) -> Option<&'static str> {
        let is_given = |key: &&str| settings.get(*key).is_some_and(|value| !value.is_null());
        ["command", "login_file"].into_iter().find(is_given)
    }

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(self.connector(env)?))
    }
}

fn default_prefix() -> bool {
    true
}

fn default_timeout() -> u64 {
    60_000
}

fn default_start_timeout() -> u64 {
    30_000
}

fn default_pin() -> Pinning {
    Pinning::Warn
}

/// Schemars would write `anyOf` with null, whose complaints name no field.
fn auth_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = AuthSettings::json_schema(generator);
    schema.insert("type".to_owned(), serde_json::json!(["object", "null"]));
    schema
}
