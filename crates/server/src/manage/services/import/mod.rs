//! `POST /services/{type}/import`: a description of an API as a service — previewed, made, or made anew.

mod draft;

use super::changes::Changes;
use super::settings::may_open;
use super::{ServiceView, schema_of};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, FieldProblem, Problem, Result};
use crate::json::{Json, Path, Query};
use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use draft::Draft;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use store::Service;
use tool::{ImportRequest, ImportSource, Imported, ImportedTool, Pattern};
use utoipa::ToSchema;

/// A document of 16 MiB, as a text in JSON.
pub(crate) const MAX_BODY_BYTES: usize = 24 * 1024 * 1024;
const MAX_PATTERNS: usize = 100;
const MAX_PATTERN_BYTES: usize = 500;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ImportMode)]
pub(crate) enum Mode {
    /// Only says what would happen.
    #[default]
    Preview,
    /// Makes a new service.
    Create,
    /// Changes the tools of a service there is.
    Update,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ServiceImport)]
pub(crate) struct Body {
    /// For `api`, the OpenAPI document (2.0, 3.0, 3.1): an object, or its text in JSON or YAML. For `svc`, where the gRPC
    /// methods are described: `{"reflection": true}`, `{"protos": {"a.proto": "…"}}` or `{"descriptor_set": "…"}`.
    #[schema(value_type = Value, required = false)]
    document: Option<Value>,
    /// Where the document is, instead.
    url: Option<String>,
    #[serde(default)]
    #[schema(inline)]
    mode: Mode,
    /// The service's id; made of the title unless given.
    id: Option<String>,
    /// The service's name; the title unless given.
    name: Option<String>,
    description: Option<String>,
    /// Operations to take: patterns with `*` for an operationId, a path, `GET /path` or `tag:name`; for `svc` a service, a
    /// method `package.Service/Method` or a tool's name. All unless given.
    #[serde(default)]
    include: Vec<String>,
    /// Operations to leave out, in the same way.
    #[serde(default)]
    exclude: Vec<String>,
    /// Where the API is, if not where the document says.
    base_url: Option<String>,
    /// Values for the variables in the server's address.
    #[serde(default)]
    server_variables: BTreeMap<String, String>,
    /// Settings that win over the document's, credentials among them: `{"auth_config": {"value": "…"}}`.
    #[serde(default)]
    #[schema(value_type = Object)]
    config: Map<String, Value>,
    /// For `update`: tools that the document does not have stay.
    #[serde(default)]
    keep_missing: bool,
}

#[derive(Deserialize)]
pub(crate) struct ImportQuery {
    #[serde(default)]
    force: bool,
}

/// The service as it would be.
#[derive(Serialize, ToSchema)]
pub(crate) struct ImportPreview {
    #[serde(rename = "type")]
    scheme: String,
    id: String,
    name: String,
    description: Option<String>,
    /// The settings; secrets are shown as `***`.
    config: Value,
    /// The tools, each with the `input_schema` that clients will see.
    #[schema(value_type = Vec<std::collections::HashMap<String, Value>>)]
    tools: Vec<PreviewedTool>,
    #[serde(flatten)]
    notes: ImportNotes,
    /// Settings that only you know and that are missing.
    #[schema(value_type = Vec<Object>)]
    credentials: Vec<tool::Credential>,
    /// What keeps it from being made as it is.
    #[schema(value_type = Vec<FieldProblem>)]
    problems: Vec<tool::Problem>,
}

#[derive(Serialize)]
struct PreviewedTool {
    #[serde(flatten)]
    definition: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_schema: Option<Box<RawValue>>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct ImportNotes {
    /// Operations that became no tool, each with the reason.
    #[schema(value_type = Vec<Object>)]
    skipped: Vec<tool::Skipped>,
    /// What is not as the document says.
    warnings: Vec<String>,
    /// What is different from the service there is with this id, if there is one.
    changes: Option<Changes>,
}

/// The service that was made or changed.
#[derive(Serialize, ToSchema)]
pub(crate) struct ImportResult {
    #[serde(flatten)]
    service: ServiceView,
    #[serde(flatten)]
    notes: ImportNotes,
}

/// What would come of it, or the service that was changed.
#[derive(ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "documents what either mode answers")]
enum ImportAnswer {
    Preview(ImportPreview),
    Changed(ImportResult),
}

/// Turns an OpenAPI document, or a description of gRPC methods, into a service: shows what would come of it, makes it, or changes the tools of one; with
/// `force` also where tools go that others refer to.
#[utoipa::path(post, path = "/services/{type}/import", tag = "services", request_body = Body,
    params(("type" = String, Path, description = "`api` or `svc`"), ("force" = Option<bool>, Query)),
    responses((status = 200, body = ImportAnswer, description = "What would come of it, or the service that was changed"),
        (status = 201, body = ImportResult), (status = 404),
        (status = 409), (status = 422)))]
