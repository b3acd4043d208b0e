//! `serve`: the server, and what it says when it starts.

use super::Data;
use crate::Failure;
use crate::home::home;
use crate::mcp_config::{FILE_NAME, McpConfig};
use crate::wiring::{self, Settings, Started};
use clap::Args;
use connectors::embeddings;
use http::HeaderValue;
use server::Options;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tool::Secret;

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
    #[arg(long, env = "MCP_ALL_IN_ONE_ADMIN_TOKEN", hide_env_values = true, value_name = "KEY", value_parser = super::secret)]
    admin_token: Option<Secret>,
    /// Let all services call private, loopback and link-local addresses
    #[arg(long, env = "MCP_ALL_IN_ONE_ALLOW_PRIVATE_NETWORK")]
    allow_private_network: bool,
    /// The most bytes of a request's body
    #[arg(long, env = "MCP_ALL_IN_ONE_MAX_BODY_BYTES", value_name = "N", default_value_t = 4 * 1024 * 1024)]
    max_body_bytes: usize,
    /// The most bytes of a tool's answer; more is cut at whole items
    #[arg(long, env = "MCP_ALL_IN_ONE_MAX_RESULT_BYTES", value_name = "N", default_value_t = gateway::RESULT_BUDGET_BYTES)]
    max_result_bytes: usize,
    /// How long a call may take, in seconds
    #[arg(long, env = "MCP_ALL_IN_ONE_CALL_TIMEOUT", value_name = "SECONDS", default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    call_timeout: u64,
    /// How long requests in flight may take to end at shutdown, in seconds
    #[arg(long, env = "MCP_ALL_IN_ONE_SHUTDOWN_TIMEOUT", value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(0..=3600))]
    shutdown_timeout: u64,
    /// A web page's origin that may call us from a browser; can be given many times
    #[arg(long, env = "MCP_ALL_IN_ONE_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',')]
    cors_origin: Vec<HeaderValue>,
    /// Audit records older than this many days are deleted; 0 keeps them for ever
    #[arg(long, env = "MCP_ALL_IN_ONE_AUDIT_RETENTION_DAYS", value_name = "DAYS", default_value_t = 90)]
    audit_retention_days: u32,
    /// Also serve clients of MCP 2024-11-05 at /sse; their sessions live on one replica
    #[arg(long, env = "MCP_ALL_IN_ONE_LEGACY_SSE")]
    legacy_sse: bool,
    #[command(flatten)]
    embeddings: EmbeddingsArguments,
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
        let services = settings.mcp_config.as_deref().map(services_of).transpose()?;
        let started = wiring::start(settings).await?;
        super::print(&welcome(&started, services.as_deref()));
        started.run(stop).await;
        tracing::info!("stopped: calls have ended, the audit is written");
        Ok(ExitCode::SUCCESS)
    }

    fn settings(self) -> Result<Settings, Failure> {
        let days = u64::from(self.audit_retention_days);
        // Data elsewhere is a server of its own, and no person's home.
        let at_home = || self.data.data_dir.is_none().then(home).transpose();
        let mcp_config = match self.mcp_config {
            Some(path) => Some(path),
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
            has_self_tools: self.self_tools,
            allow_private_network: self.allow_private_network,
            max_result_bytes: self.max_result_bytes,
            embeddings: self.embeddings.settings(),
            search: search::Options::default(),
            server: Options {
                max_body_bytes: self.max_body_bytes,
                call_timeout: Duration::from_secs(self.call_timeout),
                shutdown_timeout: Duration::from_secs(self.shutdown_timeout),
                cors_origins: self.cors_origin,
                store_timeout: Options::default().store_timeout,
                audit_retention: (days > 0).then(|| Duration::from_secs(days * 24 * 60 * 60)),
                serves_sse: self.legacy_sse,
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
fn welcome(started: &Started, services: Option<&str>) -> String {
    let url = format!("http://{}", started.address);
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!("mcp-all-in-one {version} listens on {url}\n{}", services.unwrap_or_default());
    let key = match &started.admin_key {
        Some(key) => {
            text.push_str(&format!("\nAdmin key, shown this once:\n  {}\n", key.expose()));
            key.expose()
        }
        None => "$MCP_ALL_IN_ONE_TOKEN",
    };
    text.push_str(&format!(
        "\nTry it:\n  curl -H \"Authorization: Bearer {key}\" {url}/api/v1/mcp/tools\n\
         \nConnect an MCP client:\n  claude mcp add --transport http all-in-one {url}/mcp --header \"Authorization: Bearer {key}\"\n\
         \nREST interface: {url}/api/docs"
    ));
    text
}
