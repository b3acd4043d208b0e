//! `/services/validate`: what is wrong with a service, and whether it can be reached, before it is saved.

use super::settings::{Findings, check_also, read_tools};
use super::test::TestResult;
use super::{check_service_id, schema_of};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::Json;
use crate::manage::secrets::AddressChange;
use crate::manage::users::check_name;
use axum::Json as Answer;
use axum::extract::State;
use runtime::settings_of;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Instant;
use store::{ErrorKind, ServiceTool};
use utoipa::ToSchema;

/// What would make a service, or change one of the same type and id: masked secrets are those it has.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ServiceDraft)]
pub(crate) struct Draft {
    /// A type of `/service-types`.
    #[serde(rename = "type")]
    scheme: String,
    id: Option<String>,
    name: Option<String>,
    #[expect(dead_code, reason = "there is nothing to check, and whole forms are sent")]
    description: Option<String>,
    /// The settings, as the type's schema says.
    #[serde(default)]
    #[schema(value_type = Object)]
    config: Map<String, Value>,
    /// Tools of the service's own, as the type's schema says.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    tools: Vec<Map<String, Value>>,
    #[expect(dead_code, reason = "there is nothing to check, and whole forms are sent")]
    enabled: Option<bool>,
    /// Also asks the service whether it can be reached, where nothing is wrong.
    #[serde(default)]
    test: bool,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ServiceValidation {
    valid: bool,
    /// Everything that is wrong.
    #[schema(value_type = Vec<crate::error::FieldProblem>)]
    errors: Vec<tool::Problem>,
    /// What the service said, where it was asked.
    test: Option<TestResult>,
    /// Stored secrets that a change would not keep, as the service has another address now.
    dropped_secrets: Vec<String>,
}

/// Checks a service without saving it; with `test` it is asked whether it can be reached.
#[utoipa::path(post, path = "/services/validate", tag = "services", request_body = Draft,
    responses((status = 200, body = ServiceValidation), (status = 422)))]
pub(crate) async fn validate(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(draft): Json<Draft>,
) -> Result<Answer<ServiceValidation>> {
    signed_in.may_make_services()?;
    let mut found = Findings::default();
    if let Some(id) = &draft.id {
        found.note(check_service_id(id));
    }
    if let Some(name) = &draft.name {
        found.note(check_name("name", name));
    }
    let tools = read_tools(draft.tools, &mut found);
    let scheme = draft.scheme;
    let (config, tools, moving) = whole(&state, &signed_in, (&scheme, draft.id), draft.config, tools).await?;
    let checked = check_also(&state, &signed_in, &scheme, &config, &tools, found).await;
    let errors = match checked.map_err(|problem| moving.explain(problem)) {
        Ok(()) => Vec::new(),
        Err(problem) if problem.errors().is_empty() => return Err(problem),
        Err(problem) => problem.errors().to_vec(),
    };
    let test = match draft.test && errors.is_empty() {
        true => Some(try_out(&state, &signed_in, &scheme, config, tools).await),
        false => None,
    };
    Ok(Answer(ServiceValidation { valid: errors.is_empty(), errors, test, dropped_secrets: moving.dropped }))
}

type Whole = (Value, Vec<ServiceTool>, AddressChange);

/// The settings with the secrets of the service that they would change, where there is one.
async fn whole(
    state: &Shared,
    signed_in: &SignedIn,
    (scheme, id): (&str, Option<String>),
    config: Map<String, Value>,
    tools: Vec<ServiceTool>,
) -> Result<Whole> {
    let id = id.unwrap_or_default();
    let old = match state.store.services().get(&signed_in.tenant, scheme, &id).await {
        Ok(old) => old,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok((config.into(), tools, AddressChange::default()));
        }
        Err(error) => return Err(error.into()),
    };
    let schema = schema_of(state, scheme);
    let (config, tools, moving) = AddressChange::service(Some(config), Some(tools), &old, &schema);
    Ok((config.unwrap_or_default(), tools.unwrap_or_default(), moving))
}

async fn try_out(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    config: Value,
    tools: Vec<ServiceTool>,
) -> TestResult {
    let begun = Instant::now();
    let settings = settings_of(config, tools.into_iter().map(|tool| (tool.id, tool.definition)));
    let result = state.gateway.try_out(&signed_in.tenant, scheme, settings).await;
    TestResult::new(begun, result, Vec::new())
}
