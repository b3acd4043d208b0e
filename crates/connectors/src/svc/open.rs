//! From settings to a service, without looking whether anybody is there.

use super::discovery::RegistryAccess;
use super::fallback::Fallbacks;
use super::fleet::{Fleet, FleetSettings};
use super::http::{Balanced, Http};
use super::settings::{ProtocolName, Scheme, Settings};
use super::tools::{RequestSettings, ToolSettings};
use super::{Protocol, Svc};
use crate::shared::attempts::Backoff;
use crate::shared::headers::{PassedHeaders, check_headers, header_value};
use crate::shared::http_tools::{self, Base, Client, Limits, Reserved};
use crate::shared::network::{Policy, Resolver};
use crate::shared::sign_in::{Auth, Standing};
use fetch::Url;
use fetch::http::HeaderMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::connector::invalid_settings;
use tool::{Connector, Env, Problem, Result, Settings as _};

/// What both protocols need to reach the service.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) fleet: Fleet,
    pub(super) policy: Arc<Policy>,
    pub(super) auth: Auth,
    /// Headers that every request carries.
    pub(super) headers: HeaderMap,
    pub(super) passed: PassedHeaders,
    pub(super) is_secure: bool,
    pub(super) tls: fetch::Tls,
    /// Of one attempt.
    pub(super) timeout: Duration,
    pub(super) max_attempts: u32,
    pub(super) backoff: Backoff,
    pub(super) max_response_bytes: usize,
}

/// Opens a service, or says everything that keeps it from working.
pub(super) fn open(mut settings: Settings, env: &Env) -> Result<Arc<dyn Connector>> {
    let mut problems = Vec::new();
    let (requests, fallbacks) = split(std::mem::take(&mut settings.tools));
    let breaker = (&settings.circuit_breaker).into();
    let fallbacks = Arc::new(Fallbacks { service: settings.fallback.take(), tools: fallbacks });
    let permits = settings.max_concurrent_calls.map(Semaphore::new);
    let protocol = match settings.protocol {
        ProtocolName::Http | ProtocolName::Unknown => open_http(settings, requests, env, &mut problems),
        ProtocolName::Grpc => open_grpc(settings, requests, &fallbacks, env, &mut problems),
    };
    let Some(protocol) = protocol.filter(|_| problems.is_empty()) else {
        return Err(invalid_settings(Settings::SCHEME, problems));
    };
    Ok(Arc::new(Svc { protocol, breaker, permits, fallbacks, standing: Standing::default() }))
}

fn open_http(
    settings: Settings,
    requests: Vec<RequestSettings>,
    env: &Env,
    problems: &mut Vec<Problem>,
) -> Option<Protocol> {
    refuse_unused(&settings, problems);
    let mut tools = Vec::new();
    for (index, request) in requests.into_iter().enumerate() {
        match request {
            RequestSettings::Http(tool) => tools.push(*tool),
            RequestSettings::Unclear(_) => {
                let message = "a tool of an HTTP service needs an 'endpoint', e.g. /users/{id}";
                problems.push(Problem::new(format!("tools[{index}].endpoint"), "Required", message));
            }
            RequestSettings::Grpc(_) => {
                let message = "a tool of an HTTP service has an endpoint; 'rpc' needs the protocol 'grpc'";
                problems.push(Problem::new(format!("tools[{index}].rpc"), "Unused", message));
            }
        }
    }
    let common = check_common(settings, env, problems);
    let reserved = Reserved { auth: &common.auth, passed: &common.passed };
    let tools = http_tools::tools::check(&tools, reserved, problems);
    let Common { fleet, policy, auth, headers, passed, is_secure, tls, .. } = common;
    let limits = Limits {
        timeout: common.timeout,
        response_bytes: common.max_response_bytes,
        concurrent_calls: None,
        max_attempts: common.max_attempts,
        backoff: common.backoff,
    };
    let server_name = tls.server_name.as_ref().and_then(|name| header_value(&name.to_str()));
    let resolver = Arc::new(Resolver(policy.clone()));
    // Tokens are asked for elsewhere, where nobody has to know us by a certificate.
    let tokens = fetch::Client::new(resolver.clone(), fetch::Tls::default());
    let http = fetch::Client::new(resolver, tls);
    let way = Balanced { fleet, http, policy: policy.clone(), server_name };
    let base = Base::new(&nominal_url(is_secure, env)?, headers, auth, passed);
    Some(Protocol::Http(Box::new(Http { client: Client::new(base, tokens, policy, way, limits), tools })))
}

