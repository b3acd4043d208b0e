//! `/flows/{id}/references`: what refers to a flow and would break without it.

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::{Page, Path};
use crate::manage::runs::rights::may_see_text;
use crate::manage::services::references::{self, Reference};
use axum::Json as Answer;
use axum::extract::State;

/// The type of flows in URIs.
const TYPE: &str = "flow";

/// What refers to a flow and would break without it: other flows, and Tools.
#[utoipa::path(get, path = "/flows/{id}/references", tag = "flows", params(("id" = String, Path)),
    responses((status = 200, body = Page<Reference>), (status = 404)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<String>,
) -> Result<Answer<Page<Reference>>> {
    may_see_text(&signed_in, &id)?;
    state.store.flows().get(&signed_in.tenant, &id).await?;
    let mut items = references_of_others(&state, &signed_in, &id).await?;
    items.retain(|reference| reference.is_shown_to(&signed_in));
    Ok(Answer(Page::whole(items)))
}

/// Refuses to go on with a flow that others refer to.
pub(super) async fn check_unreferenced(state: &Shared, signed_in: &SignedIn, id: &str) -> Result<()> {
    let references = references_of_others(state, signed_in, id).await?;
    references::refuse(&references, &format!("refer to {TYPE}://{id}"), "delete with ?force=true")
}

/// A flow that calls itself keeps nobody from deleting it.
async fn references_of_others(state: &Shared, signed_in: &SignedIn, id: &str) -> Result<Vec<Reference>> {
    let mut found = references::references_to(state, signed_in, TYPE, id).await?;
    found.retain(|reference| !reference.is_of_flow(id));
    Ok(found)
}
