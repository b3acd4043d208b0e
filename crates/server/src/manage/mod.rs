//! REST: one file per resource, each with its paths, its bodies and its rules.

mod audit;
mod auth;
mod bindings;
mod call;
mod csv;
pub(crate) mod error;
mod instances;
pub(crate) mod json;
mod keys;
mod masking;
mod mcp_tools;
mod moving;
mod openapi;
mod openapi_rules;
mod recording;
mod search_index;
mod service_changes;
mod service_import;
mod service_pins;
mod service_references;
mod service_settings;
mod service_tools;
mod service_types;
mod services;
mod table_data;
mod table_files;
pub(crate) mod tables;
mod tenants;
pub(crate) mod time;
mod tool_draft;
mod tool_trial;
mod tool_versions;
mod tools;
pub(crate) mod tools_by_table;
mod users;
mod words;

pub use openapi::document as openapi_document;
pub(crate) use openapi::pages as documentation;
pub(crate) use recording::{Recorder, record};

use crate::pace::Pace;
use crate::{Options, Shared};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use error::{Code, Problem};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Every path below `/api/v1`, and what the OpenAPI document says about it.
#[expect(clippy::too_many_lines, reason = "a list: one line for each path")]
pub(crate) fn router(options: &Options) -> (Router<Shared>, OpenApi) {
    let time = options.store_timeout * STORE_ANSWERS;
    let manage = OpenApiRouter::new()
        .routes(routes!(auth::login))
        .routes(routes!(auth::logout))
        .routes(routes!(auth::me))
        .routes(routes!(auth::change_password))
        .routes(routes!(tenants::list, tenants::create))
        .routes(routes!(tenants::get, tenants::update, tenants::delete))
        .routes(routes!(users::list, users::create))
        .routes(routes!(users::get, users::update, users::delete))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::get, keys::update, keys::delete))
        .routes(routes!(service_types::list))
        .routes(routes!(services::list, services::create))
        .routes(routes!(services::get, services::update, services::delete))
        .routes(routes!(services::enable))
        .routes(routes!(services::disable))
        .routes(routes!(services::test))
        .routes(routes!(service_pins::get))
        .routes(routes!(service_pins::approve))
        .routes(routes!(service_references::list))
        .routes(routes!(service_tools::list, service_tools::create))
        .routes(routes!(service_tools::get, service_tools::update, service_tools::delete))
        .routes(routes!(tools::list, tools::create))
        .routes(routes!(tools::get, tools::update, tools::delete))
        .routes(routes!(tools_by_table::list))
        .routes(routes!(search_index::create))
        .routes(routes!(search_index::get))
        .routes(routes!(tool_trial::validate))
        .routes(routes!(tool_versions::list))
        .routes(routes!(tool_versions::rollback))
        .routes(routes!(mcp_tools::list))
        .routes(routes!(instances::list, instances::create))
        .routes(routes!(instances::get, instances::update, instances::delete))
        .routes(routes!(instances::rotate_key))
        .routes(routes!(bindings::create))
        .routes(routes!(bindings::update, bindings::delete))
        .routes(routes!(bindings::list))
        .routes(routes!(bindings::list_by_key))
        .routes(routes!(audit::list))
        .routes(routes!(audit::export))
        .route_layer(from_fn_with_state(time, answer_within));
    let tables = OpenApiRouter::new()
        .routes(routes!(tables::list, tables::create))
        .routes(routes!(tables::get, tables::update, tables::delete))
        .routes(routes!(table_data::get, table_data::add, table_data::put, table_data::remove))
        .routes(routes!(table_data::versions))
        .routes(routes!(table_data::restore))
        .routes(routes!(table_files::create))
        .routes(routes!(table_files::replace))
        .routes(routes!(table_files::export))
        .route_layer(DefaultBodyLimit::max(options.max_body_bytes.max(TABLE_BODY_BYTES)))
        .route_layer(from_fn_with_state(time, answer_within));
    let call = OpenApiRouter::new()
        .routes(routes!(tool_trial::test))
        .routes(routes!(call::call))
        .routes(routes!(mcp_tools::call))
        .route_layer(from_fn_with_state(options.call_timeout + time, answer_within));
    // Documents are larger than what anybody else sends, and fetching one takes as long as a call.
    let import = OpenApiRouter::new()
        .routes(routes!(service_import::import))
        .layer(DefaultBodyLimit::max(service_import::MAX_BODY_BYTES.max(options.max_body_bytes)))
        .route_layer(from_fn_with_state(options.call_timeout + time, answer_within));
    let all = manage.merge(tables).merge(call).merge(import);
    OpenApiRouter::with_openapi(openapi::head()).nest("/api/v1", all).split_for_parts()
}

/// The largest document of a table, and what stands around it in a body.
const TABLE_BODY_BYTES: usize = store::MAX_DOCUMENT_BYTES + 64 * 1024;

/// The longest a request may wait, in answers of the database.
const STORE_ANSWERS: u32 = 3;

/// Answers for a handler that waits too long, which only a database that is gone makes it do. A client that is slow to
/// send its body has a limit of its own.
async fn answer_within(State(time): State<Duration>, request: Request, next: Next) -> Response {
    let pace = request.extensions().get::<Arc<Pace>>().cloned();
    let mut answer = pin!(next.run(request));
    loop {
        if let Ok(answer) = tokio::time::timeout(time, answer.as_mut()).await {
            return answer;
        }
        if !pace.as_ref().is_some_and(|pace| pace.is_awaiting_body()) {
            break;
        }
    }
    let detail = format!("there was no answer within {time:?}; the database may be gone, try again later");
    Problem::new(Code::Unavailable, detail).into_response()
}
