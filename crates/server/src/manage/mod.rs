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

use crate::Shared;
use axum::Router;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Every path below `/api/v1`, and what the OpenAPI document says about it.
pub(crate) fn router() -> (Router<Shared>, OpenApi) {
    let api = OpenApiRouter::new()
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
        .routes(routes!(tool_trial::test))
        .routes(routes!(tool_versions::list))
        .routes(routes!(tool_versions::rollback))
        .routes(routes!(call::call))
        .routes(routes!(mcp_tools::list))
        .routes(routes!(mcp_tools::call))
        .routes(routes!(audit::list))
        .routes(routes!(audit::export));
    OpenApiRouter::with_openapi(openapi::head()).nest("/api/v1", api).split_for_parts()
}
