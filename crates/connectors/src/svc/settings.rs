//! The settings of a service behind a registry: what may be written, and what is wrong with what was.

use super::balance::{LoadBalancer, OutlierSettings};
use super::discovery::DiscoverySettings;
use super::tools::ToolSettings;
use crate::shared::attempts::RetrySettings;
use crate::shared::breaker::Breaker;
use crate::shared::network::{AllowPrivateNetwork, allow_private_network_schema};
use crate::shared::sign_in::{AuthSettings, auth_schema};
use crate::shared::tls::{TlsSettings, tls_schema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tool::secret::names::headers_schema;
use tool::{Connector, Env, Result};

/// An internal service with several instances, over HTTP or gRPC.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// What the instances speak: `http` or `grpc`.
    #[serde(default)]
    pub(super) protocol: ProtocolName,
    /// Whether they speak it behind TLS: `https`, or not: `http`.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) scheme: Scheme,
    /// Where the instances are looked up.
    pub(super) discovery: DiscoverySettings,
    /// Who serves next: `round_robin`, `random`, `weighted`, `least_connections`, or `p2c` (the less busy of two).
    #[serde(default)]
    pub(super) load_balancer: LoadBalancer,
    /// How often the registry is asked again, in milliseconds, where it does not tell by itself.
    #[serde(default = "default_refresh")]
    #[schemars(range(min = 100, max = 86_400_000))]
    pub(super) refresh_ms: u64,
    /// How long what the registry said last may serve while it does not answer, in milliseconds.
    #[serde(default = "default_max_stale")]
    #[schemars(range(min = 0, max = 2_592_000_000_u64))]
    pub(super) max_stale_ms: u64,
    /// How to sign in to the instances; `jwt` mints tokens of our own.
    #[serde(default)]
    #[schemars(schema_with = "auth_schema")]
    pub(super) auth: Option<AuthSettings>,
    /// Our certificate, for instances that ask for one, and the authorities we believe.
    #[serde(default)]
    #[schemars(schema_with = "tls_schema")]
    pub(super) tls: Option<TlsSettings>,
    /// When a single instance is left alone because it fails again and again.
    #[serde(default)]
    pub(super) outlier: OutlierSettings,
    /// When the whole service is left alone.
    #[serde(default)]
    pub(super) circuit_breaker: BreakerSettings,
    /// What tools answer while the service is left alone, unless they have a `fallback` of their own.
    #[serde(default)]
    #[schemars(schema_with = "anything_schema")]
    pub(super) fallback: Option<Value>,
    /// Headers, or metadata of gRPC, that every request carries. Keys and tokens belong into `auth`.
    #[serde(default)]
    #[schemars(schema_with = "headers_schema")]
    pub(super) metadata: BTreeMap<String, String>,
    /// Headers of the caller's own request that are handed on, e.g. `["X-User-Token"]`. What signs
    /// the caller in to us is never among them.
    #[serde(default)]
    pub(super) pass_headers: Vec<String>,
    /// How long one attempt may take, in milliseconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 300_000))]
    pub(super) timeout_ms: u64,
    /// What happens when an attempt fails in a way that may pass.
    #[serde(default)]
    pub(super) retry: RetrySettings,
    /// How many calls may be under way at once; more wait. No limit unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) max_concurrent_calls: Option<usize>,
    /// Private, loopback and link-local addresses are refused unless this is `true` or lists their
    /// ranges, e.g. `["10.0.0.0/8"]`. It holds for the registry and for the instances.
    #[serde(default)]
    #[schemars(schema_with = "allow_private_network_schema")]
    pub(super) allow_private_network: Option<AllowPrivateNetwork>,
    /// The most bytes an answer may have, after decompression.
    #[serde(default = "default_max_response")]
    #[schemars(range(min = 1, max = 104_857_600))]
    pub(super) max_response_bytes: usize,
    /// For gRPC: where the methods and messages are described. The service is asked (`reflection`) unless given.
    #[serde(default)]
    #[schemars(schema_with = "schema_schema")]
    pub(super) schema: Option<SchemaSettings>,
    /// For gRPC without `tools`: the methods that become tools, as patterns of `package.Service/Method`; all unless given.
    #[serde(default)]
    pub(super) include: Vec<String>,
    /// For gRPC without `tools`: methods that do not, likewise.
    #[serde(default)]
    pub(super) exclude: Vec<String>,
    /// For gRPC: how many messages of a stream an answer has at the most.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100_000))]
    pub(super) max_messages: Option<usize>,
    /// For gRPC: answers hold fields that have their default value, too; they do unless this is `false`.
    #[serde(default)]
    pub(super) emit_defaults: Option<bool>,
    /// The tools: requests to an HTTP service, or methods of a gRPC service, which has one for every method without them.
    #[serde(default)]
    pub(super) tools: Vec<ToolSettings>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum ProtocolName {
    #[default]
    Http,
    Grpc,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Scheme {
    #[default]
    Http,
    Https,
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// Where methods and messages are described; exactly one of the fields.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SchemaSettings {
    /// The service describes itself.
    pub(super) reflection: Option<bool>,
    /// A set of descriptors as `protoc --include_imports --descriptor_set_out` writes it, in base64; up to 4 MiB.
    pub(super) descriptor_set: Option<String>,
    /// The text of .proto files by their paths, e.g. `{"loyalty/v1/customers.proto": "syntax = …"}`; up to 4 MiB.
    pub(super) protos: Option<BTreeMap<String, String>>,
}

/// When the whole service is left alone, and for how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct BreakerSettings {
    /// So many calls in a row that find the service down or too slow; 0 never leaves it alone.
    #[schemars(range(min = 0, max = 10_000))]
    failures: u32,
    /// How long it is left alone before one call tries again, in milliseconds.
    #[schemars(range(min = 1, max = 3_600_000))]
    open_ms: u64,
}

impl Default for BreakerSettings {
    /// Fewer than elsewhere: there are instances, so that a failure has been more than one.
    fn default() -> Self {
        Self { failures: 5, open_ms: 10_000 }
    }
}

impl From<&BreakerSettings> for Breaker {
    fn from(settings: &BreakerSettings) -> Self {
        Self::new(settings.failures, Duration::from_millis(settings.open_ms))
    }
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = "svc";
    const TITLE: &'static str = "Internal service";
    const WORDS: &'static [&'static [tool::words::Word]] =
        &[super::words::WORDS, crate::shared::words::SHARED];
    const HAS_USER_TOOLS: bool = true;
    #[cfg(feature = "grpc")]
    const IMPORT: Option<tool::Import> = Some(super::grpc::import::IMPORT);

    /// Who runs in a cluster may do what its pod may.
    fn privileged(settings: &Value) -> Option<&'static str> {
        (settings["discovery"]["in_cluster"] == true).then_some("discovery.in_cluster")
    }

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        super::open::open(self, env)
    }
}

fn default_refresh() -> u64 {
    10_000
}

fn default_max_stale() -> u64 {
    86_400_000
}

fn default_timeout() -> u64 {
    30_000
}

fn default_max_response() -> usize {
    10 * 1024 * 1024
}

fn anything_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({})
}

/// Schemars would write `anyOf` with null, whose complaints name no field.
fn schema_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = SchemaSettings::json_schema(generator);
    schema.insert("type".to_owned(), serde_json::json!(["object", "null"]));
    schema
}
