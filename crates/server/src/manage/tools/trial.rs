//! `/tools/validate` and `/tools/{id}/test`: what a tool would do, and what it does.

use super::draft::{Draft, check, shares_names};
use super::find;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::{Json, Path};
use crate::manage::call::{Trace, context, result_of, start};
use crate::manage::openapi::bodies::ToolDraft;
use crate::manage::secrets::Visibility;
use axum::Json as Answer;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tool::secret::MASK;
use tool::{Context, Inspection, Output, Problem, Target, TenantId, ToolId};
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct Validation {
    valid: bool,
    /// Everything that is wrong.
    #[schema(value_type = Vec<crate::error::FieldProblem>)]
    errors: Vec<Problem>,
    /// What callers would have to give, where that is known.
    #[serde(rename = "inputSchema")]
    #[schema(value_type = Option<Object>)]
    input_schema: Option<Box<RawValue>>,
    /// What would become of the `sample_response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<String>,
}

/// Checks a tool without saving it; with a `sample_response` it also shows what becomes of that.
#[utoipa::path(post, path = "/tools/validate", tag = "tools",
    request_body = ToolDraft,
    responses((status = 200, body = Validation)))]
pub(crate) async fn validate(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(mut body): Json<Map<String, Value>>,
) -> Result<Answer<Validation>> {
    signed_in.may_make_tools()?;
    let sample = body.shift_remove("sample_response");
    // Given for a tool that exists, so that its own name is not taken.
    let id = body.shift_remove("id");
    let mut draft = check(&state, &signed_in, body).await?;
    let holder = match shares_names(&state, &draft.kind) {
        true => None,
        false => state.store.tools().find_by_name(&signed_in.tenant, &draft.name).await?,
    };
    if holder.is_some_and(|holder| id.is_none_or(|id| id != holder.id.as_str())) {
        let message = format!("there is a tool '{}' already", draft.name);
        draft.problems.push(Problem::new("name", "Conflict", message));
    }
    let rendered = match sample {
        Some(sample) => render(&state, &signed_in.tenant, &mut draft, &sample).await,
        None => None,
    };
    let input_schema = draft.tool.as_ref().map(|tool| tool.input_schema().to_owned());
    Ok(Answer(Validation {
        valid: draft.problems.is_empty(),
        errors: draft.problems,
        input_schema,
        rendered,
    }))
}

/// What the shape makes of a sample; a failure is one more problem.
async fn render(state: &Shared, tenant: &TenantId, draft: &mut Draft, sample: &Value) -> Option<String> {
    let sample = RawValue::from_string(sample.to_string()).ok()?;
    // A shape with a mistake in it is among the problems already.
    let output = state.gateway.preview(tenant, &draft.shape, Output::json(sample)).await.ok()?;
    let result: Value = serde_json::from_str(&output.to_result()).ok()?;
    let text = result["content"][0]["text"].as_str()?.to_owned();
    if !output.is_error() {
        return Some(text);
    }
    let part = state.gateway.inline(&draft.kind).and_then(|inline| inline.part);
    let part = part.map(|part| format!("config.{part}."));
    let path = format!("{}response_template", part.unwrap_or_default());
    // Without the answer, which callers get: here it is the sample, which its author knows.
    let text = output.failure().map_or(text, |error| error.message().to_owned());
    draft.problems.push(Problem::new(path, "TemplateRenderError", text));
    None
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trial {
    /// As the tool's own schema says.
    #[serde(default)]
    #[schema(value_type = Object)]
    arguments: Option<Box<RawValue>>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct TrialResult {
    /// What was sent: method, url, headers and body, secrets masked. `null` for types that tell nothing.
    #[schema(value_type = Option<Object>)]
    request: Option<Value>,
    /// What came back.
    raw: RawAnswer,
    /// What a caller gets.
    #[schema(value_type = crate::manage::call::CallResult)]
    result: Box<RawValue>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct RawAnswer {
    /// The service's HTTP status, where it has one.
    status: Option<u16>,
    /// The answer before it was shaped.
    body: Option<Value>,
}

/// The request without the secrets in its body, and without its headers' values for those who may not manage.
fn as_seen(mut request: Value, visibility: Visibility) -> Value {
    let body = request["body"].as_str().and_then(|body| RawValue::from_string(body.to_owned()).ok());
    if let Some(body) = body {
        request["body"] = gateway::audit::redact(&body).into();
    }
    let headers = request.get_mut("headers").and_then(Value::as_object_mut);
    for value in headers.into_iter().flat_map(Map::values_mut).filter(|_| visibility == Visibility::Other) {
        *value = MASK.into();
    }
    request
}

/// Really calls a tool, active or not, and shows every step.
#[utoipa::path(post, path = "/tools/{id}/test", tag = "tools", request_body = Trial,
    params(("id" = String, Path)),
    responses((status = 200, body = TrialResult), (status = 404), (status = 422)))]
pub(crate) async fn test(
    State(state): State<Shared>,
    signed_in: SignedIn,
    trace: Trace,
    Path(id): Path<ToolId>,
    Json(body): Json<Trial>,
) -> Result<Answer<TrialResult>> {
    signed_in.may_make_tools()?;
    let tool = find(&state, &signed_in, &id).await?;
    let visibility = Visibility::of(&signed_in);
    let inspection = Inspection::on();
    let cx = Context { inspection: inspection.clone(), ..context(&state, signed_in, trace) };
    let ended = start(&state, cx, Target::Trial(tool.id), body.arguments).await?;
    let result = result_of(ended)?;
    let exchange = inspection.exchange();
    let raw = exchange.raw.map(|raw| serde_json::from_str(&raw).unwrap_or_else(|_| raw.into()));
    Ok(Answer(TrialResult {
        request: exchange.request.map(|request| as_seen(request, visibility)),
        raw: RawAnswer { status: exchange.status, body: raw },
        result: RawValue::from_string(result).unwrap_or_default(),
    }))
}
