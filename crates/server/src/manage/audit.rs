//! `/audit`: who called what, and what became of it.

use super::csv;
use super::time;
use super::words;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Page, Paging, Query};
use axum::Json as Answer;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures::stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;
use store::{AuditKind, AuditRow, Filter};
use tool::RunId;
use utoipa::ToSchema;

/// Whoever asks sees the calls that have ended before, unless the audit is far behind.
pub(super) const FLUSH: Duration = Duration::from_secs(1);

#[derive(Serialize, ToSchema)]
pub(super) struct AuditView {
    id: String,
    /// `call` or `management`.
    #[schema(value_type = String, example = "call")]
    kind: &'static str,
    at: String,
    tenant: String,
    caller: String,
    /// The name of the key or the user, as it was; nothing for records of older versions.
    caller_name: Option<String>,
    caller_kind: String,
    door: String,
    /// The tool; of management, the method and the path.
    tool: String,
    /// The tool's URI with the options of the call.
    uri: Option<String>,
    service: Option<String>,
    /// The arguments with secrets redacted; of management, `before` and `after`.
    arguments: Value,
    #[schema(value_type = words::CallStatus)]
    status: String,
    code: Option<String>,
    message: Option<String>,
    duration_us: i64,
    request_id: String,
    trace_id: Option<String>,
    result_bytes: i64,
    /// The request that made the call, where a flow or an agent did.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_request_id: Option<String>,
    /// The run that the call is a part of, or that it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    /// The same; older clients know it by this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<String>,
    /// The node of the run that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// The agent whose model has chosen the call; of the call of an agent itself, the one that has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// At which model call of the run that was, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    /// `call_tool` where the tool was called through that.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<String>,
    /// Of an agent: tokens, cost, model calls and tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    usage: Option<Value>,
}

impl AuditView {
    pub(super) fn new(kind: AuditKind, row: AuditRow<'_>) -> Self {
        let some = |text: Cow<'_, str>| Some(text.into_owned()).filter(|text| !text.is_empty());
        let details = row.details;
        Self {
            id: row.id.into_owned(),
            kind: kind.as_str(),
            at: time::show(row.at),
            tenant: row.tenant.into_owned(),
            caller: row.caller.into_owned(),
            caller_name: details.caller_name.map(Cow::into_owned),
            caller_kind: details.caller_kind.into_owned(),
            door: details.door.into_owned(),
            tool: row.tool.into_owned(),
            uri: some(details.uri),
            service: some(row.service),
            arguments: row.arguments.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
            status: row.status.into_owned(),
            code: details.code.map(Cow::into_owned),
            message: details.message.map(Cow::into_owned),
            duration_us: details.duration_us,
            request_id: details.request_id.into_owned(),
            trace_id: some(details.trace_id),
            result_bytes: details.result_bytes,
            parent_request_id: details.parent_request_id.map(Cow::into_owned),
            run: details.run_id.as_deref().map(str::to_owned),
            run_id: details.run_id.map(Cow::into_owned),
            node: details.node.map(Cow::into_owned),
            agent: details.agent.map(Cow::into_owned),
            step: details.step,
            via: details.via.map(Cow::into_owned),
            usage: details.usage.and_then(|text| serde_json::from_str(&text).ok()),
        }
    }
}

#[derive(Deserialize)]
pub(super) struct AuditQuery {
    kind: Option<String>,
    tool: Option<String>,
    service: Option<String>,
    caller: Option<String>,
    status: Option<String>,
    code: Option<String>,
    door: Option<String>,
    request_id: Option<String>,
    from: Option<String>,
    to: Option<String>,
    run: Option<RunId>,
    format: Option<String>,
}

impl AuditQuery {
    fn filter(&self) -> Result<Filter> {
        let kind = match self.kind.as_deref() {
            None | Some("call") => AuditKind::Call,
            Some("management") => AuditKind::Management,
            Some(other) => {
                let detail = format!("kind is 'call' or 'management', not '{other}'");
                return Err(Problem::bad_request(detail));
            }
        };
        if let Some(status) = self.status.as_deref().filter(|status| !words::CallStatus::is_one(status)) {
            let detail = format!("status is 'ok', 'error' or 'refused', not '{status}'");
            return Err(Problem::bad_request(detail));
        }
        Ok(Filter {
            kind,
            tool: self.tool.clone(),
            service: self.service.clone(),
            caller: self.caller.clone(),
            status: self.status.clone(),
            code: self.code.clone(),
            door: self.door.clone(),
            request_id: self.request_id.clone(),
            from: self.from.as_deref().map(|text| time::parse("from", text)).transpose()?,
            to: self.to.as_deref().map(|text| time::parse("to", text)).transpose()?,
            run: self.run.clone(),
        })
    }
}

