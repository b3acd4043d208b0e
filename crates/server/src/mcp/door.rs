//! What an MCP client can ask.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gateway::{Gateway, Request, Route, Target};
use mcp::error::{Failure, failure_of_call};
use mcp::{Message, RpcError, Version};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_util::task::TaskTracker;
use tool::{Arguments, Context, Outcome, Output};

/// Tools in one answer; many clients never ask for a second page.
const PAGE: usize = 1000;

type Answered<T> = std::result::Result<T, RpcError>;

/// What every MCP door does, however its messages come and go.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) gateway: Arc<Gateway>,
    /// Calls run here, so that a client that goes away does not end them unaudited.
    pub(crate) calls: TaskTracker,
    /// The door can tell its clients that the list has changed.
    pub(crate) tells_changes: bool,
}

/// The result in JSON, and the version if the request was the handshake.
pub(super) struct Answer {
    pub(super) result: String,
    pub(super) agreed: Option<Version>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize {
    protocol_version: String,
    #[serde(default)]
    capabilities: Map<String, Value>,
}

#[derive(Deserialize)]
struct List {
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct CallTool {
    name: String,
    arguments: Option<Box<RawValue>>,
}

impl Door {
    pub(super) async fn answer(
        &self,
        cx: &Context,
        version: Version,
        method: &str,
        message: &Message<'_>,
    ) -> Answered<Answer> {
        let result = match method {
            "initialize" => return Ok(self.initialize(&message.params()?)),
            "ping" => "{}".to_owned(),
            "tools/list" => self.list(cx, &message.params()?)?,
            "tools/call" => self.call(cx, version, message.params()?).await?,
            _ => return Err(RpcError::unknown_method(method)),
        };
        Ok(Answer { result, agreed: None })
    }

    /// The client's own `roots` and `sampling` are echoed: some clients look for them.
    fn initialize(&self, asked: &Initialize) -> Answer {
        let version = Version::negotiate(&asked.protocol_version);
        let tools = if self.tells_changes { json!({ "listChanged": true }) } else { json!({}) };
        let mut capabilities = Map::from_iter([("tools".to_owned(), tools)]);
        for key in ["roots", "sampling"] {
            if let Some(value) = asked.capabilities.get(key) {
                capabilities.insert(key.to_owned(), value.clone());
            }
        }
        let result = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": { "name": "mcp-all-in-one", "version": env!("CARGO_PKG_VERSION") },
        });
        Answer { result: result.to_string(), agreed: Some(version) }
    }

    /// Names are sorted, so a page begins behind the last name of the one before, whatever
    /// came or went meanwhile.
    fn list(&self, cx: &Context, list: &List) -> Answered<String> {
        let after = list.cursor.as_deref().map(open_cursor).transpose()?;
        let tools = self.gateway.list(cx);
        let first = after.map_or(0, |after| tools.partition_point(|route| route.name <= after));
        let page = &tools[first..tools.len().min(first + PAGE)];
        let mut result = String::from("{\"tools\":[");
        for (at, route) in page.iter().enumerate() {
            if at > 0 {
                result.push(',');
            }
            result.push_str(&String::from_utf8_lossy(&route.listed));
        }
        result.push(']');
        if first + page.len() < tools.len() {
            result.push_str(&format!(",\"nextCursor\":\"{}\"", cursor_behind(page)));
        }
        result.push('}');
        Ok(result)
    }

    async fn call(&self, cx: &Context, version: Version, call: CallTool) -> Answered<String> {
        let arguments = call.arguments.map(Arguments::from_raw).transpose();
        let arguments =
            arguments.map_err(|error| RpcError::invalid_params(format!("Invalid params: {error}")))?;
        let request = Request { target: Target::Name(call.name), arguments: arguments.unwrap_or_default() };
        let (gateway, cx) = (self.gateway.clone(), cx.clone());
        let task = self.calls.spawn(async move { gateway.call(&cx, request).await });
        let result = task.await.map_err(|_| RpcError::new(-32603, "the call ended in a mistake of ours"))?;
        match result {
            Ok(Outcome::Done(output)) => Ok(output.to_result()),
            Ok(Outcome::Started(task)) => Ok(Output::text(&format!("started as {}", task.0)).to_result()),
            Ok(Outcome::NeedsInput(_)) => {
                Ok(Output::text("the tool asks back, which this door cannot pass on").failed().to_result())
            }
            Err(error) => match failure_of_call(&error, version) {
                Failure::Error(error) => Err(error),
                Failure::Result(text) => Ok(Output::text(&text).failed().to_result()),
            },
        }
    }
}

fn cursor_behind(page: &[Arc<Route>]) -> String {
    let last = page.last().map(|route| route.name.as_str()).unwrap_or_default();
    URL_SAFE_NO_PAD.encode(format!("after:{last}"))
}

fn open_cursor(cursor: &str) -> Answered<String> {
    let invalid = || RpcError::invalid_params("Invalid params: 'cursor' is not one of ours");
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.as_deref().and_then(|text| text.strip_prefix("after:")).map(str::to_owned).ok_or_else(invalid)
}
