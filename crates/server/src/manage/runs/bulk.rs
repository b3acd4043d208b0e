//! `POST /runs/bulk`: the same for many runs.

use super::rights::{may_repeat, may_touch_run, seen_by};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::Json;
use crate::manage::{time, words};
use axum::Json as Answer;
use serde::{Deserialize, Serialize};
use store::PageRequest;
use store::runs::{Run, RunFilter, State};
use utoipa::ToSchema;

/// As many as one request reaches; more take more requests.
const MOST: u32 = 1000;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RunsBulk)]
pub(in crate::manage) struct Bulk {
    action: Action,
    filter: BulkFilter,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = RunsAction)]
enum Action {
    Cancel,
    Pause,
    Resume,
    Retry,
    Delete,
}

/// Which runs; what is left out does not matter.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RunsFilter)]
struct BulkFilter {
    flow: Option<String>,
    #[schema(value_type = Option<words::RunState>)]
    state: Option<State>,
    #[schema(format = DateTime)]
    from: Option<String>,
    #[schema(format = DateTime)]
    to: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(in crate::manage) struct BulkView {
    /// How many runs that the caller may see fit the filter.
    matched: i64,
    /// For how many it was done.
    done: usize,
    /// Why it was not for others, 100 at the most.
    failed: Vec<BulkFailure>,
}

#[derive(Serialize, ToSchema)]
struct BulkFailure {
    run_id: String,
    detail: String,
}

impl Action {
    /// The runs that fit and that it can be done to: all others would stand in their way for ever.
    fn filter(self, filter: RunFilter) -> RunFilter {
        match (self, filter.state) {
            (_, Some(_)) => filter,
            (Self::Cancel | Self::Pause | Self::Resume, None) => RunFilter { is_live: Some(true), ..filter },
            (Self::Delete, None) => RunFilter { is_live: Some(false), ..filter },
            (Self::Retry, None) => RunFilter { state: Some(State::Failed), ..filter },
        }
    }
}

/// Does the same to up to 1,000 runs that fit; without `state` to those that it can be done to.
#[utoipa::path(post, path = "/runs/bulk", tag = "runs", request_body = Bulk,
    responses((status = 200, body = BulkView), (status = 403), (status = 422)))]
pub(in crate::manage) async fn bulk(
    axum::extract::State(state): axum::extract::State<Shared>,
    signed_in: SignedIn,
    Json(body): Json<Bulk>,
) -> Result<Answer<BulkView>> {
    signed_in.may_manage()?;
    let filter = RunFilter {
        flow: body.filter.flow,
        state: body.filter.state,
        from: body.filter.from.as_deref().map(|text| time::parse("filter.from", text)).transpose()?,
        to: body.filter.to.as_deref().map(|text| time::parse("filter.to", text)).transpose()?,
        ..seen_by(&state, &signed_in).await?
    };
    let filter = body.action.filter(filter);
    let tenant = &signed_in.tenant;
    let found = state.store.runs().list(tenant, &filter, PageRequest { page: 1, limit: MOST }).await?;
    let (mut done, mut failed) = (0, Vec::new());
    for run in found.items {
        match act(&state, &signed_in, body.action, &run).await {
            Ok(()) => done += 1,
            Err(error) if failed.len() < 100 => {
                failed.push(BulkFailure { run_id: run.id.into(), detail: error.message().to_owned() });
            }
            Err(_) => {}
        }
    }
    Ok(Answer(BulkView { matched: found.total, done, failed }))
}

async fn act(state: &Shared, signed_in: &SignedIn, action: Action, run: &Run) -> tool::Result<()> {
    let (tenant, id) = (&signed_in.tenant, &run.id);
    match action {
        Action::Retry => may_repeat(signed_in, run)?,
        Action::Cancel | Action::Pause | Action::Resume | Action::Delete => may_touch_run(signed_in, run)?,
    }
    let done = match action {
        Action::Cancel => state.flows.cancel(tenant, id).await.map(drop),
        Action::Pause => state.flows.pause(tenant, id).await,
        Action::Resume => state.flows.resume(tenant, id).await,
        Action::Retry => state.flows.retry(tenant, id).await.map(drop),
        Action::Delete => state.store.runs().delete(tenant, id).await,
    };
    Ok(done?)
}
