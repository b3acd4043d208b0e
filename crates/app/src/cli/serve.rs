//! `serve`: the server, and what it says when it starts.

use super::Data;
use crate::wiring::{self, Settings, Started};
use crate::{Failure, telemetry};
use clap::Args;
use connectors::embeddings;
use http::HeaderValue;
use local::OneServer;
use local::home;
use local::mcp_config::{FILE_NAME, McpConfig};
use server::{ClientLimits, Options};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tool::{SearchMode, Secret};

/// Serve REST and MCP over HTTP.
#[derive(Args)]
pub(super) struct Serve {
    /// Where to listen
    #[arg(long, env = "MCP_ALL_IN_ONE_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:3095")]
    listen: SocketAddr,
    #[command(flatten)]
    data: Data,
    /// An mcp.json whose services belong to the tenant 'default' [default: without --data-dir, mcp.json in
    /// ~/.mcp-all-in-one]
    #[arg(long, env = "MCP_ALL_IN_ONE_MCP_CONFIG", value_name = "PATH")]
    mcp_config: Option<PathBuf>,
    /// Offer admins tools that show, check and change the mcp.json itself
    #[arg(long, env = "MCP_ALL_IN_ONE_SELF_TOOLS")]
    self_tools: bool,
    /// An admin key to use instead of a generated one
    #[arg(long, env = "MCP_ALL_IN_ONE_ADMIN_TOKEN", hide_env_values = true, value_name = "KEY", value_parser = admin_token)]
    admin_token: Option<Secret>,
    /// Let all services call private, loopback and link-local addresses
    #[arg(long, env = "MCP_ALL_IN_ONE_ALLOW_PRIVATE_NETWORK")]
    allow_private_network: bool,
    /// The most bytes of a request's body
    #[arg(long, env = "MCP_ALL_IN_ONE_MAX_BODY_BYTES", value_name = "N", default_value_t = server::MAX_BODY_BYTES)]
    max_body_bytes: usize,
    /// The most bytes of a tool's answer; more is cut at whole items, or refused [default: 1048576, and none for MCP services]
    #[arg(long, env = "MCP_ALL_IN_ONE_MAX_RESULT_BYTES", value_name = "N")]
    max_result_bytes: Option<usize>,
    /// How long a call may take, in seconds
    #[arg(long, env = "MCP_ALL_IN_ONE_CALL_TIMEOUT", value_name = "SECONDS", default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    call_timeout: u64,
    /// How long requests in flight may take to end at shutdown, in seconds
    #[arg(long, env = "MCP_ALL_IN_ONE_SHUTDOWN_TIMEOUT", value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(0..=3600))]
    shutdown_timeout: u64,
    /// A web page's origin that may call us from a browser; can be given many times
    #[arg(long, env = "MCP_ALL_IN_ONE_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',', value_parser = origin)]
    cors_origin: Vec<HeaderValue>,
    /// Audit records older than this many days are deleted; 0 keeps them for ever
    #[arg(long, env = "MCP_ALL_IN_ONE_AUDIT_RETENTION_DAYS", value_name = "DAYS", default_value_t = 90)]
    audit_retention_days: u32,
    /// Of how many of each tenant's last calls and failures to keep in memory what they sent and got, for managers; 0 is off
    #[arg(long, env = "MCP_ALL_IN_ONE_KEEP_CALLS", value_name = "N", default_value_t = 200,
        value_parser = keep_calls)]
    keep_calls: usize,
    /// Also serve clients of MCP 2024-11-05 at /sse; their sessions live on one replica
    #[arg(long, env = "MCP_ALL_IN_ONE_LEGACY_SSE")]
    legacy_sse: bool,
    /// What stands before every path, e.g. /tools behind a proxy that hands on the whole path
    #[arg(long, env = "MCP_ALL_IN_ONE_BASE_PATH", value_name = "PATH", default_value = "", value_parser = base_path,
        hide_default_value = true)]
    base_path: String,
    /// How clients reach this server, for links to objects, e.g. https://tools.example.com [default: where it listens]
    #[arg(long, env = "MCP_ALL_IN_ONE_PUBLIC_URL", value_name = "URL", value_parser = public_url)]
    public_url: Option<String>,
    /// Let MCP clients on this machine call without a key; only with a loopback address in --listen
    #[arg(long, env = "MCP_ALL_IN_ONE_NO_AUTH")]
    no_auth: bool,
    /// Tell MCP clients of find_tools and call_tool instead of every tool: off, on, or auto (for lists of more than 40 tools
    /// or 40,000 characters)
    #[arg(long, env = "MCP_ALL_IN_ONE_TOOL_SEARCH", value_name = "MODE", default_value = "off")]
    tool_search: SearchMode,
    /// A collector of OpenTelemetry that gets a span per call and attempt over OTLP/HTTP, e.g. http://127.0.0.1:4318
    #[arg(long, env = "MCP_ALL_IN_ONE_OTLP_ENDPOINT", value_name = "URL", value_parser = otlp_endpoint)]
    otlp_endpoint: Option<String>,
    /// Let spans of agents hold what was said: prompts, arguments and answers
    #[arg(long, env = "MCP_ALL_IN_ONE_TRACE_CONTENT", requires = "otlp_endpoint")]
    trace_content: bool,
    #[command(flatten)]
    clients: ClientArguments,
    #[command(flatten)]
    embeddings: EmbeddingsArguments,
    /// Serve this one MCP server and nothing else, e.g. -- npx -y some-server
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "mcp_config")]
    command: Vec<String>,
}

