//! `/templates/render` and `/jmespath`: what comes of a template or an expression, while it is being written.

use super::call::{Trace, context};
use super::tables::data::{DataQuery, look};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use document::Node;
use gateway::{Mistake, Preview};
use http::header::CONTENT_TYPE;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tool::TableId;
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TemplatePreview {
    /// As in a tool's `response_template`.
    template: String,
    /// The answer that it is to tell: any JSON.
    #[schema(value_type = serde_json::Value)]
    sample: Box<RawValue>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct Rendered {
    /// What the template makes of the sample; null where it fails.
    output: Option<String>,
    errors: Vec<PreviewError>,
    /// What it took, in microseconds.
    us: u64,
}

/// What is wrong, and where.
#[derive(Serialize, ToSchema)]
pub(super) struct PreviewError {
    /// From 1; null where it is at no place.
    line: Option<usize>,
    column: Option<usize>,
    message: String,
}

impl From<Mistake> for PreviewError {
    fn from(Mistake { position, message }: Mistake) -> Self {
        let (line, column) = position.unzip();
        Self { line, column, message }
    }
}

/// What a response template makes of a sample, as calls would render it.
#[utoipa::path(post, path = "/templates/render", tag = "tools", request_body = TemplatePreview,
    responses((status = 200, body = Rendered), (status = 422)))]
pub(super) async fn render(
    State(state): State<Shared>,
    signed_in: SignedIn,
    trace: Trace,
    Json(body): Json<TemplatePreview>,
) -> Result<axum::Json<Rendered>> {
    signed_in.may_read()?;
    let cx = context(&state, signed_in, trace);
    let sample = String::from(Box::<str>::from(body.sample));
    let Preview { output, time } = state.gateway.preview_template(&cx, body.template, sample).await?;
    let (output, errors) = match output {
        Ok(text) => (Some(text), Vec::new()),
        Err(mistake) => (None, vec![mistake.into()]),
    };
    Ok(axum::Json(Rendered { output, errors, us: microseconds(time) }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryPreview {
    expression: String,
    /// Any JSON; or a table and a place in it.
    #[schema(value_type = Option<serde_json::Value>)]
    data: Option<Box<RawValue>>,
    table_id: Option<String>,
    /// Where in the table.
    #[serde(default)]
    json_path: String,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents what is written as text")]
pub(super) struct Picked {
    /// What the expression picks; null where it fails.
    data: serde_json::Value,
    errors: Vec<PreviewError>,
    /// What it took, in microseconds.
    us: u64,
}

/// What a JMESPath expression picks, from JSON in the body or from a table.
#[utoipa::path(post, path = "/jmespath", tag = "tools", request_body = QueryPreview,
    responses((status = 200, body = Picked), (status = 404), (status = 422)))]
pub(super) async fn query(
    State(state): State<Shared>,
    signed_in: SignedIn,
    trace: Trace,
    Json(body): Json<QueryPreview>,
) -> Result<Response> {
    signed_in.may_read()?;
    let data = match (body.data, body.table_id) {
        (Some(data), None) => {
            let parsed = tokio::task::spawn_blocking(move || Node::parse(data.get())).await;
            let parsed = parsed.ok().and_then(std::result::Result::ok);
            parsed.ok_or_else(|| Problem::invalid_field("data", "'data' is no JSON that can be searched"))?
        }
        (None, Some(id)) => {
            let id: TableId = id.parse().map_err(|_| Problem::not_found("table"))?;
            let place = DataQuery { json_path: body.json_path, version: None };
            look(&state, &signed_in, &id, &place).await?.0
        }
        _ => return Err(Problem::invalid_field("data", "give either 'data' or 'table_id'")),
    };
    let cx = context(&state, signed_in, trace);
    let Preview { output, time } = state.gateway.preview_query(&cx, body.expression, data).await?;
    let (data, errors) = match output {
        Ok(json) => (json, Vec::new()),
        Err(mistake) => ("null".to_owned(), vec![PreviewError::from(mistake)]),
    };
    let errors = serde_json::to_string(&errors).unwrap_or_default();
    let text = format!(r#"{{"data":{data},"errors":{errors},"us":{}}}"#, microseconds(time));
    Ok(([(CONTENT_TYPE, "application/json")], text).into_response())
}

fn microseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
