//! The settings of an MCP server: what may be written, and what is wrong with what was.

use super::Mcp;
use super::auth::{self, AuthSettings, AuthType};
use super::client::{Limits, ReconnectingClient};
use super::eras::ServerClients;
use super::oauth::OAuth;
use super::target::{Remote, Route, Server, Target};
use super::tools::{Filter, Tools};
use super::watched::Watched;
use super::web::Web;
use crate::shared::attempts::Backoff;
use crate::shared::network::{AllowPrivateNetwork, Policy, allow_private_network_schema};
use crate::shared::tls::{TlsSettings, tls_schema};
use fetch::Url;
use mcp::Version;
use mcp::client::transport::stdio::Command;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::connector::invalid_settings;
use tool::{Connector, Env, Pattern, Pinning, Problem, Result, Secret};

/// The longest pause between two attempts to connect.
const MAX_PAUSE: Duration = Duration::from_secs(30);

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

    /// Whoever writes a command runs it here, and whoever names a login uses it.
    fn is_privileged(settings: &Value) -> bool {
        ["command", "login_file"].iter().any(|key| settings.get(key).is_some_and(|value| !value.is_null()))
    }

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(self.connector(env)?))
    }
}

impl Settings {
    pub(super) fn connector(self, env: &Env) -> Result<Mcp> {
        let mut problems = Vec::new();
        let target = self.target(env, &mut problems);
        let filter = Filter {
            include: self.include_tools.map(|names| names.into_iter().map(Pattern).collect()),
            exclude: self.exclude_tools.into_iter().map(Pattern).collect(),
        };
        let Some(target) = target.filter(|_| problems.is_empty()) else {
            return Err(invalid_settings(<Self as tool::Settings>::SCHEME, problems));
        };
        let (pause_ms, retries) = if self.transport == Some(Type::Sse) { (1000, 5) } else { (100, 1) };
        let limits = Limits {
            start: Duration::from_millis(self.start_timeout),
            backoff: Backoff {
                initial: Duration::from_millis(self.reconnect_interval.unwrap_or(pause_ms)),
                max: MAX_PAUSE,
            },
            retries: self.max_retries.unwrap_or(retries),
            version: self.protocol_version.map(Version::from),
            idle: (self.idle_timeout > 0).then(|| Duration::from_millis(self.idle_timeout)),
        };
        let tools = Arc::new(Tools::new(filter));
        let client =
            ReconnectingClient::new(target, limits, env, tools.clone(), Arc::new(Watched::default()));
        Ok(Mcp {
            _closing: client.closing().drop_guard(),
            clients: ServerClients::new(Arc::new(client)),
            tools,
            is_prefixed: self.expose.prefix,
            permits: self.max_concurrent_calls.map(Semaphore::new),
            timeout: Duration::from_millis(self.timeout),
            pinning: self.pin,
        })
    }

    fn target(&self, env: &Env, problems: &mut Vec<Problem>) -> Option<Target> {
        let urls = [("url", &self.url), ("httpUrl", &self.http_url), ("serverUrl", &self.server_url)];
        let mut urls = urls.into_iter().filter_map(|(name, url)| Some((name, url.as_deref()?)));
        let (url, second) = (urls.next(), urls.next());
        if let Some((name, _)) = second {
            let message = "the address is given twice; keep 'url' alone";
            problems.push(Problem::new(name, "Ambiguous", message));
        }
        let policy = Policy::new(self.allow_private_network.as_ref(), env, problems);
        let server = match (&self.command, url) {
            (Some(_), Some((name, _))) => {
                let message = format!("a service has either a 'command' or a '{name}'; leave one out");
                problems.push(Problem::new(name, "Ambiguous", message));
                None
            }
            (None, None) => {
                let message = "the service needs a 'command' to start or a 'url' to connect to";
                problems.push(Problem::new("command", "Required", message));
                None
            }
            (Some(command), None) => self.local(command, problems),
            (None, Some((name, url))) => self.remote(name, url, (policy, env), problems),
        };
        server.map(|server| Target { service: env.service.clone(), server })
    }

