//! `/approvals`: what runs ask people, and what they decide.

use super::runs::rights::{may_touch_run, sees};
use super::runs::view::RunSummary;
use super::time;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path};
use axum::Json as Answer;
use axum::extract::State;
use flow::engine::Decision;
use runtime::flows::Approval;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use store::PageRequest;
use store::runs::WaitFilter;
use tool::Scope;
use utoipa::ToSchema;

/// As many as are looked at for those who see some of them.
const MOST: u32 = 1000;

#[derive(Serialize, ToSchema)]
pub(super) struct ApprovalView {
    id: String,
    run_id: String,
    /// The node, e.g. `ok`.
    path: String,
    /// What is to be approved.
    title: ApprovalTitle,
    /// What is to be filled in, as a JSON Schema.
    #[schema(value_type = Option<Object>)]
    fields: Option<Value>,
    /// Who may decide.
    by: ApprovalBy,
    asked_at: String,
    /// Until when.
    until: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum ApprovalTitle {
    /// In words, as the flow has them.
    Text(String),
    /// Of an agent: its call, with `agent`, `tool`, `uri` and `arguments`. Of a flow: what its expression gives.
    #[schema(value_type = std::collections::HashMap<String, Value>)]
    Call(Map<String, Value>),
}

impl From<Value> for ApprovalTitle {
    fn from(title: Value) -> Self {
        match title {
            Value::String(text) => Self::Text(text),
            Value::Object(call) => Self::Call(call),
            other => Self::Text(other.to_string()),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum ApprovalBy {
    /// `managers`, or the name or id of a user or key.
    One(String),
    /// Any of these.
    Any(Vec<String>),
    /// Every manager but the one with this id.
    Managers { except: String },
}

impl From<Value> for ApprovalBy {
    fn from(by: Value) -> Self {
        match by {
            Value::String(one) => Self::One(one),
            Value::Array(any) => Self::Any(any.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
            by => match by["except"].as_str() {
                Some(except) => Self::Managers { except: except.to_owned() },
                None => Self::One("managers".to_owned()),
            },
        }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApprovalDecision)]
pub(super) struct Decide {
    decision: Word,
    comment: Option<String>,
    /// As `fields` says.
    #[serde(default)]
    data: Value,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Word {
    Approve,
    Reject,
}

fn show(approval: Approval) -> ApprovalView {
    let Approval { wait, title, fields, by, .. } = approval;
    ApprovalView {
        id: wait.id,
        run_id: wait.run.into(),
        path: wait.path,
        title: title.into(),
        fields,
        by: by.into(),
        asked_at: time::show(wait.opened_at),
        until: wait.until.map(time::show),
    }
}

/// Lists what waits for a decision, oldest first; those who only call see what is asked of them, nobody flows beyond their allow-list, and what others ask agents is for managers.
#[utoipa::path(get, path = "/approvals", tag = "runs",
    params(("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<ApprovalView>)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Paging(page): Paging,
) -> Result<Answer<Page<ApprovalView>>> {
    signed_in.may_read()?;
    let filter = WaitFilter { run: None, kind: Some("approval".into()) };
    let is_limited = !signed_in.caller.may(Scope::Manage) || !signed_in.caller.allow.is_empty();
    let wanted = if is_limited { PageRequest { page: 1, limit: MOST } } else { page };
    let found = state.store.runs().waits(&signed_in.tenant, &filter, wanted).await?;
    let (total, mut asked) = (found.total, Vec::new());
    for wait in found.items {
        let run = match is_limited {
            true => Some(state.store.runs().get(&signed_in.tenant, &wait.run).await?),
            false => None,
        };
        if run.as_ref().is_some_and(|run| may_touch_run(&signed_in, run).is_err()) {
            continue;
        }
        let is_seen = run.is_none_or(|run| signed_in.only_own().is_none() && sees(&signed_in, &run));
        let approval = state.flows.approval(&signed_in.tenant, wait).await?;
        asked.extend(approval.filter(|asked| is_seen || asked.is_for(&signed_in.caller)));
    }
    if is_limited {
        return Ok(Answer(Page::cut(asked, page, show)));
    }
    let items = asked.into_iter().map(show).collect();
    Ok(Answer(Page { items, page: page.page, limit: page.limit, total }))
}

/// Decides, and answers with the run; the first decision counts, any other is a conflict.
#[utoipa::path(post, path = "/approvals/{approval_id}", tag = "runs", params(("approval_id" = String, Path)),
    request_body = Decide, responses((status = 200, body = RunSummary), (status = 403), (status = 404), (status = 409), (status = 422)))]
pub(super) async fn decide(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Json(body): Json<Decide>,
) -> Result<Answer<RunSummary>> {
    signed_in.may_read()?;
    let wait = state.store.runs().wait(&signed_in.tenant, &id).await?;
    let asked = state.flows.approval(&signed_in.tenant, wait).await?;
    let asked = asked.ok_or_else(|| Problem::not_found("approval"))?;
    if !asked.is_for(&signed_in.caller) {
        // Whoever may not even see the run learns nothing of it, nor that something is asked.
        let run = state.store.runs().get(&signed_in.tenant, &asked.wait.run).await?;
        if !sees(&signed_in, &run) {
            return Err(Problem::not_found("approval"));
        }
    }
    let run = state.store.runs().get(&signed_in.tenant, &asked.wait.run).await?;
    may_touch_run(&signed_in, &run)?;
    let is_approved = body.decision == Word::Approve;
    let decision =
        Decision { is_approved, by: signed_in.caller.name.clone(), comment: body.comment, data: body.data };
    state.flows.may_decide(&signed_in.tenant, &asked, &signed_in.caller, &decision).await?;
    state.flows.decide(&signed_in.tenant, &asked.wait, decision).await?;
    let run = state.store.runs().get(&signed_in.tenant, &asked.wait.run).await?;
    Ok(Answer(run.into()))
}
