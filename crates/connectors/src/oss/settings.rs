//! The settings of a store: what may be written, and what is wrong with what was.

use super::client::Client;
use super::store::Store;
use super::{Offer, Oss, fs, key, tools};
use crate::shared::attempts::RetrySettings;
use crate::shared::breaker::BreakerSettings;
use crate::shared::content::Sources;
use crate::shared::network::{AllowPrivateNetwork, Policy, allow_private_network_schema};
use crate::shared::own_folder::own_folder;
use crate::shared::tls::{TlsSettings, tls_schema};
use fetch::Url;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::connector::invalid_settings;
use tool::{Connector, Env, Problem, Result, Secret};

/// A store of objects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "oss"), expect(dead_code, reason = "only clouds need some of them"))]
pub(crate) struct Settings {
    /// Who keeps the objects: `fs` (a folder of this machine), `s3` (AWS and all that speak like it), `minio`, `aliyun`
    /// (also written `alioss`), `cos` (Tencent) or `obs` (Huawei).
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) provider: Provider,
    /// The folder of `fs`, which only admins may name. Without it the service keeps one of its own.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) root: Option<PathBuf>,
    /// The bucket, which must be there.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) bucket: Option<String>,
    /// The region of the bucket, e.g. `cn-hangzhou`. `aliyun` and `s3` need it to sign.
    #[serde(default)]
    pub(super) region: Option<String>,
    /// Where the store is, e.g. `https://oss-cn-hangzhou.aliyuncs.com`. Follows from the region for `s3`.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) endpoint: Option<String>,
    /// The bucket stands in the path and not before the host. True for `minio` unless given; `cos` and `obs` cannot.
    #[serde(default)]
    pub(super) path_style: Option<bool>,
    /// How to sign in. Nothing of this machine takes the place of what is missing.
    #[serde(default)]
    #[schemars(schema_with = "credentials_schema")]
    pub(super) credentials: Option<Credentials>,
    /// What stands before every key, e.g. `team/`. Callers do not see it and get nowhere else.
    #[serde(default)]
    pub(super) prefix: String,
    /// Where everybody may read the objects, e.g. `https://cdn.example.com/files`: answers then name this address.
    #[serde(default)]
    pub(super) public_base_url: Option<String>,
    /// Nothing can be changed.
    #[serde(default)]
    pub(super) read_only: bool,
    /// How many bytes an object has at the most.
    #[serde(default = "default_max_object")]
    #[schemars(range(min = 1, max = 5_368_709_120_u64))]
    pub(super) max_object_bytes: u64,
    /// Up to so many bytes stand in the answer itself; of larger objects it has the address.
    #[serde(default = "default_max_inline")]
    #[schemars(range(min = 1024, max = 10_485_760))]
    pub(super) max_inline_bytes: u64,
    /// How long the store may take to answer one request, in milliseconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 300_000))]
    pub(super) timeout_ms: u64,
    /// What happens when a request fails in a way that may pass.
    #[serde(default)]
    pub(super) retry: RetrySettings,
    /// When the store is left alone because it fails again and again.
    #[serde(default)]
    pub(super) circuit_breaker: BreakerSettings,
    /// How many calls may be under way at once; more wait. No limit unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) max_concurrent_calls: Option<usize>,
    /// Private, loopback and link-local addresses of the store are refused unless this is `true` or lists their ranges,
    /// e.g. `["10.0.0.0/8"]`. It does not hold for `source.url`, which callers write, but for large objects of other stores
    /// that a `source.uri` leads to: the service that is called fetches them itself.
    #[serde(default)]
    #[schemars(schema_with = "allow_private_network_schema")]
    pub(super) allow_private_network: Option<AllowPrivateNetwork>,
    /// Our certificate, for stores that ask for one, and the authorities we believe.
    #[serde(default)]
    #[schemars(schema_with = "tls_schema")]
    pub(super) tls: Option<TlsSettings>,
}

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Provider {
    #[default]
    Fs,
    S3,
    Minio,
    Aliyun,
    Alioss,
    Cos,
    Obs,
}

