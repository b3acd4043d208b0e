//! What an MCP client can ask, however its messages come and go, and what is remembered between two of them.

use super::input_required::InputRequired;
use super::outcome::{self, GoesOn, for_era};
use super::pending::PendingRequests;
use super::request::{Initialize, ServiceRequest};
use super::server_requests::ServerRequests;
use super::startup::Startup;
use super::subscriptions::{Subscriber, Subscriptions};
use super::{Answered, lists};
use gateway::Gateway;
use gateway::policy::Permit;
use mcp::modern::Cache;
use mcp::{Era, RpcError, Version};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tool::{Arguments, Context, ListKind, Reason, Request, Target, Wanted};

/// A door: one for all clients over HTTP of this replica, and one for each connection.
pub(crate) struct Door {
    /// Names the session of its client, where the session has no name of its own.
    pub(super) id: Arc<str>,
    pub(super) gateway: Arc<Gateway>,
    /// Calls go on until they have ended and are audited, whoever waits.
    pub(super) calls: TaskTracker,
    /// Fires when the door closes.
    pub(super) closing: CancellationToken,
    /// Requests wait for it, where services may still be starting.
    pub(super) startup: Option<Startup>,
    pub(super) pending: Arc<PendingRequests>,
    pub(super) server_requests: Arc<ServerRequests>,
    pub(super) input_required: InputRequired,
    pub(super) subscriptions: Subscriptions,
}

impl Door {
    /// The door over HTTP, behind which services have started.
    pub(crate) fn new(gateway: Arc<Gateway>, calls: TaskTracker, closing: CancellationToken) -> Self {
        Self {
            id: tool::new_id(),
            gateway,
            calls,
            closing,
            startup: None,
            pending: Arc::default(),
            server_requests: Arc::default(),
            input_required: InputRequired::default(),
            subscriptions: Subscriptions::default(),
        }
    }

    /// Agrees on a version. The client's own `roots` and `sampling` are echoed: some clients look
    /// for them.
    pub(super) fn initialize(&self, cx: &Context, asked: &Initialize) -> (Version, String) {
        let version = Version::negotiate(&asked.protocol_version);
        let mut capabilities = capabilities();
        if version == Version::V2025_11_25 && self.gateway.keeps_runs() {
            capabilities.insert("tasks".to_owned(), super::tasks::capability());
        }
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

    pub(super) fn discover(&self, cx: &Context, era: Era) -> String {
        let versions: Vec<_> = Version::ALL.iter().rev().map(|version| version.as_str()).collect();
        let mut capabilities = capabilities();
        capabilities.insert("extensions".to_owned(), json!({ super::tasks::EXTENSION: {} }));
        let result = json!({ "supportedVersions": versions, "capabilities": capabilities });
        for_era(era, self.with_instructions(cx, result), Cache::Private)
    }

    pub(super) fn list_tools(&self, cx: &Context, era: Era, cursor: Option<&str>) -> Answered<String> {
        Ok(for_era(era, lists::tools(&self.gateway, cx, era, cursor)?, Cache::Private))
    }

    pub(super) fn list(
        &self,
        cx: &Context,
        era: Era,
        kind: ListKind,
        cursor: Option<&str>,
    ) -> Answered<String> {
        Ok(for_era(era, lists::list(&self.gateway, cx, kind, cursor)?, Cache::Private))
    }

    /// Subscribes a session to a resource.
    pub(super) async fn subscribe(&self, cx: &Context, session: &str, uri: String) -> Answered<String> {
        let _permit = self.admit(cx)?;
        let watch = self.gateway.watch(cx, &uri).await;
        let watch = watch.map_err(|error| match error.reason() {
            // It was asked for something that it has said nothing of; the uri is not to blame.
            Some(Reason::UnknownOperation) => RpcError::new(
                -32601,
                format!("the server of '{uri}' has no 'resources/subscribe': it does not tell when a resource changes"),
            ),
            _ => RpcError::invalid_params(error.in_words()),
        })?;
        let by = Subscriber { session, tenant: &cx.tenant, caller: &cx.caller.identity };
        self.subscriptions.add(by, uri, watch)?;
        Ok("{}".to_owned())
    }

    /// Lets in what asks to be told of resources, within the limits of calls.
    pub(super) fn admit(&self, cx: &Context) -> Answered<Permit> {
        self.gateway.admit(cx).map_err(|error| RpcError::new(-32603, error.in_words()))
    }

    /// Ends a subscription; there need not be one.
    pub(super) fn unsubscribe(&self, session: &str, uri: &str) -> Answered<String> {
        self.subscriptions.remove(session, uri);
        Ok("{}".to_owned())
    }

    /// The result of what a service has to be asked for.
    pub(super) async fn answer(
        &self,
        cx: &Context,
        version: Version,
        goes_on: GoesOn,
        request: ServiceRequest,
    ) -> Answered<String> {
        match request {
            ServiceRequest::CallTool(mut call) => {
                let is_task = self.is_asked_as_task(cx, version, &mut call)?;
                let goes_on = if is_task { GoesOn::AskedTask } else { goes_on };
                let arguments = call.arguments.map(Arguments::from_raw).transpose();
                let arguments = arguments
                    .map_err(|error| RpcError::invalid_params(format!("Invalid params: {error}")))?
                    .unwrap_or_default();
                let request = Request { target: Target::Name(call.name), arguments, extras: call.extras };
                outcome::of_call(self.gateway.call(cx, request).await, version, goes_on)
            }
            ServiceRequest::TaskResult(id, _) => self.task_result(cx, &id).await,
            ServiceRequest::Get(wanted, extras) => {
                let cache = match wanted {
                    Wanted::Resource { .. } => Cache::Private,
                    Wanted::Prompt { .. } | Wanted::Completion { .. } => Cache::No,
                };
                match self.gateway.get(cx, wanted, extras).await {
                    Ok(result) => Ok(outcome::of_get(&result, version, cache)),
                    Err(error) => Err(outcome::refusal_of_get(&error, version)),
                }
            }
        }
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