/// Lists calls, newest first; those who do not manage see their own.
#[utoipa::path(get, path = "/audit", tag = "audit",
    params(("kind" = inline(Option<words::AuditKind>), Query, description = "`call` unless given; `management`: who changed what"),
        ("tool" = Option<String>, Query), ("service" = Option<String>, Query), ("caller" = Option<String>, Query),
        ("status" = inline(Option<words::CallStatus>), Query), ("code" = Option<String>, Query),
        ("door" = Option<String>, Query, description = "`rest`, `mcp`, …, or the id of an MCP instance"),
        ("request_id" = Option<String>, Query), ("from" = Option<String>, Query), ("to" = Option<String>, Query),
        ("run" = Option<String>, Query), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<AuditView>)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<AuditQuery>,
    Paging(page): Paging,
) -> Result<Answer<Page<AuditView>>> {
    signed_in.may_read()?;
    state.gateway.audit().flush(FLUSH).await;
    let mut filter = query.filter()?;
    if signed_in.may_manage().is_err() {
        if filter.kind != AuditKind::Call {
            return Err(Problem::forbidden("only those who manage a tenant see who changed what"));
        }
        let own = signed_in.caller.identity.id();
        if filter.caller.as_deref().is_some_and(|caller| caller != own) {
            return Err(Problem::forbidden("only those who manage a tenant see calls of others"));
        }
        filter.caller = Some(own.to_owned());
    }
    let found = state.store.audit().query(&signed_in.tenant, &filter, page).await?;
    Ok(Answer(Page::of(found, |row| AuditView::new(filter.kind, row))))
}

/// Streams all calls that fit, oldest first.
#[utoipa::path(get, path = "/audit/export", tag = "audit",
    params(("format" = inline(Option<words::AuditFormat>), Query),
        ("kind" = inline(Option<words::AuditKind>), Query, description = "`call` unless given"), ("tool" = Option<String>, Query),
        ("service" = Option<String>, Query), ("caller" = Option<String>, Query), ("status" = inline(Option<words::CallStatus>), Query),
        ("code" = Option<String>, Query), ("door" = Option<String>, Query), ("request_id" = Option<String>, Query),
        ("from" = Option<String>, Query), ("to" = Option<String>, Query), ("run" = Option<String>, Query)),
    responses((status = 200, content((String = "application/x-ndjson"), (String = "text/csv")))))]
pub(super) async fn export(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<AuditQuery>,
) -> Result<Response> {
    signed_in.may_manage()?;
    let (head, line, content_type, name): (_, fn(&AuditView) -> String, _, _) =
        match query.format.as_deref().unwrap_or("jsonl") {
            "csv" => (csv_head(), csv_line, "text/csv; charset=utf-8", "audit.csv"),
            "jsonl" => (String::new(), json_line, "application/x-ndjson", "audit.jsonl"),
            other => return Err(Problem::bad_request(format!("format is 'csv' or 'jsonl', not '{other}'"))),
        };
    state.gateway.audit().flush(FLUSH).await;
    let filter = query.filter()?;
    let kind = filter.kind;
    let export = state.store.audit().export(&signed_in.tenant, filter);
    let rows = stream::try_unfold(export, move |mut export| async move {
        let Some(rows) = export.next().await? else { return Ok::<_, store::Error>(None) };
        let text: String = rows.into_iter().map(|row| line(&AuditView::new(kind, row))).collect();
        Ok(Some((text, export)))
    });
    let head = stream::iter((!head.is_empty()).then_some(Ok(head)));
    let body = Body::from_stream(futures::StreamExt::chain(head, rows));
    let attachment = format!("attachment; filename=\"{name}\"");
    Ok(([(CONTENT_TYPE, content_type.to_owned()), (CONTENT_DISPOSITION, attachment)], body).into_response())
}

fn json_line(view: &AuditView) -> String {
    let mut line = serde_json::to_string(view).unwrap_or_default();
    line.push('\n');
    line
}

const COLUMNS: [&str; 23] = [
    "id",
    "at",
    "tenant",
    "caller",
    "caller_kind",
    "door",
    "tool",
    "uri",
    "service",
    "arguments",
    "status",
    "code",
    "message",
    "duration_us",
    "request_id",
    "trace_id",
    "result_bytes",
    "kind",
    "caller_name",
    "run",
    "agent",
    "step",
    "usage",
];

fn csv_head() -> String {
    csv::line(COLUMNS.iter().map(|column| (*column).to_owned()))
}

fn csv_line(view: &AuditView) -> String {
    let fields = serde_json::to_value(view).unwrap_or_default();
    csv::line(COLUMNS.iter().map(|column| match &fields[*column] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }))
}
