//! `POST /flows/{id}/runs`: a run by REST, waited for as long as its caller likes.

use super::rights::may_change;
use super::view::{RunView, show};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::finish::finish;
use crate::json::{Json, Path};
use crate::manage::call::{Trace, context};
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use runtime::flows::{Given, MAX_KEY_BYTES, NewStart, Origin, check_unit, not_waiting};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;
use tool::{Arguments, Context, Door, Outcome, Request, RunId, Target, Uri, runs, uri::Options};
use utoipa::ToSchema;

/// The longest that a request waits for a run.
const MAX_WAIT_SECONDS: u64 = 300;

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RunStart)]
pub(in crate::manage) struct Start {
    /// As the flow's `inputs` say.
    #[serde(default, deserialize_with = "tool::distinct::map")]
    #[schema(value_type = Object)]
    inputs: Map<String, Value>,
    /// A published version, or `draft` for those who manage; the current one unless given.
    version: Option<VersionWanted>,
    /// How long to wait for the end of the run; at most 300.
    #[serde(default)]
    #[schema(maximum = 300)]
    wait_seconds: u64,
    /// Starts with a key that is known answer with the first run.
    #[schema(min_length = 1, max_length = 512)]
    dedupe_key: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[schema(as = RunVersion)]
enum VersionWanted {
    /// A published version.
    Number(u32),
    /// What is not published yet.
    #[schema(value_type = DraftWord)]
    Word(String),
}

#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "documents the one word there is")]
enum DraftWord {
    Draft,
}

/// Starts a run: 200 when it has ended within `wait_seconds`, else 202.
#[utoipa::path(post, path = "/flows/{id}/runs", tag = "runs", params(("id" = String, Path)),
    request_body = Option<Start>,
    responses((status = 200, body = RunView), (status = 202, body = RunView), (status = 404), (status = 409),
        (status = 422), (status = 429)))]
pub(in crate::manage) async fn start(
    State(state): State<Shared>,
    signed_in: SignedIn,
    trace: Trace,
    Path(flow): Path<String>,
    body: Option<Json<Start>>,
) -> Result<(StatusCode, Answer<RunView>)> {
    let Json(body) = body.unwrap_or_default();
    if body.dedupe_key.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY_BYTES) {
        return Err(Problem::invalid_field("dedupe_key", "'dedupe_key' has 1 to 512 bytes"));
    }
    if body.wait_seconds > MAX_WAIT_SECONDS {
        let message = format!("'wait_seconds' is at most {MAX_WAIT_SECONDS}");
        return Err(Problem::invalid_field("wait_seconds", message));
    }
    let cx = context(&state, signed_in.clone(), trace);
    // Before anything else is said of the inputs.
    check_unit(&cx, &body.inputs)?;
    let request_id = cx.request_id.clone();
    let (time, key) = (Duration::from_secs(body.wait_seconds), body.dedupe_key);
    let id = match body.version {
        Some(VersionWanted::Word(word)) if word == "draft" => {
            start_draft(&state, &signed_in, &cx, &flow, body.inputs, key).await?
        }
        Some(VersionWanted::Word(_)) => {
            return Err(Problem::invalid_field("version", "'version' is a number, or 'draft'"));
        }
        Some(VersionWanted::Number(number)) => {
            start_published(&state, cx, &flow, Some(number), body.inputs, key).await?
        }
        None => start_published(&state, cx, &flow, None, body.inputs, key).await?,
    };
    if !time.is_zero() {
        state.flows.wait(&signed_in.tenant, &id, time).await?;
    }
    let run = state.store.runs().get(&signed_in.tenant, &id).await?;
    let status = if run.state.is_ended() { StatusCode::OK } else { StatusCode::ACCEPTED };
    let origin = Origin::read(&run.origin);
    let mut view = show(&state, run).await?;
    view.deduplicated = origin.request_id.as_deref() != Some(&*request_id);
    Ok((status, Answer(view)))
}

/// A published flow is a tool: its calls go the way of all calls.
async fn start_published(
    state: &Shared,
    cx: Context,
    flow: &str,
    version: Option<u32>,
    inputs: Map<String, Value>,
    key: Option<String>,
) -> Result<RunId> {
    let uri = Uri::of_service(runs::SCHEME, flow).with_options(Options { version, ..Options::default() });
    let extras = not_waiting(key.as_deref());
    let request = Request { target: Target::Uri(uri), arguments: Arguments::from(inputs), extras };
    let gateway = state.gateway.clone();
    let task = finish(&state.calls, async move { gateway.call(&cx, request).await });
    let ended =
        task.await.map_err(|_| Problem::new(Code::Internal, "the call ended in a mistake of ours"))?;
    match ended? {
        Outcome::Started(id) => Ok(id),
        Outcome::Done(_) | Outcome::NeedsInput(_) => {
            Err(Problem::new(Code::Internal, "a flow answered without a run"))
        }
    }
}

/// A draft is nobody's tool; managers try it out.
async fn start_draft(
    state: &Shared,
    signed_in: &SignedIn,
    cx: &Context,
    flow: &str,
    inputs: Map<String, Value>,
    key: Option<String>,
) -> Result<RunId> {
    signed_in.may_manage()?;
    let kept = state.store.flows().get(&cx.tenant, flow).await?;
    may_change(signed_in, &kept)?;
    if !kept.is_enabled {
        return Err(Problem::new(Code::Conflict, "the flow is disabled; enable it first"));
    }
    let version = state.flows.draft(&cx.tenant, flow).await?;
    let mut given = Given::default();
    given.inputs = inputs;
    given.bu_code.clone_from(&cx.caller.bu_code);
    let origin = Origin::door(Door::Rest, &cx.request_id).in_trace_of(cx);
    let start = NewStart::new(flow, version, given, origin, &cx.caller).once(key.as_deref(), &cx.caller);
    Ok(state.flows.start(&cx.tenant, start).await?.run.id)
}
