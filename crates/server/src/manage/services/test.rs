//! `/services/{type}/{id}/test`: whether a service can be reached.

use super::owner;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Result};
use crate::json::Path;
use axum::Json as Answer;
use axum::extract::State;
use serde::Serialize;
use std::time::Instant;
use tool::Error;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct TestResult {
    ok: bool,
    duration_ms: u64,
    /// Why not.
    error: Option<TestError>,
    /// What somebody should look at: tools that have changed, or that hide something; settings that let others listen.
    warnings: Vec<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct TestError {
    code: Code,
    message: String,
}

/// Asks a service whether it can be reached.
#[utoipa::path(post, path = "/services/{type}/{id}/test", tag = "services",
    params(("type" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = TestResult), (status = 404)))]
pub(crate) async fn test(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path((scheme, id)): Path<(String, String)>,
) -> Result<Answer<TestResult>> {
    signed_in.may_manage()?;
    owner::must_exist(&state, &signed_in.tenant, &scheme, &id).await?;
    let begun = Instant::now();
    let is_stored = state.store.services().get(&signed_in.tenant, &scheme, &id).await.is_ok();
    let hidden = owner::hidden(&state, &signed_in.tenant, &scheme, &id).filter(|_| is_stored);
    let result = match hidden {
        Some(why) => Err(Error::unavailable(why)),
        None => state.gateway.health(&signed_in.tenant, &scheme, &id).await,
    };
    let catalog = state.gateway.catalog().tenant(&signed_in.tenant);
    let tested = catalog.as_deref().and_then(|catalog| catalog.service(&scheme, &id));
    let warnings = tested.map(|service| [service.report().warnings(), service.notes()].concat());
    let warnings = warnings.unwrap_or_default();
    Ok(Answer(TestResult::new(begun, result, warnings)))
}

impl TestResult {
    /// What came of a probe that began then.
    pub(super) fn new(begun: Instant, result: tool::Result<()>, warnings: Vec<String>) -> Self {
        let duration_ms = begun.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        let told = |error: Error| TestError { code: error.kind().into(), message: error.full_message() };
        let error = result.err().map(told);
        Self { ok: error.is_none(), duration_ms, error, warnings }
    }
}
