//! The server that the official conformance suite asks for, on rmcp: `conformance_server stdio|PORT [legacy|modern]`.
//!
//! It passes the suite by itself, so that what fails with the gateway in between is the gateway's.
//! Port 0 takes a free one; the URL is the first line on stdout. Without `legacy` or `modern` it
//! speaks all versions.

#![expect(deprecated, reason = "sampling, roots and logging are part of what is tested")]

mod changes;
mod content;
mod input;
mod tasks;
mod tools;

use changes::{Changes, Session};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// The server as one session sees it.
#[derive(Default)]
struct Fixture {
    session: Arc<Session>,
    changes: Arc<Changes>,
    seals: Arc<input::Seals>,
    tasks: TaskManager,
    eras: Eras,
}

/// Which versions are spoken.
#[derive(Clone, Copy, Default)]
enum Eras {
    #[default]
    Both,
    Legacy,
    Modern,
}

impl Fixture {
    fn of(eras: Eras) -> Self {
        Self { eras, ..Self::default() }
    }

    /// The same server for another session.
    fn again(&self) -> Self {
        Self {
            session: Arc::default(),
            changes: self.changes.clone(),
            seals: self.seals.clone(),
            tasks: self.tasks.clone(),
            eras: self.eras,
        }
    }
}

/// What the library reads out of JSON: shorter to write, and checked by every run of the suite.
fn model<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fixture spells the protocol right")
}

/// A result that is complete; the library takes the word out again for versions that do not know it.
fn result<T: DeserializeOwned>(mut value: Value) -> T {
    value["resultType"] = "complete".into();
    model(value)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let fixture = Fixture::of(match arguments.get(1).map(String::as_str) {
        Some("legacy") => Eras::Legacy,
        Some("modern") => Eras::Modern,
        _ => Eras::Both,
    });
    match arguments.first().map(String::as_str) {
        Some("stdio") => drop(fixture.serve(rmcp::transport::stdio()).await?.waiting().await?),
        Some(port) => listen(fixture, port.parse()?).await?,
        None => return Err("usage: conformance_server stdio|PORT [legacy|modern]".into()),
    }
    Ok(())
}

async fn listen(fixture: Fixture, port: u16) -> Result<(), Box<dyn std::error::Error>> {
    let settings = StreamableHttpServerConfig::default()
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*"]);
    let service = StreamableHttpService::new(
        move || Ok(fixture.again()),
        Arc::new(LocalSessionManager::default()),
        settings,
    );
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    say(&format!("http://{}/mcp", listener.local_addr()?));
    axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the one line that the starter waits for")]
fn say(line: &str) {
    println!("{line}");
}

/// The client asks in each request as of 2026-07-28, and cannot be asked back but in the result.
fn is_modern(cx: &Context) -> bool {
    cx.protocol_version().is_some_and(|version| version.as_str() >= "2026-07-28")
}

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        model(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": { "listChanged": true },
                "prompts": { "listChanged": true },
                "resources": { "listChanged": true, "subscribe": true },
                "completions": {},
                "logging": {},
                "extensions": { "io.modelcontextprotocol/tasks": {} }
            },
            "serverInfo": { "name": "conformance-fixture", "version": "1.0.0" },
            "instructions": "Answers the official conformance suite."
        }))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let all = ProtocolVersion::KNOWN_VERSIONS;
        let modern = all.iter().position(|version| *version == ProtocolVersion::V_2026_07_28);
        Cow::Borrowed(match (self.eras, modern) {
            (Eras::Legacy, Some(at)) => &all[..at],
            (Eras::Modern, Some(at)) => &all[at..],
            _ => all,
        })
    }

    async fn list_tools(&self, _: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        Ok(result(json!({ "tools": tools::all(self.changes.has_tool()) })))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all(true).into_iter().find(|tool| tool["name"] == name).map(model)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let is_modern = is_modern(&cx);
        let (mut responses, mut state) = (request.input_responses.unwrap_or_default(), request.request_state);
        loop {
            let call = tools::Call {
                name: &request.name,
                arguments: request.arguments.as_ref(),
                responses: &responses,
                state: state.as_deref(),
            };
            match call.run(self, &cx).await? {
                CallToolResponse::InputRequired(asked) if !is_modern => {
                    state = asked.request_state;
                    input::fetch(&cx, asked.input_requests.unwrap_or_default(), &mut responses).await?;
                }
                response => return Ok(response),
            }
        }
    }

    async fn list_prompts(&self, _: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        Ok(result(json!({ "prompts": content::prompts(self.changes.has_prompt()) })))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        cx: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut responses = request.input_responses.unwrap_or_default();
        loop {
            match content::prompt(&request.name, request.arguments.as_ref(), &responses)? {
                GetPromptResponse::InputRequired(asked) if !is_modern(&cx) => {
                    input::fetch(&cx, asked.input_requests.unwrap_or_default(), &mut responses).await?;
                }
                response => return Ok(response),
            }
        }
    }

    async fn list_resources(&self, _: Page, _: Context) -> Result<ListResourcesResult, ErrorData> {
        Ok(result(json!({ "resources": content::resources() })))
    }

    async fn list_resource_templates(
        &self,
        _: Page,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(result(json!({ "resourceTemplates": content::templates() })))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        content::read(&request.uri)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let typed = &request.argument.value;
        let values: Vec<_> = ["paris", "park", "party", "test"]
            .into_iter()
            .filter(|value| value.starts_with(typed.as_str()))
            .collect();
        let total = values.len();
        Ok(result(json!({ "completion": { "values": values, "total": total, "hasMore": false } })))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        self.session.set_level(request.level);
        Ok(())
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        self.session.begin(cx.peer);
        self.changes.add(&self.session);
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        // What cannot be read cannot change either.
        content::read(&request.uri)?;
        self.session.subscribe(&request.uri);
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.session.unsubscribe(&request.uri);
        Ok(())
    }

    async fn get_task(&self, request: GetTaskParams, _: Context) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.tasks.get_task(&request.task_id)?))
    }

    async fn update_task(&self, request: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, cx: SubscriptionContext) -> Result<(), ErrorData> {
        self.changes.relay(&cx).await;
        Ok(())
    }
}