/// All of them are in memory.
fn keep_calls(text: &str) -> Result<usize, String> {
    const MOST: usize = 10_000;
    let wrong = || format!("it is a number from 0 to {MOST}");
    text.parse().ok().filter(|count| *count <= MOST).ok_or_else(wrong)
}

/// A collector's address.
fn otlp_endpoint(text: &str) -> Result<String, String> {
    match telemetry::is_address(text) {
        true => Ok(text.to_owned()),
        false => Err("write it with http:// or https:// and without a user name, e.g. http://127.0.0.1:4318"
            .to_owned()),
    }
}

/// An address that links can begin with.
fn public_url(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")).unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]%".contains(c);
    match !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(is_plain) {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err("write it with https:// and without a query, e.g. https://tools.example.com".to_owned()),
    }
}

/// A path that can stand before others: segments of plain characters, without a slash at the end.
fn base_path(text: &str) -> Result<String, String> {
    const MAX_BYTES: usize = 200;
    let path = text.trim_end_matches('/');
    let is_plain = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    match path.strip_prefix('/') {
        _ if path.is_empty() => Ok(String::new()),
        Some(rest) if path.len() <= MAX_BYTES && rest.split('/').all(is_plain) => Ok(path.to_owned()),
        _ => {
            Err("it begins with '/' and has letters, digits, '-', '.', '_' and '~' between its slashes"
                .into())
        }
    }
}

/// What clients may cost, whoever they are.
#[derive(Args)]
struct ClientArguments {
    /// How long the head of a request may take, in seconds
    #[arg(long, env = "MCP_ALL_IN_ONE_HEAD_TIMEOUT", value_name = "SECONDS", default_value_t = 15,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    head_timeout: u64,
    /// How long nothing may come of a request's body, or be taken of an answer, in seconds
    #[arg(long, env = "MCP_ALL_IN_ONE_BODY_TIMEOUT", value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    body_timeout: u64,
    /// How long a connection may be without a request, in seconds; streams of notifications are requests
    #[arg(long, env = "MCP_ALL_IN_ONE_KEEP_ALIVE_TIMEOUT", value_name = "SECONDS", default_value_t = 75,
        value_parser = clap::value_parser!(u64).range(1..=86400))]
    keep_alive_timeout: u64,
    /// How many connections may be open [default: three quarters of the files this process may open, at most 10000]
    #[arg(long, env = "MCP_ALL_IN_ONE_MAX_CONNECTIONS", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: Option<u32>,
    /// How many of them from one address [default: 256, and any number from this machine itself]
    #[arg(long, env = "MCP_ALL_IN_ONE_MAX_CONNECTIONS_PER_ADDRESS", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..))]
    max_connections_per_address: Option<u32>,
}

impl ClientArguments {
    fn limits(&self) -> ClientLimits {
        let count = |number: Option<u32>| number.and_then(|number| usize::try_from(number).ok());
        ClientLimits {
            head_timeout: Duration::from_secs(self.head_timeout),
            body_timeout: Duration::from_secs(self.body_timeout),
            keep_alive: Duration::from_secs(self.keep_alive_timeout),
            max_connections: count(self.max_connections),
            max_connections_per_address: count(self.max_connections_per_address),
        }
    }
}

/// Where embeddings for search come from.
#[derive(Args)]
struct EmbeddingsArguments {
    /// A provider of embeddings with OpenAI's interface, e.g. https://api.openai.com/v1; search goes by words alone without
    #[arg(
        long,
        env = "MCP_ALL_IN_ONE_EMBEDDINGS_BASE_URL",
        value_name = "URL",
        requires = "embeddings_model"
    )]
    embeddings_base_url: Option<String>,
    /// The provider's name for the model
    #[arg(long, env = "MCP_ALL_IN_ONE_EMBEDDINGS_MODEL", value_name = "NAME")]
    embeddings_model: Option<String>,
    /// The key for the provider
    #[arg(long, env = "MCP_ALL_IN_ONE_EMBEDDINGS_API_KEY", hide_env_values = true, value_name = "KEY", value_parser = super::secret)]
    embeddings_api_key: Option<Secret>,
    /// How long the vectors are [default: as the model makes them]
    #[arg(long, env = "MCP_ALL_IN_ONE_EMBEDDINGS_DIMENSIONS", value_name = "N")]
    embeddings_dimensions: Option<usize>,
}

impl EmbeddingsArguments {
    fn settings(self) -> Option<embeddings::Settings> {
        Some(embeddings::Settings {
            base_url: self.embeddings_base_url?,
            model: self.embeddings_model?,
            api_key: self.embeddings_api_key,
            dimensions: self.embeddings_dimensions,
        })
    }
}

