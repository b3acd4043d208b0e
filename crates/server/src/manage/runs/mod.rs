//! `/runs`: what flows and agents do, and what people do about it.

pub(super) mod agent_events;
pub(super) mod bulk;
pub(super) mod events;
pub(super) mod fire;
pub(super) mod rights;
pub(super) mod start;
pub(super) mod steps;
pub(super) mod view;

use super::time;
use super::words;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::json::{Json, Page, Paging, Path, Query};
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use rights::{find, may_repeat, may_run_version, seen_by, steer};
use runtime::flows::{MAX_KEY_BYTES, Origin, Replay};
use serde::Deserialize;
use serde_json::{Map, Value};
use store::runs::RunFilter;
use tool::{Door, RunId, RunKind};
use utoipa::ToSchema;
use view::{RunSummary, RunView, show};

#[derive(Deserialize)]
pub(super) struct RunQuery {
    flow: Option<String>,
    agent: Option<String>,
    state: Option<store::runs::State>,
    from: Option<String>,
    to: Option<String>,
    parent: Option<RunId>,
}

impl RunQuery {
    async fn filter(self, state: &Shared, signed_in: &SignedIn) -> Result<RunFilter> {
        Ok(RunFilter {
            flow: self.agent.map(|agent| RunKind::Agent.uri(&agent).to_string()).or(self.flow),
            state: self.state,
            parent: self.parent,
            from: self.from.as_deref().map(|text| time::parse("from", text)).transpose()?,
            to: self.to.as_deref().map(|text| time::parse("to", text)).transpose()?,
            ..seen_by(state, signed_in).await?
        })
    }
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RunReplay)]
pub(super) struct ReplayBody {
    /// The node to begin with; what ended before it is copied. From the start unless given.
    from: Option<String>,
    /// A published version; that of the run unless given.
    version: Option<i64>,
    /// Those of the run unless given.
    #[schema(value_type = Option<Object>)]
    inputs: Option<Map<String, Value>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RunSignal)]
pub(super) struct SignalBody {
    /// For waits with this key, and those without one; left out, only for those without one. Any JSON, as the expression in
    /// the flow gives it, of at most 512 bytes.
    #[serde(default)]
    key: Option<Value>,
    /// What the wait gives: any JSON.
    #[serde(default)]
    data: Value,
}

/// Lists runs, newest first; those who only call see their own, those with an allow-list what is on it, and runs of agents are for whoever asked and for managers.
#[utoipa::path(get, path = "/runs", tag = "runs",
    params(("flow" = Option<String>, Query), ("agent" = Option<String>, Query), ("state" = inline(Option<words::RunState>), Query),
        ("from" = Option<String>, Query), ("to" = Option<String>, Query), ("parent" = Option<String>, Query),
        ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<RunSummary>)))]
pub(super) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Query(query): Query<RunQuery>,
    Paging(page): Paging,
) -> Result<Answer<Page<RunSummary>>> {
    signed_in.may_read()?;
    let filter = query.filter(&state, &signed_in).await?;
    let found = state.store.runs().list(&signed_in.tenant, &filter, page).await?;
    Ok(Answer(Page::of(found, RunSummary::from)))
}

/// One run: where it stands, what it gave, what it waits for.
#[utoipa::path(get, path = "/runs/{run_id}", tag = "runs", params(("run_id" = String, Path)),
    responses((status = 200, body = RunView), (status = 404)))]
pub(super) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<RunId>,
) -> Result<Answer<RunView>> {
    let run = find(&state, &signed_in, &id).await?;
    Ok(Answer(show(&state, run).await?))
}

/// Has the run end as cancelled, with its calls and sub-flows.
#[utoipa::path(post, path = "/runs/{run_id}/cancel", tag = "runs", params(("run_id" = String, Path)),
    responses((status = 200, body = RunView), (status = 404), (status = 409)))]
pub(super) async fn cancel(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<RunId>,
) -> Result<Answer<RunView>> {
    steer(&state, &signed_in, &id).await?;
    let run = state.flows.cancel(&signed_in.tenant, &id).await?;
    Ok(Answer(show(&state, run).await?))
}

/// Lets nothing new start in the run; what is at work comes to its end.
#[utoipa::path(post, path = "/runs/{run_id}/pause", tag = "runs", params(("run_id" = String, Path)),
    responses((status = 200, body = RunView), (status = 404), (status = 409)))]
