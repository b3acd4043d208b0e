//! The beginning of a connection: `initialize` where there is a handshake, `server/discover` where not.

use super::failure::Failure;
use super::transport::Outgoing;
use super::{About, Client, meta};
use crate::{RpcError, Version};
use serde::Deserialize;
use serde_json::value::RawValue;
use tool::{Context, readable};

const NAME: &str = "mcp-all-in-one";
/// What we offer a server with a handshake, which is made before anybody calls: everything that the
/// program of a caller may be able to do. Where it is not, the server hears so when it asks.
const CAPABILITIES: &str = r#""sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}"#;
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
    /// Always the first message: servers on stdio lock themselves to the first one they see, and one
    /// that is slow to start must not be asked twice.
    pub(super) async fn initialize(&self, cx: &Context, offered: Version) -> Result<Server, Failure> {
        let id = self.inbox.next_id();
        let offered = offered.as_str();
        // Many callers have many roots, of which none is the server's to follow.
        let is_told = self.inbox.has_only_client();
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{offered}","capabilities":{{"roots":{{"listChanged":{is_told}}},{CAPABILITIES}}},"clientInfo":{{"name":"{NAME}","version":"{CLIENT_VERSION}"}}}}}}"#
        );
        let message = Outgoing { text, id: Some(id), method: "initialize", about: About::default() };
        let result = self.ask(cx, message, id).await?;
        let answer: Initialized = serde_json::from_str(&readable(result.get())).map_err(unreadable)?;
        if answer.protocol_version == Version::V2026_07_28.as_str() {
            let message = "the server answers the handshake with a version that has none";
            return Err(Failure::Rpc(RpcError::new(-32022, message)));
        }
        let version = Version::find(&answer.protocol_version).ok_or_else(|| {
            let theirs: String = answer.protocol_version.chars().take(40).collect();
            let ours = Version::LEGACY.map(Version::as_str).join(", ");
            Failure::Protocol(format!("the server speaks MCP version '{theirs}', and we speak {ours}"))
        })?;
        self.transport.agree(version);
        self.notify(cx, "notifications/initialized", None).await?;
        self.transport.listen().await;
        Ok(Server {
            version,
            info: answer.server_info,
            capabilities: answer.capabilities,
            instructions: answer.instructions,
        })
    }

    /// The first message of a connection without a handshake.
    pub(super) async fn discover(&self, cx: &Context) -> Result<Server, Failure> {
        let version = Version::V2026_07_28;
        self.transport.agree(version);
        let id = self.inbox.next_id();
        let method = "server/discover";
        let mut text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":"#);
        write_modern_params(cx, id, None, &mut text)?;
        text.push('}');
        let message = Outgoing { text, id: Some(id), method, about: About::default() };
        let result = self.ask(cx, message, id).await?;
        let answer: Discovered = serde_json::from_str(&readable(result.get())).map_err(unreadable)?;
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
pub(super) fn write_modern_params(
    cx: &Context,
    id: u64,
    params: Option<&str>,
    text: &mut String,
) -> Result<(), Failure> {
    const PREFIX: &str = "io.modelcontextprotocol/";
    let version = Version::V2026_07_28.as_str();
    let capabilities = cx.client.as_ref().map_or("{}", |client| client.capabilities().get());
    let ours = format!(
        r#""{PREFIX}protocolVersion":"{version}","{PREFIX}clientCapabilities":{capabilities},"{PREFIX}clientInfo":{{"name":"{NAME}","version":"{CLIENT_VERSION}"}},"progressToken":{id}"#
    );
    meta::write_with_meta(params, &ours, &REPLACED, text)
}

/// What stands in a caller's `_meta` for us and not for the server.
pub(super) const REPLACED: [&str; 4] = [
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
    "progressToken",
];

/// What a server without a handshake may answer to one.
pub(super) fn may_be_modern(failure: &Failure) -> bool {
    match failure {
        Failure::Rpc(RpcError { code, .. }) => matches!(code, -32601 | -32602 | -32600 | -32020 | -32022),
        Failure::Status { status, .. } => matches!(status, 400 | 404),
        Failure::Stale
        | Failure::Broken { .. }
        | Failure::Unauthorized { .. }
        | Failure::SignIn(_)
        | Failure::LoginRequired(_)
        | Failure::Redirected { .. }
        | Failure::AddressRefused(_)
        | Failure::Refused(_)
        | Failure::Protocol(_)
        | Failure::Timeout
        | Failure::Cancelled => false,
    }
}

/// A refusal of our version that names it among those that would be taken.
pub(super) fn is_invitation(refused: &RpcError) -> bool {
    #[derive(Default, Deserialize)]
    struct Facts {
        supported: Vec<String>,
    }
    let facts = refused.data.as_ref().and_then(|data| serde_json::from_str::<Facts>(data.get()).ok());
    let supported = facts.unwrap_or_default().supported;
    refused.code == -32022 && supported.iter().any(|name| *name == Version::V2026_07_28.as_str())
}

/// What a server that wants a handshake may answer to a request without one.
pub(super) fn may_be_legacy(failure: &Failure) -> bool {
    match failure {
        Failure::Rpc(_)
        | Failure::Status { status: 400..=499, .. }
        | Failure::Protocol(_)
        | Failure::Stale
        | Failure::Timeout => true,
        // Some fall over what they do not know.
        Failure::Status { status: 500 | 501, .. } | Failure::Broken { is_sent: true, .. } => true,
        Failure::Status { .. }
        | Failure::Broken { .. }
        | Failure::Unauthorized { .. }
        | Failure::SignIn(_)
        | Failure::LoginRequired(_)
        | Failure::Redirected { .. }
        | Failure::AddressRefused(_)
        | Failure::Refused(_)
        | Failure::Cancelled => false,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn unreadable(error: serde_json::Error) -> Failure {
    let why = tool::plain(&error.to_string()).into_owned();
    Failure::Protocol(format!("the server's answer to the handshake cannot be read: {why}"))
}