pub(crate) async fn import(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(scheme): Path<String>,
    Query(query): Query<ImportQuery>,
    Json(mut body): Json<Body>,
) -> Result<Response> {
    signed_in.may_make_services()?;
    let kind = state.gateway.kind(&scheme).ok().filter(|kind| kind.import.is_some());
    let kind = kind.ok_or_else(|| Problem::not_found("importable type of service"))?;
    let request = request_of(&mut body)?;
    let given = request.config.clone();
    // Reading a description may mean asking the service, and with these settings.
    may_open(&signed_in, kind, &Value::Object(given.clone()))?;
    let imported = state.gateway.import(&signed_in.tenant, &scheme, request).await?;
    let id = body.id.clone().unwrap_or_else(|| imported.id.clone());
    let old = match body.mode {
        Mode::Create => None,
        Mode::Preview => found(&state, &signed_in, &scheme, &id).await?,
        Mode::Update => Some(state.store.services().get(&signed_in.tenant, &scheme, &id).await?),
    };
    let schema = schema_of(&state, &scheme);
    let old = match old {
        Some(old) => {
            let before = read_again(&state, &signed_in, &old, &imported).await;
            Some((old, before))
        }
        None => None,
    };
    let mut draft = Draft::new(scheme, id, imported, &body, given, old, &schema)?;
    let missed = draft.missed(&state, &signed_in).await?;
    match (body.mode, missed) {
        (Mode::Preview, missed) => {
            let missed = missed.map(|detail| tool::Problem::new("tools", "Referenced", detail));
            let problems = missed.into_iter().filter(|_| !query.force).collect();
            draft.preview(&state, &signed_in, problems).await.map(|preview| Answer(preview).into_response())
        }
        (_, Some(detail)) if !query.force => Err(Problem::new(Code::Referenced, detail)),
        (Mode::Create | Mode::Update, _) => draft.save(&state, &signed_in).await,
    }
}

/// The tools as the description that a service has kept makes them, without what users changed; none where it has kept none.
async fn read_again(
    state: &Shared,
    signed_in: &SignedIn,
    old: &Service,
    imported: &Imported,
) -> Vec<ImportedTool> {
    let kept = imported.described.keys().find_map(|field| old.config.get(field));
    // One that asks the service would say what it says now.
    let kept = kept.filter(|kept| kept.is_object() && kept.get("reflection") != Some(&Value::Bool(true)));
    let Some(kept) = kept else { return Vec::new() };
    let request = ImportRequest::all_of(ImportSource::Document(kept.clone()));
    let read = state.gateway.import(&signed_in.tenant, &old.scheme, request).await;
    read.map(|read| read.tools).unwrap_or_default()
}

async fn found(state: &Shared, signed_in: &SignedIn, scheme: &str, id: &str) -> Result<Option<Service>> {
    match state.store.services().get(&signed_in.tenant, scheme, id).await {
        Ok(service) => Ok(Some(service)),
        Err(error) if error.kind() == store::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn request_of(body: &mut Body) -> Result<ImportRequest> {
    let source = match (body.document.take(), body.url.take()) {
        (Some(Value::String(text)), None) => ImportSource::Text(text),
        (Some(document @ Value::Object(_)), None) => ImportSource::Document(document),
        (None, Some(url)) => ImportSource::Url(url),
        (Some(_), None) => {
            return Err(Problem::invalid_field("document", "the document must be an object or a text"));
        }
        (Some(_), Some(_)) => {
            return Err(Problem::invalid_field("url", "give either document or url, not both"));
        }
        (None, None) => {
            return Err(Problem::invalid_field("document", "give a document, or its url"));
        }
    };
    let mut config = body.config.clone();
    if let Some(base_url) = body.base_url.take() {
        config.insert("base_url".into(), base_url.into());
    }
    Ok(ImportRequest {
        source,
        include: patterns("include", std::mem::take(&mut body.include))?,
        exclude: patterns("exclude", std::mem::take(&mut body.exclude))?,
        server_variables: std::mem::take(&mut body.server_variables),
        config,
    })
}

fn patterns(path: &str, texts: Vec<String>) -> Result<Vec<Pattern>> {
    if texts.len() > MAX_PATTERNS || texts.iter().any(|text| text.len() > MAX_PATTERN_BYTES) {
        let message = format!("'{path}' takes at most {MAX_PATTERNS} patterns of {MAX_PATTERN_BYTES} bytes");
        return Err(Problem::invalid_field(path, message));
    }
    Ok(texts.into_iter().map(Pattern).collect())
}