/// The address of the service before an instance is chosen, as those see it who try a tool out.
fn nominal_url(is_secure: bool, env: &Env) -> Option<Url> {
    let scheme = if is_secure { "https" } else { "http" };
    let named = env.service.as_deref().and_then(|name| Url::parse(&format!("{scheme}://{name}/")).ok());
    let is_plain = |url: &Url| url.path() == "/" && url.username().is_empty() && url.port().is_none();
    named.filter(is_plain).or_else(|| Url::parse(&format!("{scheme}://service/")).ok())
}

/// What only gRPC has does nothing here, which its author would want to know.
fn refuse_unused(settings: &Settings, problems: &mut Vec<Problem>) {
    let given = [
        ("schema", settings.schema.is_some()),
        ("include", !settings.include.is_empty()),
        ("exclude", !settings.exclude.is_empty()),
        ("max_messages", settings.max_messages.is_some()),
        ("emit_defaults", settings.emit_defaults.is_some()),
    ];
    for (field, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
        let message =
            format!("'{field}' is only for the protocol 'grpc'; leave it out or change the protocol");
        problems.push(Problem::new(field, "Unused", message));
    }
}

#[cfg(feature = "grpc")]
fn open_grpc(
    settings: Settings,
    requests: Vec<RequestSettings>,
    fallbacks: &Arc<Fallbacks>,
    env: &Env,
    problems: &mut Vec<Problem>,
) -> Option<Protocol> {
    super::grpc::Grpc::open(settings, requests, fallbacks, env, problems)
        .map(|grpc| Protocol::Grpc(Box::new(grpc)))
}

#[cfg(not(feature = "grpc"))]
fn open_grpc(
    settings: Settings,
    _: Vec<RequestSettings>,
    _: &Arc<Fallbacks>,
    env: &Env,
    problems: &mut Vec<Problem>,
) -> Option<Protocol> {
    let message = "gRPC is not built in; build with the feature 'grpc'";
    problems.push(Problem::new("protocol", "NotBuiltIn", message));
    check_common(settings, env, problems);
    None
}

fn split(tools: Vec<ToolSettings>) -> (Vec<RequestSettings>, BTreeMap<String, serde_json::Value>) {
    let fallback = |tool: &ToolSettings| Some((tool.request.id().to_owned(), tool.fallback.clone()?));
    let fallbacks = tools.iter().filter_map(fallback).collect();
    (tools.into_iter().map(|tool| tool.request).collect(), fallbacks)
}

/// What does not depend on the protocol; of use when there is no problem.
pub(super) fn check_common(settings: Settings, env: &Env, problems: &mut Vec<Problem>) -> Common {
    let policy = Arc::new(Policy::new(settings.allow_private_network.as_ref(), env, problems));
    let auth = Auth::check(None, None, settings.auth, problems);
    let headers = check_headers(&settings.metadata, "metadata", problems);
    let passed = PassedHeaders::check(&settings.pass_headers, problems);
    if auth.header().is_some_and(|header| passed.contains(header)) {
        let message =
            "a header in pass_headers carries the service's own sign-in; drop it from one of the two";
        problems.push(Problem::new("pass_headers", "Ambiguous", message));
    }
    if settings.tls.is_some() && settings.scheme == Scheme::Http {
        let message = "'tls' does nothing while 'scheme' is 'http', and all is sent in clear; set 'scheme' to 'https', or leave 'tls' out";
        problems.push(Problem::new("tls", "Unused", message));
    }
    let tls = settings.tls.unwrap_or_default().check(problems);
    let backoff = settings.retry.check(problems);
    let refresh = Duration::from_millis(settings.refresh_ms);
    let discovery = settings.discovery.check(RegistryAccess { policy: policy.clone(), refresh }, problems);
    let fleet = FleetSettings {
        load_balancer: settings.load_balancer,
        outliers: (&settings.outlier).into(),
        discovery,
        refresh,
        max_stale: Duration::from_millis(settings.max_stale_ms),
        timeout: Duration::from_millis(settings.timeout_ms),
    };
    Common {
        fleet: Fleet::new(fleet, env),
        policy,
        auth,
        headers,
        passed,
        is_secure: settings.scheme == Scheme::Https,
        tls,
        timeout: Duration::from_millis(settings.timeout_ms),
        max_attempts: settings.retry.max_attempts,
        backoff,
        max_response_bytes: settings.max_response_bytes,
    }
}
