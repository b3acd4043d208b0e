//! What an MCP client can ask.

use crate::Shared;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gateway::{Request, Route, Target};
use mcp::error::{Failure, failure_of_call};
use mcp::{Message, RpcError, Version};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;
use tool::{Arguments, Context, Outcome, Output};

/// Tools in one answer; many clients never ask for a second page.
const PAGE: usize = 1000;

type Answered<T> = std::result::Result<T, RpcError>;

/// A door as one request sees it.
pub(super) struct Door<'a> {
    pub(super) state: &'a Shared,
    pub(super) cx: Context,
    pub(super) version: Version,
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

impl Door<'_> {
    pub(super) async fn answer(&self, method: &str, message: &Message<'_>) -> Answered<Answer> {
        let result = match method {
            "initialize" => return initialize(&message.params()?),
            "ping" => "{}".to_owned(),
            "tools/list" => self.list(&message.params()?)?,
            "tools/call" => self.call(message.params()?).await?,
            _ => return Err(RpcError::unknown_method(method)),
        };
        Ok(Answer { result, agreed: None })
    }

    /// Names are sorted, so a page begins behind the last name of the one before, whatever
    /// came or went meanwhile.
    fn list(&self, list: &List) -> Answered<String> {
        let after = list.cursor.as_deref().map(open_cursor).transpose()?;
        let tools = self.state.gateway.list(&self.cx);
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

    async fn call(&self, call: CallTool) -> Answered<String> {
        let arguments = call.arguments.map(Arguments::from_raw).transpose();
        let arguments =
            arguments.map_err(|error| RpcError::invalid_params(format!("Invalid params: {error}")))?;
        let request = Request { target: Target::Name(call.name), arguments: arguments.unwrap_or_default() };
        // In a task of its own: a client that goes away does not end the call unaudited.
        let (gateway, cx) = (self.state.gateway.clone(), self.cx.clone());
        let task = self.state.calls.spawn(async move { gateway.call(&cx, request).await });
        let result = task.await.map_err(|_| RpcError::new(-32603, "the call ended in a mistake of ours"))?;
        match result {
            Ok(Outcome::Done(output)) => Ok(output.to_result()),
            Ok(Outcome::Started(task)) => Ok(Output::text(&format!("started as {}", task.0)).to_result()),
            Ok(Outcome::NeedsInput(_)) => {
                Ok(Output::text("the tool asks back, which this door cannot pass on").failed().to_result())
            }
            Err(error) => match failure_of_call(&error, self.version) {
                Failure::Error(error) => Err(error),
                Failure::Result(text) => Ok(Output::text(&text).failed().to_result()),
            },
        }
    }
}

fn initialize(asked: &Initialize) -> Answered<Answer> {
    let version = Version::negotiate(&asked.protocol_version);
    let result = json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "mcp-all-in-one", "version": env!("CARGO_PKG_VERSION") },
    });
    Ok(Answer { result: result.to_string(), agreed: Some(version) })
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
