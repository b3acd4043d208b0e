//! What refers to a service, or to one of its tools, and would break without it.

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::json::{Page, Path};
use axum::Json as Answer;
use axum::extract::State;
use gateway::ToolBody;
use runtime::tool_definition::body_of;
use serde::Serialize;
use tool::Uri;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct Reference {
    /// What it is: `tool`.
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
    name: String,
    /// How it refers to the service.
    uri: String,
}

/// What refers to a service and would break without it.
#[utoipa::path(get, path = "/services/{type}/{id}/references", tag = "services",
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = Page<Reference>), (status = 404)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
) -> Result<Answer<Page<Reference>>> {
    signed_in.may_read()?;
    super::owner::must_exist(&state, &signed_in.tenant, &scheme, &id).await?;
    let items = references_to(&state, &signed_in, &scheme, &id).await?;
    Ok(Answer(Page::whole(items)))
}

/// Refuses to go on with a service that others refer to.
pub(crate) async fn check_unreferenced(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    id: &str,
) -> Result<()> {
    let references = references_to(state, signed_in, scheme, id).await?;
    refuse(&references, &format!("refer to {scheme}://{id}"), "delete with ?force=true")
}

/// Refuses to go on with tools of a service that others refer to.
pub(crate) async fn check_tools_unreferenced(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    id: &str,
    tools: &[&str],
) -> Result<()> {
    if tools.is_empty() {
        return Ok(());
    }
    let references = references_to_tools(state, signed_in, scheme, id, tools).await?;
    let what = format!("refer to tools of {scheme}://{id} that would go");
    refuse(&references, &what, "keep them, or let them go with ?force=true")
}

fn refuse(references: &[Reference], what: &str, advice: &str) -> Result<()> {
    if references.is_empty() {
        return Ok(());
    }
    let (count, names) = (references.len(), names_of(references));
    Err(Problem::new(Code::Referenced, format!("{count} things {what}: {names}; {advice}")))
}

/// The names of what refers to something, for a message.
pub(crate) fn names_of(references: &[Reference]) -> String {
    references.iter().map(|reference| reference.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The Tools whose URIs lead to the service.
async fn references_to(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    id: &str,
) -> Result<Vec<Reference>> {
    references_that(state, signed_in, |uri| uri.scheme() == scheme && uri.service() == id).await
}

/// The Tools whose URIs lead to one of these tools of the service.
pub(crate) async fn references_to_tools(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    id: &str,
    tools: &[&str],
) -> Result<Vec<Reference>> {
    let is_one = |uri: &Uri| uri.tool().is_some_and(|tool| tools.contains(&tool));
    let leads_there = |uri: &Uri| uri.scheme() == scheme && uri.service() == id && is_one(uri);
    references_that(state, signed_in, leads_there).await
}

async fn references_that(
    state: &Shared,
    signed_in: &SignedIn,
    leads_there: impl Fn(&Uri) -> bool,
) -> Result<Vec<Reference>> {
    let tools = state.store.tools().all(&signed_in.tenant).await?;
    let reference = |tool: store::Tool| {
        let Ok(ToolBody::Uri(over)) = body_of(&tool.kind, &tool.definition) else { return None };
        let uri = over.uri.to_string();
        leads_there(&over.uri).then(|| Reference { kind: "tool", id: tool.id.into(), name: tool.name, uri })
    };
    Ok(tools.into_iter().filter_map(reference).collect())
}
