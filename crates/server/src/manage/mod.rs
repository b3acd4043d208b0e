//! REST: one file per resource, each with its paths, its bodies and its rules.

mod audit;
mod auth;
mod call;
mod csv;
pub(crate) mod error;
pub(crate) mod json;
mod keys;
mod masking;
mod mcp_tools;
mod openapi;
mod service_changes;
mod service_import;
mod service_references;
mod service_settings;
mod service_tools;
mod service_types;
mod services;
mod tenants;
mod time;
mod tool_draft;
mod tool_trial;
mod tool_versions;
mod tools;
mod users;

pub use openapi::document as openapi_document;
pub(crate) use openapi::pages as documentation;

use crate::{Options, Shared};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use error::{Code, Problem};
use std::time::Duration;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Every path below `/api/v1`, and what the OpenAPI document says about it.
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
        .routes(routes!(service_references::list))
        .routes(routes!(service_tools::list, service_tools::create))
        .routes(routes!(service_tools::get, service_tools::update, service_tools::delete))
        .routes(routes!(tools::list, tools::create))
        .routes(routes!(tools::get, tools::update, tools::delete))
        .routes(routes!(tool_trial::validate))
        .routes(routes!(tool_versions::list))
        .routes(routes!(tool_versions::rollback))
        .routes(routes!(mcp_tools::list))
        .routes(routes!(audit::list))
        .routes(routes!(audit::export))
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
    let all = manage.merge(call).merge(import);
    OpenApiRouter::with_openapi(openapi::head()).nest("/api/v1", all).split_for_parts()
}

/// The longest a request may wait, in answers of the database.
const STORE_ANSWERS: u32 = 3;

/// Answers for a handler that waits too long, which only a database that is gone makes it do.
async fn answer_within(State(time): State<Duration>, request: Request, next: Next) -> Response {
    let answer = tokio::time::timeout(time, next.run(request)).await;
    answer.unwrap_or_else(|_| {
        let detail =
            format!("there was no answer within {time:?}; the database may be gone, try again later");
        Problem::new(Code::Unavailable, detail).into_response()
    })
}
