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
mod service_settings;
mod service_tools;
mod service_types;
mod services;
mod tenants;
mod time;
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
    OpenApiRouter::with_openapi(openapi::head())
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
        .routes(routes!(services::references))
        .routes(routes!(service_tools::list, service_tools::create))
        .routes(routes!(service_tools::get, service_tools::update, service_tools::delete))
        .routes(routes!(call::call))
        .routes(routes!(mcp_tools::list))
        .routes(routes!(mcp_tools::call))
        .routes(routes!(audit::list))
        .routes(routes!(audit::export))
        .split_for_parts()
}
