//! Requests of clients, read once: method and params become one of these.

use super::Answered;
use super::tasks::{self, TaskRequest};
use gateway::{CALL_TOOL, named_by_call_tool};
use mcp::{Era, Message, RpcError, Version, envelope};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use tool::{Extras, Fields, ListKind, Reference, RunId, Wanted, plain};

/// A request of a client, other than the handshake.
pub(super) enum Request {
    /// What there is, without a handshake.
    Discover,
    Ping,
    /// The least grave log entries to be heard, as a place in `LEVELS`.
    SetLevel(usize),
    ListTools {
        cursor: Option<String>,
    },
    List {
        kind: ListKind,
        cursor: Option<String>,
    },
    Subscribe(String),
    Unsubscribe(String),
    Listen(Filter),
    /// About work that goes on after its call was answered.
    Task(TaskRequest),
    Service(ServiceRequest),
}

/// What a service has to be asked for.
pub(super) enum ServiceRequest {
    CallTool(CallTool),
    Get(Wanted, Extras),
    /// The result of a call that became a task, whenever that comes.
    TaskResult(RunId, Extras),
}

/// The handshake.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initialize {
    pub(super) protocol_version: String,
    #[serde(default)]
    pub(super) capabilities: Map<String, Value>,
}

pub(super) struct CallTool {
    pub(super) name: String,
    pub(super) arguments: Option<Box<RawValue>>,
    pub(super) extras: Extras,
}

impl CallTool {
    /// The tool that is meant, which may be called through another.
    pub(super) fn meant(&self) -> Cow<'_, str> {
        let through = self.arguments.as_ref().filter(|_| self.name == CALL_TOOL);
        through.and_then(|raw| named_by_call_tool(raw)).map_or(Cow::Borrowed(&self.name), Cow::Owned)
    }
}

/// What a client wants to hear of.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Filter {
    #[serde(default)]
    pub(super) tools_list_changed: bool,
    #[serde(default)]
    pub(super) prompts_list_changed: bool,
    #[serde(default)]
    pub(super) resources_list_changed: bool,
    #[serde(default)]
    pub(super) resource_subscriptions: Vec<String>,
}

impl Filter {
    /// Everything about lists, as clients with a handshake hear it.
    pub(super) fn all_lists() -> Self {
        Self {
            tools_list_changed: true,
            prompts_list_changed: true,
            resources_list_changed: true,
            resource_subscriptions: Vec::new(),
        }
    }
}

#[derive(Deserialize)]
struct ListParams {
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct ResourceParams {
    uri: String,
}

#[derive(Deserialize)]
struct ListenParams {
    notifications: Filter,
}

/// As grave as log entries get, least first.
pub(super) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl Request {
    /// Reads a request of this version.
    pub(super) fn read(version: Version, method: &str, message: &Message<'_>) -> Answered<Self> {
        match (method, version.era()) {
            ("tools/call", _) => call(message),
            ("tools/list", _) => Ok(Self::ListTools { cursor: message.params::<ListParams>()?.cursor }),
            ("prompts/list", _) => list(ListKind::Prompts, message),
            ("resources/list", _) => list(ListKind::Resources, message),
            ("resources/templates/list", _) => list(ListKind::Templates, message),
            ("resources/read" | "prompts/get" | "completion/complete", _) => get(method, message),
            ("ping", Era::Legacy) => Ok(Self::Ping),
            ("logging/setLevel", Era::Legacy) => set_level(message),
            ("resources/subscribe", Era::Legacy) => {
                Ok(Self::Subscribe(message.params::<ResourceParams>()?.uri))
            }
            ("resources/unsubscribe", Era::Legacy) => {
                Ok(Self::Unsubscribe(message.params::<ResourceParams>()?.uri))
            }
            ("server/discover", Era::Modern) => Ok(Self::Discover),
            ("subscriptions/listen", Era::Modern) => {
                Ok(Self::Listen(message.params::<ListenParams>()?.notifications))
            }
            ("tasks/get" | "tasks/update" | "tasks/cancel", Era::Modern) => {
                TaskRequest::read(method, message).map(Self::Task)
            }
            ("tasks/get" | "tasks/cancel", Era::Legacy) if version == Version::V2025_11_25 => {
                TaskRequest::read(method, message).map(Self::Task)
            }
            ("tasks/result", Era::Legacy) if version == Version::V2025_11_25 => {
                let id = tasks::read_id(message)?;
                Ok(Self::Service(ServiceRequest::TaskResult(id, Extras::default())))
            }
            _ => Err(RpcError::unknown_method(method)),
        }
    }
}

impl ServiceRequest {
    /// What is asked for, to be compared when it is asked again.
    pub(super) fn subject(&self) -> String {
        match self {
            Self::CallTool(call) => ["tool ", &*call.meant()].concat(),
            Self::Get(Wanted::Resource { uri }, _) => format!("resource {uri}"),
            Self::Get(Wanted::Prompt { name, .. }, _) => format!("prompt {name}"),
            Self::Get(Wanted::Completion { .. }, _) => String::new(),
            Self::TaskResult(id, _) => format!("task {id}"),
        }
    }

