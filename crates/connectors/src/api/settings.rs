//! The settings of an HTTP API: what may be written, and what is wrong with what was.

use super::Api;
use super::direct::Direct;
use super::redirect::Redirects;
use crate::shared::attempts::RetrySettings;
use crate::shared::base_url::check_base_url;
use crate::shared::breaker::BreakerSettings;
use crate::shared::headers::{PassedHeaders, check_headers};
use crate::shared::http_tools::{Base, Client, Limits, Reserved, ToolSettings, tools};
use crate::shared::network::{self, AllowPrivateNetwork, Policy, allow_private_network_schema};
use crate::shared::sign_in::{Auth, AuthSettings, AuthType, Standing, auth_schema};
use crate::shared::tls::{TlsSettings, tls_schema};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tool::connector::invalid_settings;
use tool::secret::names::headers_schema;
use tool::{Connector, Env, Import, Inline, Problem, Result};

/// An HTTP API.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Where the API is, e.g. `https://api.example.com/v1`. Endpoints are appended to it.
    #[schemars(extend("x-address" = true))]
    pub(super) base_url: String,
    /// How to sign in: `none`, `apikey`, `bearer`, `basic`, `oauth2` or `jwt`. What that needs stands in `auth_config`.
    #[serde(default)]
    pub(super) auth_type: Option<AuthType>,
    /// What the `auth_type` needs: `header` and `value`, `token`, `username` and `password`,
    /// `token_url`, `client_id` and `client_secret`, or `algorithm` and `key`.
    #[serde(default)]
    #[schemars(schema_with = "auth_schema")]
    pub(super) auth_config: Option<AuthSettings>,
    /// Type and details of the sign-in in one object, instead of `auth_type` and `auth_config`.
    #[serde(default)]
    #[schemars(schema_with = "auth_schema")]
    pub(super) auth: Option<AuthSettings>,
    /// Headers that every request carries. Keys and tokens belong into `auth_config`.
    #[serde(default)]
    #[schemars(schema_with = "headers_schema")]
    pub(super) default_headers: BTreeMap<String, String>,
    /// Headers of the caller's own request that are handed on, e.g. `["X-User-Token"]`. What signs
    /// the caller in to us is never among them.
    #[serde(default)]
    pub(super) pass_headers: Vec<String>,
    /// Our certificate, for servers that ask for one, and the authorities we believe.
    #[serde(default)]
    #[schemars(schema_with = "tls_schema")]
    pub(super) tls: Option<TlsSettings>,
    /// Which redirects are followed: `same_origin` (scheme, host and port stay), `any` (only
    /// requests without a body, and nothing secret goes along), or `none`.
    #[serde(default)]
    pub(super) redirects: Redirects,
    /// How long one attempt may take, in milliseconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 300_000))]
    pub(super) timeout_ms: u64,
    /// What happens when an attempt fails in a way that may pass.
    #[serde(default)]
    pub(super) retry: RetrySettings,
    /// When the service is left alone because it fails again and again.
    #[serde(default)]
    pub(super) circuit_breaker: BreakerSettings,
    /// Private, loopback and link-local addresses are refused unless this is `true` or lists their
    /// ranges, e.g. `["10.0.0.0/8"]`.
    #[serde(default)]
    #[schemars(schema_with = "allow_private_network_schema")]
    pub(super) allow_private_network: Option<AllowPrivateNetwork>,
    /// Where that stands, for those who are told to set it.
    #[serde(skip)]
    pub(super) network_setting: network::Setting,
    /// The most bytes an answer may have, after decompression.
    #[serde(default = "default_max_response")]
    #[schemars(range(min = 1, max = 104_857_600))]
    pub(super) max_response_bytes: usize,
    /// How many calls may be under way at once; more wait. No limit unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    pub(super) max_concurrent_calls: Option<usize>,
    /// The tools of the API, one per thing it can do.
    #[serde(default)]
    pub(super) tools: Vec<ToolSettings>,
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = "api";
    const TITLE: &'static str = "HTTP API";
    const WORDS: &'static [&'static [tool::words::Word]] =
        &[super::words::WORDS, crate::shared::words::SHARED];
    const HAS_USER_TOOLS: bool = true;
    const INLINE: Option<Inline> = Some(super::inline::INLINE);
    const IMPORT: Option<Import> = Some(super::openapi::IMPORT);

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        let mut problems = Vec::new();
        let base_url = check_base_url(&self.base_url, "base_url", "auth_config", &mut problems);
        let auth = Auth::check(self.auth_type, self.auth_config, self.auth, &mut problems);
        let headers = check_headers(&self.default_headers, "default_headers", &mut problems);
        let passed = PassedHeaders::check(&self.pass_headers, &mut problems);
        check_sign_in_stays(&auth, &passed, &mut problems);
        let mut tls = self.tls.unwrap_or_default().check(&mut problems);
        let policy = Policy::new(self.allow_private_network.as_ref(), env, &mut problems);
        let policy = policy.set_in(self.network_setting);
        let tools = tools::check(&self.tools, Reserved { auth: &auth, passed: &passed }, &mut problems);
        let backoff = self.retry.check(&mut problems);
        let Some(base_url) = base_url.filter(|_| problems.is_empty()) else {
            return Err(invalid_settings(Self::SCHEME, problems));
        };
        tls.named_host = base_url.host_str().map(str::to_owned);
        let limits = Limits {
            timeout: Duration::from_millis(self.timeout_ms),
            response_bytes: self.max_response_bytes,
            concurrent_calls: self.max_concurrent_calls,
            max_attempts: self.retry.max_attempts,
            backoff,
        };
        let breaker = self.circuit_breaker.into();
        let base = Base::new(&base_url, headers, auth, passed);
        let direct = Direct::new(policy, tls, self.redirects);
        let client = Client::new(base, direct.http.clone(), direct.policy.clone(), direct, limits);
        Ok(Arc::new(Api { client, breaker, tools, standing: Standing::default() }))
    }
}

/// A caller must not be able to replace what the service signs in with.
fn check_sign_in_stays(auth: &Auth, passed: &PassedHeaders, problems: &mut Vec<Problem>) {
    if auth.header().is_some_and(|header| passed.contains(header)) {
        let message =
            "a header in pass_headers carries the service's own sign-in; drop it from one of the two";
        problems.push(Problem::new("pass_headers", "Ambiguous", message));
    }
}

fn default_timeout() -> u64 {
    30_000
}

pub(super) fn default_max_response() -> usize {
    10 * 1024 * 1024
}
