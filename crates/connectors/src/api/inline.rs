//! HTTP tools without a service: an API with one tool, whose base is the endpoint's origin.

use super::redirect::Redirects;
use super::settings::{Settings, default_max_response};
use crate::shared::attempts::RetrySettings;
use crate::shared::breaker::BreakerSettings;
use crate::shared::http_tools::{
    FormEncoding, ParameterSettings, Position, ToolSettings, default_method, method_schema,
};
use crate::shared::network::{AllowPrivateNetwork, Setting, allow_private_network_schema};
use crate::shared::sign_in::{AuthSettings, AuthType, auth_schema};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tool::connector::{invalid_settings, open_checked};
use tool::secret::names::headers_schema;
use tool::settings_schema::SettingsSchema;
use tool::{Connector, Env, Inline, InlineTool, Problem, Result, Settings as _};

/// Tools of type `http`.
pub(super) const INLINE: Inline = Inline {
    tool_types: &[TYPE],
    part: Some("HTTP"),
    schema: || &SettingsSchema::of::<Config>().json,
    complete,
    needs_manager,
    open: |tool, env| {
        let InlineTool { name, description, config, tool_type: _ } = tool;
        open_checked(TYPE, config, |config: Config| config.http.open(name.clone(), description.clone(), env))
    },
};

const TYPE: &str = "http";
const DEFAULT_TIMEOUT_SECONDS: u64 = 30;
const DEFAULT_RETRIES: u32 = 3;
const MAX_RETRIES: u32 = 10;

/// The `config` of a tool of type `http`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The request.
    #[serde(rename = "HTTP")]
    http: Http,
}

/// A request with holes that the arguments fill.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Http {
    /// The whole URL, with `{name}` for each path parameter, e.g. `https://api.example.com/users/{userId}`.
    #[schemars(extend("x-address" = true, "x-secret" = "query"))]
    endpoint: String,
    /// The HTTP method.
    #[serde(default = "default_method")]
    #[schemars(schema_with = "method_schema")]
    method: String,
    /// How to sign in: `none`, `apikey`, `bearer`, `basic`, `oauth2` or `jwt`. What that needs stands in `auth_config`.
    #[serde(default)]
    auth_type: Option<AuthType>,
    /// What the `auth_type` needs: `header` and `value`, `token`, `username` and `password`,
    /// `token_url`, `client_id` and `client_secret`, or `algorithm` and `key`.
    #[serde(default)]
    #[schemars(schema_with = "auth_schema")]
    auth_config: Option<AuthSettings>,
    /// Type and details of the sign-in in one object, instead of `auth_type` and `auth_config`.
    #[serde(default)]
    #[schemars(schema_with = "auth_schema")]
    auth: Option<AuthSettings>,
    /// Headers that each request carries. Keys and tokens belong into `auth_config`.
    #[serde(default)]
    #[schemars(schema_with = "headers_schema")]
    headers: BTreeMap<String, String>,
    /// What the tool can be told.
    #[serde(default)]
    parameters: Vec<ParameterSettings>,
    /// How long one attempt may take, in seconds; 30 unless given.
    #[serde(default)]
    #[schemars(range(min = 1, max = 300))]
    timeout_seconds: Option<u64>,
    /// How often the request is repeated when an attempt fails in a way that may pass; 3 unless
    /// given. POST and PATCH are not repeated unless `idempotent` says so.
    #[serde(default)]
    #[schemars(range(min = 0, max = MAX_RETRIES))]
    retry_count: Option<u32>,
    /// A Go template that turns the answer into text.
    #[serde(default)]
    response_template: Option<String>,
    /// A JMESPath expression that picks what matters from the answer.
    #[serde(default)]
    select: Option<String>,
    /// The most bytes of the shaped answer; more is cut at whole items.
    #[serde(default)]
    #[schemars(range(min = 1))]
    max_result_bytes: Option<usize>,
    /// The request may be repeated without doing something twice. Follows from the method unless given.
    #[serde(default)]
    idempotent: Option<bool>,
    /// How `form` parameters are sent: `urlencoded`, or `multipart`, which files need.
    #[serde(default)]
    form_encoding: Option<FormEncoding>,
    /// A Go template that says what an answer with a bad status means, over `.status`, `.reason`,
    /// `.headers` and `.body`.
    #[serde(default)]
    error_template: Option<String>,
    /// Private, loopback and link-local addresses are refused unless this is `true` or lists their
    /// ranges, e.g. `["10.0.0.0/8"]`.
    #[serde(default)]
    #[schemars(schema_with = "allow_private_network_schema")]
    allow_private_network: Option<AllowPrivateNetwork>,
}