    /// What the request carried besides what its method knows.
    pub(super) fn extras_mut(&mut self) -> &mut Extras {
        match self {
            Self::CallTool(call) => &mut call.extras,
            Self::Get(_, extras) | Self::TaskResult(_, extras) => extras,
        }
    }
}

fn list(kind: ListKind, message: &Message<'_>) -> Answered<Request> {
    Ok(Request::List { kind, cursor: message.params::<ListParams>()?.cursor })
}

fn set_level(message: &Message<'_>) -> Answered<Request> {
    #[derive(Deserialize)]
    struct Level {
        level: String,
    }
    let level = message.params::<Level>()?.level;
    let unknown = || format!("Invalid params: 'level' is one of {}", LEVELS.join(", "));
    let place = LEVELS.iter().position(|name| *name == level);
    place.map(Request::SetLevel).ok_or_else(|| RpcError::invalid_params(unknown()))
}

fn call(message: &Message<'_>) -> Answered<Request> {
    let mut params = Params::of(message)?;
    let name = params.text("name")?;
    let arguments = params.take("arguments");
    let call = CallTool { name, arguments, extras: params.rest() };
    Ok(Request::Service(ServiceRequest::CallTool(call)))
}

fn get(method: &str, message: &Message<'_>) -> Answered<Request> {
    let mut params = Params::of(message)?;
    let wanted = match method {
        "resources/read" => Wanted::Resource { uri: params.text("uri")? },
        "prompts/get" => Wanted::Prompt { name: params.text("name")?, arguments: params.take("arguments") },
        _ => Wanted::Completion {
            of: reference(&params.required("ref")?)?,
            argument: params.required("argument")?,
        },
    };
    Ok(Request::Service(ServiceRequest::Get(wanted, params.rest())))
}

fn reference(raw: &RawValue) -> Answered<Reference> {
    #[derive(Deserialize)]
    #[serde(tag = "type")]
    enum Written {
        #[serde(rename = "ref/prompt")]
        Prompt { name: String },
        #[serde(rename = "ref/resource")]
        Resource { uri: String },
    }
    // What is no object could be read by the places of its items.
    if !raw.get().starts_with('{') {
        return Err(RpcError::invalid_params("Invalid params: 'ref' must be an object"));
    }
    match serde_json::from_str(raw.get()) {
        Ok(Written::Prompt { name }) => Ok(Reference::Prompt(name)),
        Ok(Written::Resource { uri }) => Ok(Reference::Resource(uri)),
        Err(error) => {
            Err(RpcError::invalid_params(format!("Invalid params: 'ref': {}", plain(&error.to_string()))))
        }
    }
}

/// The fields of a request's params, each to be taken once.
struct Params<'a>(Fields<'a>);

impl<'a> Params<'a> {
    fn of(message: &Message<'a>) -> Answered<Self> {
        let Some(params) = message.params else { return Ok(Self(Fields::default())) };
        let fields = envelope::fields(params, &[])?;
        // What is checked here, and what is sent on, must be one and the same.
        if let Some(twice) = fields.twice() {
            let message = format!("Invalid params: '{twice}' is given twice; give it once");
            return Err(RpcError::invalid_params(message));
        }
        Ok(Self(fields))
    }

    fn take(&mut self, name: &str) -> Option<Box<RawValue>> {
        let at = self.0.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.0.remove(at).1.to_owned())
    }

    fn required(&mut self, name: &str) -> Answered<Box<RawValue>> {
        let missing = || RpcError::invalid_params(format!("Invalid params: missing field `{name}`"));
        self.take(name).ok_or_else(missing)
    }

    fn text(&mut self, name: &str) -> Answered<String> {
        let raw = self.required(name)?;
        envelope::text(name, &raw).map(Cow::into_owned)
    }

    fn rest(self) -> Extras {
        Extras(self.0.0.into_iter().map(|(key, value)| (key.into_owned(), value.to_owned())).collect())
    }
}
