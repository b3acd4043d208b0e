//! The beginning of a connection: `initialize` where there is a handshake, `server/discover` where not.

use super::failure::Failure;
use super::transport::{Outgoing, Transport};
use super::{Client, meta};
use crate::{RpcError, Version};
use serde::Deserialize;
use serde_json::value::RawValue;
use tool::Context;
use tracing::debug;

const NAME: &str = "mcp-all-in-one";
const CLIENT_VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a server said about itself.
#[derive(Debug, Clone)]
pub struct Server {
    /// The version both sides speak.
    pub version: Version,
    /// Its name and version, as it wrote them.
    pub info: Option<Box<RawValue>>,
    /// What it can do, as it wrote it.
    pub capabilities: Option<Box<RawValue>>,
    /// How it wants to be used.
    pub instructions: Option<String>,
}

impl Server {
    /// Before it has said anything.
    pub(super) fn unknown() -> Self {
        Self { version: Version::LATEST_LEGACY, info: None, capabilities: None, instructions: None }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
    #[serde(default)]
    server_info: Option<Box<RawValue>>,
    #[serde(default)]
    capabilities: Option<Box<RawValue>>,
    #[serde(default)]
    instructions: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    #[serde(default)]
    supported_versions: Vec<String>,
    #[serde(default, rename = "_meta")]
    meta: DiscoveredMeta,
    #[serde(default)]
    capabilities: Option<Box<RawValue>>,
    #[serde(default)]
    instructions: Option<String>,
}

#[derive(Default, Deserialize)]
struct DiscoveredMeta {
    #[serde(default, rename = "io.modelcontextprotocol/serverInfo")]
    server_info: Option<Box<RawValue>>,
}

impl Client {
    /// Always `initialize` first: servers on stdio lock themselves to the first message they see,
    /// and one that is slow to start must not be asked twice.
    pub(super) async fn shake_hands(&self, cx: &Context) -> Result<Server, Failure> {
        match self.initialize(cx).await {
            Ok(server) => Ok(server),
            Err(failure) if matches!(self.transport, Transport::Http(_)) && may_be_modern(&failure) => {
                debug!(%failure, "the MCP server has no handshake; asking as of 2026-07-28");
                // If that fails too, the first failure says more about a server of any other kind.
                self.discover(cx).await.map_err(|_| failure)
            }
            Err(failure) => Err(failure),
        }
    }

    async fn initialize(&self, cx: &Context) -> Result<Server, Failure> {
        let id = self.inbox.next_id();
        let offered = Version::LATEST_LEGACY.as_str();
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{offered}","capabilities":{{}},"clientInfo":{{"name":"{NAME}","version":"{CLIENT_VERSION}"}}}}}}"#
        );
        let message = Outgoing { text, id: Some(id), method: "initialize", name: None };
        let result = self.ask(cx, message, id).await?;
        let answer: Initialized = serde_json::from_str(result.get()).map_err(unreadable)?;
        let version = Version::find(&answer.protocol_version).ok_or_else(|| {
            let theirs: String = answer.protocol_version.chars().take(40).collect();
            let ours = Version::LEGACY.map(Version::as_str).join(", ");
            Failure::Protocol(format!("the server speaks MCP version '{theirs}', and we speak {ours}"))
        })?;
        self.transport.agree(version);
        self.notify(cx, "notifications/initialized", None).await?;
        self.transport.listen();
        Ok(Server {
            version,
            info: answer.server_info,
            capabilities: answer.capabilities,
            instructions: answer.instructions,
        })
    }

    async fn discover(&self, cx: &Context) -> Result<Server, Failure> {
        let version = Version::V2026_07_28;
        self.transport.agree(version);
        let id = self.inbox.next_id();
        let params = modern_params(id, None)?;
        let method = "server/discover";
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let message = Outgoing { text, id: Some(id), method, name: None };
        let result = self.ask(cx, message, id).await?;
        let answer: Discovered = serde_json::from_str(result.get()).map_err(unreadable)?;
        if !answer.supported_versions.iter().any(|name| name == version.as_str()) {
            return Err(Failure::Protocol("the server speaks no version that we speak".into()));
        }
        Ok(Server {
            version,
            info: answer.meta.server_info,
            capabilities: answer.capabilities,
            instructions: answer.instructions,
        })
    }
}

/// The params of a request as of 2026-07-28, which says in each who asks and in which version.
pub(super) fn modern_params(id: u64, params: Option<&RawValue>) -> Result<String, Failure> {
    const PREFIX: &str = "io.modelcontextprotocol/";
    let version = Version::V2026_07_28.as_str();
    let ours = format!(
        r#""{PREFIX}protocolVersion":"{version}","{PREFIX}clientCapabilities":{{}},"{PREFIX}clientInfo":{{"name":"{NAME}","version":"{CLIENT_VERSION}"}},"progressToken":{id}"#
    );
    let replaced = [
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/clientInfo",
        "progressToken",
    ];
    meta::with_meta(params, &ours, &replaced)
}

/// What a server without a handshake may answer to one.
fn may_be_modern(failure: &Failure) -> bool {
    match failure {
        Failure::Rpc(RpcError { code, .. }) => matches!(code, -32601 | -32602 | -32600 | -32020 | -32022),
        Failure::Status { status, .. } => matches!(status, 400 | 404),
        Failure::Stale
        | Failure::Broken { .. }
        | Failure::Unauthorized { .. }
        | Failure::Refused(_)
        | Failure::Protocol(_)
        | Failure::Timeout
        | Failure::Cancelled => false,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn unreadable(error: serde_json::Error) -> Failure {
    Failure::Protocol(format!("the server's answer to the handshake cannot be read: {error}"))
}
