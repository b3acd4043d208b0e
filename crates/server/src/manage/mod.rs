//! REST: one file per resource, each with its paths, its bodies and its rules.

mod agents;
mod approvals;
mod audit;
mod auth;
mod bindings;
mod call;
mod call_events;
mod catalog;
mod connect;
mod conversations;
mod csv;
mod doctor;
mod events;
mod flows;
mod inspection;
mod instances;
mod keys;
mod mcp_tools;
mod openapi;
mod preview;
mod recording;
mod runs;
mod secrets;
mod services;
mod session;
mod stats;
pub(crate) mod tables;
mod tenants;
pub(crate) mod time;
pub(crate) mod tools;
mod users;
mod words;

pub use openapi::document as openapi_document;
pub(crate) use openapi::pages as documentation;
pub(crate) use recording::{Recorder, record};

use crate::error::{Code, Problem};
use crate::pace::Pace;
use crate::{Options, Shared};
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Every path below `/api/v1`, and what the OpenAPI document says about it.
pub(crate) fn router(options: &Options) -> (Router<Shared>, OpenApi) {
    let time = options.store_timeout * STORE_ANSWERS;
    let of_store = access()
        .merge(services())
        .merge(tools())
        .merge(instances())
        .merge(flows())
        .merge(runs())
        .merge(records());
    let of_store = of_store.route_layer(from_fn_with_state(time, answer_within));
    let tables = tables()
        .route_layer(DefaultBodyLimit::max(options.max_body_bytes.max(TABLE_BODY_BYTES)))
        .route_layer(from_fn_with_state(time, answer_within));
    let calls = calls().route_layer(from_fn_with_state(options.call_timeout + time, answer_within));
    // Documents are larger than what anybody else sends, and fetching one takes as long as a call.
    let import = OpenApiRouter::new()
        .routes(routes!(services::import::import))
        .layer(DefaultBodyLimit::max(services::import::MAX_BODY_BYTES.max(options.max_body_bytes)))
        .route_layer(from_fn_with_state(options.call_timeout + time, answer_within));
    let all = of_store.merge(tables).merge(calls).merge(import);
    OpenApiRouter::with_openapi(openapi::head()).nest("/api/v1", all).split_for_parts()
}

fn access() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(auth::login))
        .routes(routes!(auth::logout))
        .routes(routes!(auth::me))
        .routes(routes!(session::create, session::delete))
        .routes(routes!(session::create_code))
        .routes(routes!(auth::change_password))
        .routes(routes!(tenants::list, tenants::create))
        .routes(routes!(tenants::get, tenants::update, tenants::delete))
        .routes(routes!(users::list, users::create))
        .routes(routes!(users::get, users::update, users::delete))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::get, keys::update, keys::delete))
}

fn services() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(services::types::list))
        .routes(routes!(services::list, services::create))
        .routes(routes!(services::get, services::update, services::delete))
        .routes(routes!(services::enable))
        .routes(routes!(services::disable))
        .routes(routes!(services::test::test))
        .routes(routes!(services::pins::get))
        .routes(routes!(services::pins::approve))
        .routes(routes!(services::references::list))
        .routes(routes!(services::tools::list, services::tools::create))
        .routes(routes!(services::tools::get, services::tools::update, services::tools::delete))
}

fn tools() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(tools::list, tools::create))
        .routes(routes!(tools::get, tools::update, tools::delete))
        .routes(routes!(tools::by_table::list))
        .routes(routes!(tools::search_index::create))
        .routes(routes!(tools::search_index::get))
        .routes(routes!(tools::trial::validate))
        .routes(routes!(tools::versions::list))
        .routes(routes!(tools::versions::rollback))
        .routes(routes!(mcp_tools::list))
}

fn instances() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(instances::list, instances::create))
        .routes(routes!(instances::get, instances::update, instances::delete))
        .routes(routes!(instances::rotate_key))
        .routes(routes!(connect::get))
        .routes(routes!(bindings::create))
        .routes(routes!(bindings::update, bindings::delete))
        .routes(routes!(bindings::list))
        .routes(routes!(bindings::list_by_key))
}

fn flows() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(flows::list, flows::create))
        .routes(routes!(flows::get, flows::update, flows::delete))
        .routes(routes!(flows::draft::put))
        .routes(routes!(flows::draft::validate))
        .routes(routes!(flows::publish::publish))
        .routes(routes!(flows::publish::rollback))
        .routes(routes!(flows::publish::enable))
        .routes(routes!(flows::publish::disable))
        .routes(routes!(flows::versions::list))
        .routes(routes!(flows::versions::get))
        .routes(routes!(flows::versions::diff))
        .routes(routes!(flows::references::list))
        .routes(routes!(flows::triggers::list))
        .routes(routes!(flows::triggers::enable))
        .routes(routes!(flows::triggers::disable))
        .routes(routes!(flows::triggers::rotate_secret))
}

fn records() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(audit::list))
        .routes(routes!(audit::export))
        .routes(routes!(inspection::get))
        .routes(routes!(doctor::get))
        .routes(routes!(events::follow))
        .routes(routes!(stats::get))
        .routes(routes!(stats::overview::get))
}

fn runs() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(runs::list))
        .routes(routes!(runs::bulk::bulk))
        .routes(routes!(runs::get))
        .routes(routes!(runs::steps::list))
        .routes(routes!(runs::events::follow))
        .routes(routes!(runs::cancel))
        .routes(routes!(runs::pause))
        .routes(routes!(runs::resume))
        .routes(routes!(runs::retry))
        .routes(routes!(runs::replay))
        .routes(routes!(runs::signal))
        .routes(routes!(runs::fire::fire))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::decide))
        .routes(routes!(conversations::list))
        .routes(routes!(conversations::get, conversations::delete))
}

fn tables() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(tables::list, tables::create))
        .routes(routes!(tables::get, tables::update, tables::delete))
        .routes(routes!(tables::data::get, tables::data::add, tables::data::put, tables::data::remove))
        .routes(routes!(tables::children::list))
        .routes(routes!(tables::data::versions))
        .routes(routes!(tables::data::restore))
        .routes(routes!(tables::files::create))
        .routes(routes!(tables::files::replace))
        .routes(routes!(tables::files::export))
}

fn calls() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(tools::trial::test))
        .routes(routes!(services::validate::validate))
        .routes(routes!(catalog::get))
        .routes(routes!(preview::render))
        .routes(routes!(preview::query))
        .routes(routes!(agents::list))
        .routes(routes!(agents::ask))
        .routes(routes!(call::call))
        .routes(routes!(runs::start::start))
        .routes(routes!(mcp_tools::call))
        .routes(routes!(tools::find::find))
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