impl Serve {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let stop = super::stop_on_signal()?;
        let settings = self.settings()?;
        let (base_path, asks_no_key) = (settings.server.base_path.clone(), settings.server.asks_no_key);
        let services = settings.mcp_config.as_deref().map(services_of).transpose()?;
        let started = wiring::start(settings).await?;
        super::print(&welcome(&started, services.as_deref(), &base_path, asks_no_key));
        started.run(stop).await;
        tracing::info!("stopped: calls have ended, the audit is written");
        Ok(ExitCode::SUCCESS)
    }

    fn settings(self) -> Result<Settings, Failure> {
        let days = u64::from(self.audit_retention_days);
        // Data elsewhere is a server of its own, and no person's home.
        let at_home = || self.data.data_dir.is_none().then(home).transpose();
        let one_server = OneServer::new(self.command);
        let mcp_config = match self.mcp_config {
            Some(path) => Some(path),
            // One server is all there is.
            None if one_server.is_some() => None,
            None => at_home()?.map(|home| home.join(FILE_NAME)),
        };
        if self.self_tools && mcp_config.is_none() {
            return Err(Failure::new("--self-tools needs an mcp.json").advice("name one with --mcp-config"));
        }
        Ok(Settings {
            listen: self.listen,
            data_dir: self.data.dir()?,
            database: self.data.database,
            master_key: self.data.master_key,
            admin_token: self.admin_token,
            mcp_config,
            one_server,
            has_self_tools: self.self_tools,
            allow_private_network: self.allow_private_network,
            kept_calls: self.keep_calls,
            max_result_bytes: self.max_result_bytes,
            tool_search: self.tool_search,
            embeddings: self.embeddings.settings(),
            telemetry: self
                .otlp_endpoint
                .map(|endpoint| telemetry::Settings { endpoint, has_content: self.trace_content }),
            search: search::Options::default(),
            server: Options {
                max_body_bytes: self.max_body_bytes,
                call_timeout: Duration::from_secs(self.call_timeout),
                shutdown_timeout: Duration::from_secs(self.shutdown_timeout),
                cors_origins: self.cors_origin,
                store_timeout: Options::default().store_timeout,
                audit_retention: (days > 0).then(|| Duration::from_secs(days * 24 * 60 * 60)),
                serves_sse: self.legacy_sse,
                base_path: self.base_path,
                public_url: self.public_url,
                asks_no_key: self.no_auth,
                only_service: None,
                clients: self.clients.limits(),
            },
        })
    }
}

/// Which file is in use, and what it holds.
fn services_of(path: &Path) -> Result<String, Failure> {
    let count = McpConfig::open(path)?.services().iter().filter(|service| service.is_enabled).count();
    let how_many = match count {
        0 => "none yet; `mcp-all-in-one add` adds one, and it is served at once".to_owned(),
        count => format!("{count}; a change of the file is seen at once"),
    };
    Ok(format!("Services of {}: {how_many}\n", path.display()))
}

/// What a newcomer needs next, ready to paste.
fn welcome(started: &Started, services: Option<&str>, base_path: &str, asks_no_key: bool) -> String {
    let url = format!("http://{}{base_path}", started.address);
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("mcp-all-in-one {version} listens on {url}\n{}", services.unwrap_or_default());
    let key = match &started.admin_key {
        Some(key) => {
            text.push_str(&format!("\nAdmin key, shown this once:\n  {}\n", key.expose()));
            key.expose()
        }
        None => "$MCP_ALL_IN_ONE_TOKEN",
    };
    match &started.sign_in_code {
        Some(code) => {
            let code = code.expose();
            text.push_str(&format!(
                "\nOpen the console; the link works once, for 15 minutes:\n  {url}/#code={code}\n"
            ));
        }
        None => text.push_str(&format!(
            "\nConsole: {url}/ (`mcp-all-in-one open` prints a link that signs you in)\n"
        )),
    }
    let header = match asks_no_key {
        true => String::new(),
        false => format!(" --header \"Authorization: Bearer {key}\""),
    };
    text.push_str(&format!(
        "\nTry it:\n  curl -H \"Authorization: Bearer {key}\" {url}/api/v1/mcp/tools\n\
         \nConnect an MCP client:\n  claude mcp add --transport http all-in-one {url}/mcp{header}\n\
         \nREST interface: {url}/api/docs"
    ));
    text
}

fn admin_token(text: &str) -> Result<Secret, String> {
    match text.trim().is_empty() {
        true => Err("it is empty; make one at random (openssl rand -hex 32)".to_owned()),
        false => super::secret(text).map_err(|never| match never {}),
    }
}

/// A web page's origin as browsers send it: scheme and host, perhaps a port, and nothing else.
fn origin(text: &str) -> Result<HeaderValue, String> {
    let wrong =
        || "an origin is a scheme, a host and perhaps a port, as in https://app.example.com".to_owned();
    let uri: http::Uri = text.parse().map_err(|_| wrong())?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority =
        uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(wrong)?;
    let scheme = uri.scheme_str().unwrap_or_default();
    if !is_web || text != format!("{scheme}://{authority}") {
        return Err(wrong());
    }
    HeaderValue::from_str(text).map_err(|_| wrong())
}
