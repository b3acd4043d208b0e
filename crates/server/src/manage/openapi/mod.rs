//! The OpenAPI document, and the page to browse it.

pub(super) mod bodies;
mod rules;

use crate::Shared;
use crate::error::{Code, FieldProblem, ProblemBody};
use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use rules::complete;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use utoipa::PartialSchema;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Components, InfoBuilder, License, OpenApi, OpenApiBuilder, SecurityRequirement};
use utoipa_swagger_ui::{Config, SwaggerUi};

const DESCRIPTION: &str = "One governed door to everything an agent can call. \
    Send `Authorization: Bearer <key>` with every request but the sign-in. \
    Refusals are RFC 9457 problems; a tool that ran and failed is a 200 with `isError`. \
    A request acts on the tenant of its key; admins of the platform name another one with `?tenant_id=` in any request.";

const DOCUMENT: &str = "/api/openapi.json";

/// What the document says before the first path.
pub(super) fn head() -> OpenApi {
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let mut components = Components::new();
    components.add_security_scheme("bearer", bearer);
    for (name, schema) in [
        ("Problem", ProblemBody::schema()),
        ("FieldProblem", FieldProblem::schema()),
        ("Code", Code::schema()),
    ] {
        components.schemas.insert(name.to_owned(), schema);
    }
    let mut license = License::new("Apache-2.0");
    license.identifier = Some("Apache-2.0".into());
    let info = InfoBuilder::new()
        .title("mcp-all-in-one")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(license))
        .build();
    OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .security(Some([SecurityRequirement::new("bearer", [] as [&str; 0])]))
        .build()
}

/// The whole document as JSON text, the same at every run.
#[must_use]
pub fn document() -> String {
    serde_json::to_string_pretty(&whole()).unwrap_or_default()
}

fn whole() -> Value {
    let (_, document) = crate::manage::router(&crate::Options::default());
    complete(serde_json::to_value(document).unwrap_or_default())
}

/// `/api/openapi.json` and `/api/docs`, behind what stands before every path.
pub(crate) fn pages(base: &str) -> Router<Shared> {
    let document = format!("{base}{DOCUMENT}");
    let page = SwaggerUi::new(format!("{base}/api/docs")).config(Config::new([document.clone()]));
    // The document is made when it is first asked for: as a tree it takes megabytes.
    let text = Arc::new(OnceLock::<Bytes>::new());
    let base: Arc<str> = base.into();
    let serve = move || {
        let text = text.get_or_init(|| document_at(&base).into()).clone();
        std::future::ready(([(CONTENT_TYPE, "application/json")], text))
    };
    Router::from(page).route(&document, get(serve))
}

fn document_at(base: &str) -> String {
    let mut document = whole();
    if !base.is_empty() {
        document["servers"] = json!([{ "url": base }]);
    }
    document.to_string()
}