    fn local(&self, command: &str, problems: &mut Vec<Problem>) -> Option<Server> {
        let is_other = self.transport.is_some_and(|transport| transport != Type::Stdio);
        let unused = [
            ("type", is_other),
            ("headers", !self.headers.is_empty()),
            ("api_key", self.api_key.is_some()),
            ("auth_type", self.auth_type.is_some_and(|auth_type| auth_type != AuthType::None)),
            ("auth_config", self.auth_config.is_some()),
            ("tls", self.tls.is_some()),
            ("login_file", self.login_file.is_some()),
        ];
        for (name, _) in unused.into_iter().filter(|(_, is_given)| *is_given) {
            let message = format!("'{name}' is for a 'url', and this service has a 'command'");
            problems.push(Problem::new(name, "Unused", message));
        }
        let is_text = |text: &str| !text.contains('\0');
        if command.trim().is_empty() || !is_text(command) {
            problems.push(Problem::new("command", "Invalid", "the command is empty or no text"));
        }
        for (index, _) in self.args.iter().enumerate().filter(|(_, text)| !is_text(text)) {
            let path = format!("args[{index}]");
            problems.push(Problem::new(path, "Invalid", "an argument cannot hold a zero byte"));
        }
        for (name, value) in &self.env {
            if name.is_empty() || name.contains('=') || !is_text(name) || !is_text(value.expose()) {
                let message = format!("'{name}' cannot be an environment variable");
                problems.push(Problem::new(format!("env.{name}"), "Invalid", message));
            }
        }
        let env = self.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let (args, cwd) = (self.args.clone(), self.cwd.clone());
        Some(Server::Local(Command { program: command.to_owned(), args, env, cwd }))
    }

    fn remote(
        &self,
        name: &str,
        text: &str,
        (policy, env): (Policy, &Env),
        problems: &mut Vec<Problem>,
    ) -> Option<Server> {
        let unused = [
            ("args", !self.args.is_empty()),
            ("env", !self.env.is_empty()),
            ("cwd", self.cwd.is_some()),
            ("type", self.transport == Some(Type::Stdio)),
        ];
        for (field, _) in unused.into_iter().filter(|(_, is_given)| *is_given) {
            let message = format!("'{field}' is for a 'command', and this service has a '{name}'");
            problems.push(Problem::new(field, "Unused", message));
        }
        let (headers, secrets) = auth::headers(
            &self.headers,
            self.api_key.as_ref(),
            self.auth_type,
            self.auth_config.as_ref(),
            problems,
        );
        let url = check_url(name, text, problems)?;
        let is_socket = matches!(url.scheme(), "ws" | "wss");
        let route = match self.transport {
            Some(Type::Ws | Type::Websocket) => Route::Ws,
            None if is_socket => Route::Ws,
            None | Some(Type::Stdio) => Route::Unknown,
            Some(Type::Http | Type::StreamableHttp | Type::StreamableHttpCamel) => Route::Http,
            Some(Type::Sse) => Route::Sse,
        };
        if is_socket != (route == Route::Ws) {
            let message = "a 'ws' service has a ws:// or wss:// address, and the others http:// or https://";
            problems.push(Problem::new(name, "InvalidUrl", message));
        }
        let (config, file) = (self.auth_config.as_ref(), self.login_file.as_deref());
        let oauth = auth::oauth(self.auth_type, config, file, &headers, problems);
        if route == Route::Ws && self.auth_type == Some(AuthType::Oauth2) {
            let message = "'oauth2' is for http:// and https:// addresses";
            problems.push(Problem::new("auth_type", "Unsupported", message));
        }
        let tls = self.tls.as_ref().map(|tls| tls.check(problems)).unwrap_or_default();
        let web = Arc::new(Web::new(&url, policy, tls));
        let oauth = oauth.map(|(identity, flow)| OAuth::new(url.clone(), identity, flow, web.clone(), env));
        Some(Server::Remote(Box::new(Remote::new(url, headers, secrets, route, web, oauth))))
    }
}

fn check_url(name: &str, text: &str, problems: &mut Vec<Problem>) -> Option<Url> {
    let mut refuse = |why: &str| {
        let message = format!("the address {why}; write e.g. https://mcp.example.com/mcp");
        problems.push(Problem::new(name, "InvalidUrl", message));
        None
    };
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return refuse("holds spaces, control characters or backslashes");
    }
    let Ok(url) = Url::parse(text) else { return refuse("is no URL") };
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss") {
        return refuse("is neither http, https, ws nor wss");
    }
    if url.host_str().is_none_or(str::is_empty) {
        return refuse("names no host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("holds a user name or password, which belong into headers");
    }
    Some(url)
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
