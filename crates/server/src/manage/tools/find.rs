//! `/tools/find`: what `find_tools` finds at MCP doors, for those who speak REST.

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::finish::finish;
use crate::json::Json;
use crate::manage::call::{Trace, context};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value};
use tool::{Arguments, Outcome};
use utoipa::ToSchema;

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents what ranking::Find reads")]
pub(crate) struct FindTools {
    /// What the tool is to do, in any language.
    #[schema(max_length = 1000, required = false)]
    query: Option<String>,
    /// Only tools of this service.
    #[schema(required = false)]
    service: Option<String>,
    /// Exactly these tools.
    #[schema(max_items = 100, required = false)]
    names: Option<Vec<String>>,
    /// The most tools; 5 unless given.
    #[schema(minimum = 1, maximum = 20, required = false)]
    limit: Option<u32>,
    /// `full` or `brief`.
    #[schema(value_type = Option<String>, required = false)]
    detail: Option<String>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "documents what ranking::VisibleTools writes")]
pub(crate) struct FoundTools {
    /// Definitions as in `tools/list`, with `service` and `score`; the best first.
    #[schema(value_type = Vec<Object>)]
    tools: Vec<Value>,
    /// How many tools match at all.
    total: usize,
    /// What there is, where no tool is told.
    #[schema(value_type = Option<Vec<Object>>)]
    services: Option<Vec<Value>>,
    /// What to do next.
    hint: String,
}

/// Finds tools among those that the caller may use. Without arguments it lists the services.
#[utoipa::path(post, path = "/tools/find", tag = "calls", request_body = FindTools,
    params(("tenant_id" = Option<String>, Query)),
    responses((status = 200, body = FoundTools), (status = 403), (status = 422)))]
pub(crate) async fn find(
    State(state): State<Shared>,
    signed_in: SignedIn,
    trace: Trace,
    Json(arguments): Json<Map<String, Value>>,
) -> Result<Response> {
    let cx = context(&state, signed_in, trace);
    let gateway = state.gateway.clone();
    let task = finish(&state.calls, async move { gateway.find_tools(&cx, Arguments::from(arguments)).await });
    let ended =
        task.await.map_err(|_| Problem::new(Code::Internal, "the search ended in a mistake of ours"))?;
    let found = match ended? {
        Outcome::Done(output) => output.data().map(String::from).unwrap_or_default(),
        Outcome::NeedsInput(_) | Outcome::Started(_) => String::new(),
    };
    Ok(([(CONTENT_TYPE, "application/json")], found).into_response())
}