pub(super) async fn pause(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<RunId>,
) -> Result<Answer<RunView>> {
    steer(&state, &signed_in, &id).await?;
    state.flows.pause(&signed_in.tenant, &id).await?;
    get(State(state), signed_in, Path(id)).await
}

/// Lets a paused run go on.
#[utoipa::path(post, path = "/runs/{run_id}/resume", tag = "runs", params(("run_id" = String, Path)),
    responses((status = 200, body = RunView), (status = 404), (status = 409)))]
pub(super) async fn resume(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<RunId>,
) -> Result<Answer<RunView>> {
    steer(&state, &signed_in, &id).await?;
    state.flows.resume(&signed_in.tenant, &id).await?;
    get(State(state), signed_in, Path(id)).await
}

/// Tries a failed run again: nodes that failed run again, those that ended well do not.
#[utoipa::path(post, path = "/runs/{run_id}/retry", tag = "runs", params(("run_id" = String, Path)),
    responses((status = 200, body = RunView), (status = 404), (status = 409)))]
pub(super) async fn retry(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<RunId>,
) -> Result<Answer<RunView>> {
    may_repeat(&signed_in, &steer(&state, &signed_in, &id).await?)?;
    let run = state.flows.retry(&signed_in.tenant, &id).await?;
    Ok(Answer(show(&state, run).await?))
}

/// Starts a new run that repeats this one, or the part of it behind a node.
#[utoipa::path(post, path = "/runs/{run_id}/replay", tag = "runs", params(("run_id" = String, Path)),
    request_body = Option<ReplayBody>, responses((status = 202, body = RunView), (status = 404), (status = 422)))]
pub(super) async fn replay(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<RunId>,
    body: Option<Json<ReplayBody>>,
) -> Result<(StatusCode, Answer<RunView>)> {
    let Json(body) = body.unwrap_or_default();
    let old = steer(&state, &signed_in, &id).await?;
    may_repeat(&signed_in, &old)?;
    if let Some(number) = body.version.filter(|number| Some(*number) != old.version) {
        may_run_version(&signed_in, &old.flow, number)?;
    }
    if old.version.is_none() {
        signed_in.may_manage()?;
    }
    let replay = Replay { from: body.from, version: body.version, inputs: body.inputs };
    let origin = Origin { kind: Door::Rest.as_str().to_owned(), ..Origin::default() };
    let started = state.flows.replay(&signed_in.tenant, &id, replay, &signed_in.caller, origin).await?;
    Ok((StatusCode::ACCEPTED, Answer(show(&state, started.run).await?)))
}

/// Sends the run a signal; one that nobody waits for yet is kept.
#[utoipa::path(post, path = "/runs/{run_id}/signals/{name}", tag = "runs",
    params(("run_id" = String, Path), ("name" = String, Path)),
    request_body = SignalBody,
    responses((status = 202), (status = 404), (status = 409), (status = 422), (status = 429)))]
pub(super) async fn signal(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((id, name)): Path<(RunId, String)>,
    Json(body): Json<SignalBody>,
) -> Result<StatusCode> {
    steer(&state, &signed_in, &id).await?;
    check_signal(&name, &body)?;
    if state.flows.signal(&signed_in.tenant, &id, &name, body.key, body.data).await? {
        return Ok(StatusCode::ACCEPTED);
    }
    let (count, bytes) = (runtime::flows::SIGNALS, flow::limits::RUN_BYTES);
    let detail = format!("a run takes at most {count} signals and {bytes} bytes of them; start another run");
    Err(Problem::new(Code::RateLimited, detail))
}

/// A signal is kept until its run ends: it is no larger than other values.
fn check_signal(name: &str, body: &SignalBody) -> Result<()> {
    let key_bytes = body.key.as_ref().map_or(0, |key| key.to_string().len());
    if name.len() > MAX_KEY_BYTES || key_bytes > MAX_KEY_BYTES {
        let message = format!("the name and the 'key' of a signal have at most {MAX_KEY_BYTES} bytes each");
        return Err(Problem::invalid_field("key", message));
    }
    flow::engine::check_value(&body.data).map_err(|failure| {
        Problem::bad_request(format!("'data': {}", failure.message))
            .with_status(StatusCode::PAYLOAD_TOO_LARGE)
    })
}