impl Http {
    fn open(self, name: String, description: String, env: &Env) -> Result<Arc<dyn Connector>> {
        let Some((origin, path)) = split(&self.endpoint) else {
            // The rest is checked too, so that every problem is told at once.
            let origin = "https://example.com".to_owned();
            let path = self.endpoint.clone();
            let opened = self.into_settings(origin, path, name, description).open(env);
            let mut problems = opened.err().map(|error| in_config(error.problems())).unwrap_or_default();
            problems.retain(|problem| problem.code != "InvalidEndpoint");
            let message = "the endpoint must be a whole URL whose host is fixed, e.g. https://api.example.com/users/{userId}";
            problems.insert(0, Problem::new("HTTP.endpoint", "InvalidUrl", message));
            return Err(invalid_settings(TYPE, problems));
        };
        let (origin, path) = (origin.to_owned(), path.to_owned());
        let opened = self.into_settings(origin, path, name, description).open(env);
        opened.map_err(|error| invalid_settings(TYPE, in_config(error.problems())))
    }

    fn into_settings(self, base_url: String, endpoint: String, id: String, description: String) -> Settings {
        let tool = ToolSettings {
            id,
            description,
            endpoint,
            method: self.method,
            methods: Vec::new(),
            headers: self.headers,
            parameters: self.parameters,
            response_template: self.response_template,
            select: self.select,
            max_result_bytes: self.max_result_bytes,
            timeout_ms: None,
            idempotent: self.idempotent,
            form_encoding: self.form_encoding,
            error_template: self.error_template,
        };
        let retries = self.retry_count.unwrap_or(DEFAULT_RETRIES);
        Settings {
            base_url,
            auth_type: self.auth_type,
            auth_config: self.auth_config,
            auth: self.auth,
            default_headers: BTreeMap::new(),
            pass_headers: Vec::new(),
            tls: None,
            redirects: Redirects::default(),
            circuit_breaker: BreakerSettings::default(),
            timeout_ms: self.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS).saturating_mul(1000),
            retry: RetrySettings { max_attempts: retries.saturating_add(1), ..RetrySettings::default() },
            allow_private_network: self.allow_private_network,
            network_setting: Setting::HttpTool,
            max_response_bytes: default_max_response(),
            max_concurrent_calls: None,
            tools: vec![tool],
        }
    }
}

/// The endpoint's origin and what comes behind it; nothing when the origin is not fixed.
fn split(endpoint: &str) -> Option<(&str, &str)> {
    let host = endpoint.find("://")? + "://".len();
    let path = endpoint[host..].find(['/', '?', '#']).map_or(endpoint.len(), |at| host + at);
    let (origin, path) = endpoint.split_at(path);
    (!origin.contains(['{', '}'])).then_some((origin, path))
}

/// Problems of the service that the tool was turned into, as problems of its `config`.
fn in_config(problems: &[Problem]) -> Vec<Problem> {
    let moved = |problem: &Problem| {
        let mut problem = problem.clone();
        problem.path = match problem.path.strip_prefix("tools[0].") {
            Some(rest) => format!("HTTP.{rest}"),
            None if problem.path == "base_url" => {
                problem.message = problem.message.replace("base_url", "endpoint");
                "HTTP.endpoint".to_owned()
            }
            None => format!("HTTP.{}", problem.path),
        };
        problem
    };
    problems.iter().map(moved).collect()
}

/// A parameter saved without a position is a `body` parameter, and says so.
fn complete(config: &mut Value) {
    let parameters = config.pointer_mut("/HTTP/parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten().filter_map(Value::as_object_mut) {
        parameter.entry("position").or_insert_with(|| Position::Body.as_str().into());
    }
}

/// Whoever lets a tool into the private network decides for everyone.
fn needs_manager(config: &Value) -> bool {
    let allowed = config.pointer("/HTTP/allow_private_network");
    !matches!(allowed, None | Some(Value::Null | Value::Bool(false)))
}
