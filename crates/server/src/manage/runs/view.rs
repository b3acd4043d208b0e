//! Runs as REST shows them; what a flow calls secret is masked wherever it stands.

use crate::Shared;
use crate::error::Result;
use crate::manage::{time, words};
use runtime::flows::{Origin, Starter};
use serde::Serialize;
use serde_json::{Map, Value};
use store::runs::{Run, State, Wait};
use utoipa::ToSchema;

/// A run in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunSummary {
    id: String,
    /// `null` for a run of an agent.
    flow: Option<String>,
    /// `null` for a run of a flow.
    agent: Option<String>,
    /// `null` for a draft.
    version: Option<i64>,
    #[schema(value_type = words::RunState)]
    state: State,
    /// The run and the node that wait for this one.
    parent: Option<ParentView>,
    /// What started it.
    trigger: RunTrigger,
    /// On whose behalf it works.
    started_by: String,
    /// The run that it repeats.
    replay_of: Option<String>,
    created_at: String,
    started_at: Option<String>,
    ended_at: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct ParentView {
    run_id: String,
    path: String,
}

#[derive(Serialize, ToSchema)]
struct RunTrigger {
    /// A door, `flow`, or the type of a trigger.
    #[serde(rename = "type")]
    kind: String,
    /// The name of the trigger, where it was one.
    name: Option<String>,
}

/// A run.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunView {
    #[serde(flatten)]
    summary: RunSummary,
    /// What it was given.
    #[schema(value_type = Object)]
    inputs: Map<String, Value>,
    /// What it gave, once it has succeeded.
    #[schema(value_type = Option<Value>)]
    output: Option<Value>,
    /// Why it failed, if it did.
    error: Option<RunError>,
    /// What its nodes wait for now.
    waiting_for: Vec<WaitingView>,
    /// An earlier start with the same key made it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) deduplicated: bool,
}

/// Why a run or a node failed.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunError {
    /// One of REST's codes, `EXPRESSION`, `LIMIT`, `REJECTED`, `GUARD`, `CANCELLED`, `INTERRUPTED`, or one that the flow throws.
    code: String,
    message: String,
    /// The node that it began at.
    node: Option<String>,
    /// Why an agent failed, e.g. `STEP_LIMIT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The HTTP status of a service.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
}

#[derive(Serialize, ToSchema)]
struct WaitingView {
    /// e.g. `ship[3].send`
    path: String,
    /// `timer`, `retry`, `signal`, `approval` or `child`.
    kind: String,
    until: Option<String>,
    /// For `POST /approvals/{id}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    approval_id: Option<String>,
}

impl From<Run> for RunSummary {
    fn from(run: Run) -> Self {
        let origin = Origin::read(&run.origin);
        let agent = run.agent().map(str::to_owned);
        Self {
            id: run.id.into(),
            flow: agent.is_none().then_some(run.flow),
            agent,
            version: run.version,
            state: run.state,
            parent: run.parent.map(|parent| ParentView { run_id: parent.run.into(), path: parent.path }),
            trigger: RunTrigger { kind: origin.kind, name: origin.name },
            started_by: Starter::read(&run.caller).name().to_owned(),
            replay_of: origin.replay_of.map(Into::into),
            created_at: time::show(run.created_at),
            started_at: run.started_at.map(time::show),
            ended_at: run.ended_at.map(time::show),
        }
    }
}

impl From<flow::engine::Failure> for RunError {
    fn from(failure: flow::engine::Failure) -> Self {
        let flow::engine::Failure { code, message, status, reason, service, attempts, node, .. } = failure;
        let (reason, service) = (reason.map(Into::into), service.map(Into::into));
        Self { code, message, node, status, reason, service, attempts }
    }
}

impl From<Wait> for WaitingView {
    fn from(wait: Wait) -> Self {
        let approval_id = (wait.kind == "approval").then_some(wait.id);
        Self { path: wait.path, kind: wait.kind, until: wait.until.map(time::show), approval_id }
    }
}

/// A run with what it was given and gave.
pub(super) async fn show(state: &Shared, run: Run) -> Result<RunView> {
    let data = state.store.runs().data(&run.tenant, &run.id).await?;
    let waits = match run.state.is_ended() {
        true => Vec::new(),
        false => state.flows.waits(&run.tenant, &run.id).await?,
    };
    let secrets = state.flows.secrets_of(&run, &data).await;
    let inputs = state.flows.shown_inputs(&run, &data, &secrets).await;
    // One that is tried again keeps why it failed until it ends.
    let error = data.error.as_deref().filter(|_| run.state.is_ended());
    let error = error.and_then(|text| serde_json::from_str(text).ok());
    let error = error.map(|error| secrets.masked(error)).and_then(|error| serde_json::from_value(error).ok());
    Ok(RunView {
        inputs,
        output: data
            .output
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
            .map(|output| secrets.masked(output)),
        error: error.map(|failure: flow::engine::Failure| failure.into()),
        waiting_for: waits.into_iter().map(WaitingView::from).collect(),
        deduplicated: false,
        summary: run.into(),
    })
}
