//! `/services/{type}/{id}/pins`: which tools of a service are not what they were, and their approval.

use super::listed;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Path};
use crate::manage::call::{Trace, context};
use crate::manage::words;
use axum::Json as Answer;
use axum::extract::State;
use gateway::catalog::Service;
use gateway::pins::{Report, State as PinState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use tool::Pinning;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct PinsView {
    /// What the service's settings say.
    #[schema(value_type = words::Pinning)]
    pin: Pinning,
    /// The tools that the service offered when it was last asked.
    items: Vec<PinView>,
    /// What somebody should look at, in sentences.
    warnings: Vec<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct PinView {
    tool: String,
    /// `pinned`: as when it was first seen; `new`: it came later; `changed`: it was another one.
    #[schema(value_type = words::PinState)]
    state: &'static str,
    /// The parts that have changed.
    changed: Vec<&'static str>,
    /// Neither listed nor called until approved.
    held: bool,
    /// Of the definition that the service has now; an approval can name it.
    fingerprint: String,
    /// What hides in its definition, e.g. `zero-width characters`.
    hidden: Vec<String>,
}

impl PinsView {
    fn new(report: &Report) -> Self {
        let items = report.tools.iter().map(|(name, tool)| {
            let (state, changed) = match &tool.state {
                PinState::Pinned => ("pinned", Vec::new()),
                PinState::New => ("new", Vec::new()),
                PinState::Changed(parts) => ("changed", parts.clone()),
            };
            PinView {
                tool: name.clone(),
                state,
                changed,
                held: report.is_held(name),
                fingerprint: tool.fingerprint.clone(),
                hidden: tool.hidden.iter().map(ToString::to_string).collect(),
            }
        });
        Self { pin: report.pinning, items: items.collect(), warnings: report.warnings() }
    }
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PinApproval {
    /// The tools; all that are new or have changed unless given.
    tools: Option<Vec<ApprovedTool>>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovedTool {
    name: String,
    /// The definition that is approved, as the list of pins said; the present one unless given.
    fingerprint: Option<String>,
}

/// Compares the tools of a service with what they were when they were first seen.
#[utoipa::path(get, path = "/services/{type}/{id}/pins", tag = "services",
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = PinsView), (status = 404)))]
pub(crate) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
) -> Result<Answer<PinsView>> {
    signed_in.may_read()?;
    let service = service(&state, &signed_in, &scheme, &id)?;
    let mut report = service.report().as_ref().clone();
    report.tools.retain(|tool, _| listed::shows(&signed_in.caller, &scheme, &id, tool));
    Ok(Answer(PinsView::new(&report)))
}

/// Approves tools that are new or have changed; those that were held back can be called when this answers.
#[utoipa::path(post, path = "/services/{type}/{id}/pins/approve", tag = "services", request_body = PinApproval,
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = PinsView), (status = 404)))]
pub(crate) async fn approve(
    State(state): State<Shared>,
    signed_in: SignedIn,
    trace: Trace,
    Path((scheme, id)): Path<(String, String)>,
    Json(body): Json<PinApproval>,
) -> Result<Answer<PinsView>> {
    signed_in.may_make_services()?;
    let service = service(&state, &signed_in, &scheme, &id)?;
    if service.is_trusted {
        // It comes from the mcp.json of whoever runs this process.
        signed_in.may_administer()?;
    }
    let approved = approved(body.tools, &service.report())?;
    let cx = context(&state, signed_in, trace);
    state.gateway.approve(&cx, &scheme, &id, &approved).await?;
    Ok(Answer(PinsView::new(&service.report())))
}

fn service(state: &Shared, signed_in: &SignedIn, scheme: &str, id: &str) -> Result<Arc<Service>> {
    let catalog = state.gateway.catalog().tenant(&signed_in.tenant);
    let service = catalog.as_deref().and_then(|catalog| catalog.service(scheme, id)).cloned();
    service.ok_or_else(|| Problem::not_found("service"))
}

/// The fingerprints that are approved, by the tools' names.
fn approved(tools: Option<Vec<ApprovedTool>>, report: &Report) -> Result<BTreeMap<String, String>> {
    let Some(tools) = tools else { return Ok(report.to_approve()) };
    let mut approved = BTreeMap::new();
    for tool in tools {
        let Some(known) = report.tools.get(&tool.name) else { return Err(Problem::not_found("tool")) };
        // One that the service has no more would pin what nobody offers.
        if tool.fingerprint.as_ref().is_some_and(|fingerprint| *fingerprint != known.fingerprint) {
            let detail =
                format!("tool '{}' has changed once more; look at it again", tool.name.escape_debug());
            return Err(Problem::new(crate::error::Code::Conflict, detail));
        }
        approved.insert(tool.name, known.fingerprint.clone());
    }
    Ok(approved)
}
