//! `/approvals`: what runs ask people, and what they decide.

use super::view::{Mask, RunSummary};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Page, Paging, Path};
use crate::manage::time;
use axum::Json as Answer;
use axum::extract::State;
use flow::engine::{Decision, Waiting};
use runtime::Flows;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::PageRequest;
use store::runs::{Wait, WaitFilter};
use tool::schema::Schema;
use tool::{Scope, TenantId};
use utoipa::ToSchema;

/// As many as are looked at for those who see some of them.
const MOST: u32 = 1000;

#[derive(Serialize, ToSchema)]
pub(in crate::manage) struct ApprovalView {
    id: String,
    run_id: String,
    /// The node, e.g. `ok`.
    path: String,
    /// What is to be approved.
    #[schema(value_type = Value)]
    title: Value,
    /// What is to be filled in, as a JSON Schema.
    #[schema(value_type = Option<Object>)]
    fields: Option<Value>,
    /// Who may decide: `managers`, or names and ids of users and keys.
    #[schema(value_type = Value)]
    by: Value,
    asked_at: String,
    /// Until when.
    until: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ApprovalDecision)]
pub(in crate::manage) struct Decide {
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

/// What is asked of somebody.
struct Asked {
    wait: Wait,
    title: Value,
    fields: Option<Value>,
    by: Value,
}

impl Asked {
    async fn of(state: &Shared, signed_in: &SignedIn, wait: Wait) -> Result<Self> {
        match state.flows.asked(&signed_in.tenant, &wait).await? {
            Some(Waiting::Approval { title, fields, by, .. }) => {
                let title = hide(state, &signed_in.tenant, &wait, title).await?;
                Ok(Self { wait, title, fields, by })
            }
            _ => Err(Problem::not_found("approval")),
        }
    }

    /// Whether this caller is among those who may decide.
    fn is_for(&self, signed_in: &SignedIn) -> bool {
        let caller = &signed_in.caller;
        let is_meant = |by: &str| match by {
            "managers" | "manager" => caller.may(Scope::Manage),
            by => caller.may(Scope::Call) && (by == caller.name || by == caller.identity.id()),
        };
        match &self.by {
            Value::String(by) => is_meant(by),
            Value::Array(all) => all.iter().filter_map(Value::as_str).any(is_meant),
            _ => caller.may(Scope::Manage),
        }
    }

    fn show(self) -> ApprovalView {
        ApprovalView {
            id: self.wait.id,
            run_id: self.wait.run.into(),
            path: self.wait.path,
            title: self.title,
            fields: self.fields,
            by: self.by,
            asked_at: time::show(self.wait.opened_at),
            until: self.wait.until.map(time::show),
        }
    }
}

/// The title without what is secret in its run.
async fn hide(state: &Shared, tenant: &TenantId, wait: &Wait, title: Value) -> Result<Value> {
    if !Flows::is_sealed(wait) {
        return Ok(title);
    }
    let run = state.store.runs().get(tenant, &wait.run).await?;
    let data = state.store.runs().data(&run.tenant, &run.id).await?;
    Ok(Mask::of(state, &run, &data).await.value(title))
}

/// Lists what waits for a decision, oldest first; those who only call see what is asked of them.
#[utoipa::path(get, path = "/approvals", tag = "runs",
    params(("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<ApprovalView>)))]
pub(in crate::manage) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Paging(page): Paging,
) -> Result<Answer<Page<ApprovalView>>> {
    signed_in.may_read()?;
    let filter = WaitFilter { run: None, kind: Some("approval".into()) };
    let is_limited = signed_in.only_own().is_some();
    let wanted = if is_limited { PageRequest { page: 1, limit: MOST } } else { page };
    let found = state.store.runs().waits(&signed_in.tenant, &filter, wanted).await?;
    let (total, mut asked) = (found.total, Vec::new());
    for wait in found.items {
        asked.push(Asked::of(&state, &signed_in, wait).await?);
    }
    if is_limited {
        asked.retain(|asked| asked.is_for(&signed_in));
        return Ok(Answer(Page::cut(asked, page, Asked::show)));
    }
    let items = asked.into_iter().map(Asked::show).collect();
    Ok(Answer(Page { items, page: page.page, limit: page.limit, total }))
}

/// Decides, and answers with the run; the first decision counts, any other is a conflict.
#[utoipa::path(post, path = "/approvals/{approval_id}", tag = "runs", params(("approval_id" = String, Path)),
    request_body = Decide, responses((status = 200, body = RunSummary), (status = 403), (status = 404), (status = 409), (status = 422)))]
pub(in crate::manage) async fn decide(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
    Json(body): Json<Decide>,
) -> Result<Answer<RunSummary>> {
    signed_in.may_read()?;
    let wait = state.store.runs().wait(&signed_in.tenant, &id).await?;
    let asked = Asked::of(&state, &signed_in, wait).await?;
    if !asked.is_for(&signed_in) {
        // Whoever may not even see the run learns nothing of it.
        super::find(&state, &signed_in, &asked.wait.run).await?;
        return Err(Problem::forbidden(format!(
            "{} may not decide this; it is asked of others",
            signed_in.caller.name
        )));
    }
    let is_approved = body.decision == Word::Approve;
    if let Some(fields) = asked.fields.as_ref().filter(|_| is_approved) {
        check(fields, &body.data)?;
    }
    let decision =
        Decision { is_approved, by: signed_in.caller.name.clone(), comment: body.comment, data: body.data };
    state.flows.decide(&signed_in.tenant, &asked.wait, decision).await?;
    let run = state.store.runs().get(&signed_in.tenant, &asked.wait.run).await?;
    Ok(Answer(run.into()))
}

fn check(fields: &Value, data: &Value) -> Result<()> {
    let schema = Schema::compile(fields, "field")?;
    match schema.check(data) {
        problems if problems.is_empty() => Ok(()),
        problems => Err(Problem::invalid(
            problems
                .into_iter()
                .map(|problem| tool::Problem { path: format!("data.{}", problem.path), ..problem })
                .collect(),
        )),
    }
}