/// The keys of one account.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "oss"), expect(dead_code, reason = "only clouds need them"))]
pub(super) struct Credentials {
    /// Which key it is.
    pub(super) access_key_id: Secret,
    /// The key itself.
    pub(super) secret_access_key: Secret,
    /// What temporary keys have beside.
    #[serde(default)]
    pub(super) session_token: Option<Secret>,
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = "oss";
    const TITLE: &'static str = "Object storage";
    const FIXED_TOOLS: &'static [&'static str] =
        &["copy", "delete", "list", "load", "presign", "save", "stat"];
    const WORDS: &'static [&'static [tool::words::Word]] =
        &[super::words::WORDS, crate::shared::words::SHARED];

    /// A folder of this machine is for those who manage it.
    fn privileged(settings: &Value) -> Option<&'static str> {
        settings.get("root").filter(|root| !root.is_null()).map(|_| "root")
    }

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        let mut problems = Vec::new();
        let policy = Arc::new(Policy::new(self.allow_private_network.as_ref(), env, &mut problems));
        let backoff = self.retry.check(&mut problems);
        check_prefix(&self.prefix, &mut problems);
        let public_base_url = check_public(self.public_base_url.as_deref(), &mut problems);
        let store = self.store(env, &policy, &mut problems);
        let Some(store) = store.filter(|_| problems.is_empty()) else {
            return Err(invalid_settings(Self::SCHEME, problems));
        };
        // The whole answer must fit into what callers are given: as Base64, or as JSON, where quotes take twice the room.
        let room = env.result_budget_bytes.saturating_sub(16 * 1024) / 2;
        let offer = Offer {
            prefix: self.prefix,
            public_base_url,
            is_read_only: self.read_only,
            max_object_bytes: self.max_object_bytes,
            max_inline_bytes: self.max_inline_bytes.min(room as u64),
            service: env.service.clone().unwrap_or_else(|| "store".to_owned()),
        };
        let client = Client {
            store,
            breaker: self.circuit_breaker.into(),
            max_attempts: self.retry.max_attempts,
            backoff,
            permits: self.max_concurrent_calls.map(Semaphore::new),
        };
        let tools = tools::all(offer.is_read_only)?;
        Ok(Arc::new(Oss {
            client,
            sources: Sources::new(env, policy, Duration::from_millis(self.timeout_ms)),
            offer,
            tools,
        }))
    }
}

impl Settings {
    fn store(&self, env: &Env, policy: &Arc<Policy>, problems: &mut Vec<Problem>) -> Option<Arc<dyn Store>> {
        match self.provider {
            Provider::Fs => {
                self.check_fields_of_folder(problems);
                let root = self.folder(env, problems)?;
                fs::open(root, env).map_err(|problem| problems.push(problem)).ok()
            }
            _ => self.cloud(env, policy, problems),
        }
    }

    fn folder(&self, env: &Env, problems: &mut Vec<Problem>) -> Option<PathBuf> {
        let mut refuse = |message: &str| problems.push(Problem::new("root", "Required", message));
        match &self.root {
            Some(root) if root.is_absolute() => return Some(root.clone()),
            Some(_) => refuse("the root is no absolute path of a folder"),
            None => match own_folder(env, <Self as tool::Settings>::SCHEME) {
                Some(folder) => return Some(folder),
                None => refuse("the root is missing; files are kept by a server only"),
            },
        }
        None
    }

    /// What only clouds have, so that nobody believes it to count.
    fn check_fields_of_folder(&self, problems: &mut Vec<Problem>) {
        let fields = [
            ("bucket", self.bucket.is_some()),
            ("endpoint", self.endpoint.is_some()),
            ("region", self.region.is_some()),
            ("path_style", self.path_style.is_some()),
            ("credentials", self.credentials.is_some()),
        ];
        for (field, _) in fields.iter().filter(|(_, is_given)| *is_given) {
            let message =
                format!("a folder of this machine has no {field}; name another provider, or leave it out");
            problems.push(Problem::new(*field, "Unexpected", message));
        }
    }

    #[cfg(feature = "oss")]
    fn cloud(&self, env: &Env, policy: &Arc<Policy>, problems: &mut Vec<Problem>) -> Option<Arc<dyn Store>> {
        if self.root.is_some() {
            problems.push(Problem::new(
                "root",
                "Unexpected",
                "only the provider fs has a root; leave it out",
            ));
        }
        super::cloud::open(self, env, policy, problems)
    }

    #[cfg(not(feature = "oss"))]
    fn cloud(&self, _: &Env, _: &Arc<Policy>, problems: &mut Vec<Problem>) -> Option<Arc<dyn Store>> {
        let message = "object stores of clouds are not built in; build with the feature 'oss'";
        problems.push(Problem::new("provider", "NotBuiltIn", message));
        None
    }
}

fn check_prefix(prefix: &str, problems: &mut Vec<Problem>) {
    let why = if prefix.len() > 512 { Some("has more than 512 bytes") } else { key::flaw(prefix) };
    if let Some(why) = why.filter(|_| !prefix.is_empty()) {
        problems.push(Problem::new("prefix", "InvalidKey", format!("the prefix {why}; write e.g. team/")));
    }
}

/// The address without a slash at its end.
fn check_public(text: Option<&str>, problems: &mut Vec<Problem>) -> Option<String> {
    let text = text?;
    let is_web = |url: &Url| {
        matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none()
    };
    if Url::parse(text).is_ok_and(|url| is_web(&url)) {
        return Some(text.trim_end_matches('/').to_owned());
    }
    let message = "the public_base_url is no address; write e.g. https://cdn.example.com/files";
    problems.push(Problem::new("public_base_url", "InvalidUrl", message));
    None
}

fn credentials_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Credentials::json_schema(generator);
    schema.insert("type".to_owned(), serde_json::json!(["object", "null"]));
    schema
}

fn default_max_object() -> u64 {
    100 * 1024 * 1024
}

fn default_max_inline() -> u64 {
    256 * 1024
}

fn default_timeout() -> u64 {
    30_000
}
