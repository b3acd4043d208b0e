//! What an MCP client can ask, however its messages come and go.

use super::Answered;
use super::asked::{Asked, CallTool, Initialize};
use super::lists;
use gateway::Gateway;
use mcp::error::{Failure, failure_of_call};
use mcp::modern::{self, Cache};
use mcp::{Era, RpcError, Version};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tool::{
    Arguments, Context, ErrorKind, Extras, InputRequest, Outcome, Output, Question, Request, Structured,
    Target, Wanted,
};

/// What every MCP door does.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) gateway: Arc<Gateway>,
}

impl Door {
    /// Agrees on a version. The client's own `roots` and `sampling` are echoed: some clients look
    /// for them.
    pub(super) fn initialize(&self, cx: &Context, asked: &Initialize) -> (Version, String) {
        let version = Version::negotiate(&asked.protocol_version);
        let mut capabilities = capabilities();
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
        (version, self.with_instructions(cx, result))
    }

    /// With what the services have to say about their use.
    fn with_instructions(&self, cx: &Context, mut result: Value) -> String {
        if let Some(instructions) = self.gateway.instructions(cx) {
            result["instructions"] = instructions.into();
        }
        result.to_string()
    }

    fn discovered(&self, cx: &Context) -> String {
        let versions: Vec<_> = Version::ALL.iter().rev().map(|version| version.as_str()).collect();
        let result = json!({ "supportedVersions": versions, "capabilities": capabilities() });
        self.with_instructions(cx, result)
    }

    /// The answer to what needs no waiting.
    pub(super) fn answer_now(&self, cx: &Context, era: Era, asked: &Asked) -> Option<Answered<String>> {
        let result = match asked {
            Asked::Discover => Ok(self.discovered(cx)),
            Asked::Ping | Asked::SetLevel(_) => Ok("{}".to_owned()),
            Asked::Tools { cursor } => lists::tools(&self.gateway, cx, cursor.as_deref()),
            Asked::Shelf { shelf, cursor } => lists::shelf(&self.gateway, cx, *shelf, cursor.as_deref()),
            Asked::Initialize(_)
            | Asked::Call(_)
            | Asked::Get(..)
            | Asked::Watch(_)
            | Asked::Unwatch(_)
            | Asked::Listen(_) => return None,
        };
        Some(result.map(|result| for_era(era, result, Cache::Private)))
    }

    /// The answer to what a service has to be asked for.
    pub(super) async fn answer(&self, cx: &Context, version: Version, asked: Asked) -> Answered<String> {
        match asked {
            Asked::Call(call) => self.call(cx, version, call).await,
            Asked::Get(wanted, extras) => self.get(cx, version, wanted, extras).await,
            other => self
                .answer_now(cx, version.era(), &other)
                .unwrap_or_else(|| Err(RpcError::new(-32603, "this door does not do that"))),
        }
    }

    async fn call(&self, cx: &Context, version: Version, call: CallTool) -> Answered<String> {
        let arguments = call.arguments.map(Arguments::from_raw).transpose();
        let arguments =
            arguments.map_err(|error| RpcError::invalid_params(format!("Invalid params: {error}")))?;
        let request = Request {
            target: Target::Name(call.name),
            arguments: arguments.unwrap_or_default(),
            extras: call.extras,
        };
        let result = match self.gateway.call(cx, request).await {
            Ok(Outcome::Done(output)) => output.into_result(structured_for(version)),
            Ok(Outcome::Started(run)) => Output::text(&format!("started as {run}")).to_result(),
            Ok(Outcome::NeedsInput(request)) if version.era() == Era::Modern => input_required(&request),
            Ok(Outcome::NeedsInput(_)) => {
                let text = "the tool asks something that the calling program cannot be asked";
                Output::text(text).failed().to_result()
            }
            Err(error) => match failure_of_call(&error, version) {
                Failure::Error(error) => return Err(error),
                Failure::Result(text) => Output::text(&text).failed().to_result(),
            },
        };
        Ok(for_era(version.era(), result, Cache::No))
    }

    async fn get(&self, cx: &Context, version: Version, wanted: Wanted, extras: Extras) -> Answered<String> {
        let cache = match wanted {
            Wanted::Resource { .. } => Cache::Private,
            Wanted::Prompt { .. } | Wanted::Completion { .. } => Cache::No,
        };
        match self.gateway.get(cx, wanted, extras).await {
            Ok(result) => Ok(for_era(version.era(), result.get().to_owned(), cache)),
            Err(error) => Err(refusal_of_get(&error, version)),
        }
    }
}

/// Until 2025-11-25 structured content was an object, and strict clients refuse anything else.
fn structured_for(version: Version) -> Structured {
    match version.era() {
        Era::Legacy => Structured::Objects,
        Era::Modern => Structured::Anything,
    }
}

/// What we can do, whatever services are there at the moment.
fn capabilities() -> Map<String, serde_json::Value> {
    let capabilities = json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
        "completions": {},
        "logging": {},
    });
    capabilities.as_object().cloned().unwrap_or_default()
}

/// The result as clients of this era expect it.
fn for_era(era: Era, result: String, cache: Cache) -> String {
    match era {
        Era::Legacy => result,
        Era::Modern => modern::complete(&result, SERVER_INFO, cache),
    }
}

pub(super) const SERVER_INFO: &str =
    concat!("{\"name\":\"mcp-all-in-one\",\"version\":\"", env!("CARGO_PKG_VERSION"), "\"}");

/// How a document or prompt that could not be had is told; its service's own words go first.
fn refusal_of_get(error: &tool::Error, version: Version) -> RpcError {
    /// What versions with a handshake say of a resource that is not there.
    const NO_RESOURCE: i32 = -32002;
    let uri = error.resource();
    if error.kind() == ErrorKind::NotFound {
        let code = if uri.is_some() && version.era() == Era::Legacy { NO_RESOURCE } else { -32602 };
        return RpcError {
            data: uri.map(|uri| json!({ "uri": uri }).into()),
            ..RpcError::new(code, error.message())
        };
    }
    match failure_of_call(error, version) {
        Failure::Error(mut refused) => {
            if refused.code == NO_RESOURCE && version.era() == Era::Modern {
                refused.code = -32602;
            }
            refused
        }
        Failure::Result(text) => RpcError::new(-32603, text),
    }
}

/// What a tool asks, as a result: in the words of its service, where it is an MCP server.
fn input_required(request: &InputRequest) -> String {
    if let Some(original) = &request.original {
        return original.get().to_owned();
    }
    let question = |(name, question): &(String, Question)| {
        let params = question.params.as_deref().map_or("{}", RawValue::get);
        let method = mcp::client::method_of(question.ability);
        format!("{}:{{\"method\":\"{method}\",\"params\":{params}}}", Value::from(name.as_str()))
    };
    let questions: Vec<_> = request.questions.iter().map(question).collect();
    let state = request
        .state
        .as_deref()
        .map_or_else(String::new, |state| format!(",\"requestState\":{}", state.get()));
    format!("{{\"resultType\":\"input_required\",\"inputRequests\":{{{}}}{state}}}", questions.join(","))
}

/// Questions that a service of ours has for a client, as the outcome of its request.
pub(super) fn questions(method: &str, params: Option<&RawValue>, name: &str, state: &str) -> String {
    let params = params.map_or("{}", RawValue::get);
    let questions = format!(
        "{{\"resultType\":\"input_required\",\"inputRequests\":{{\"{name}\":{{\"method\":\"{method}\",\"params\":{params}}}}},\"requestState\":\"{state}\"}}"
    );
    modern::complete(&questions, SERVER_INFO, Cache::No)
}
