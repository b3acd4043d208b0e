//! The OpenAPI document, and the page to browse it.

use crate::Shared;
use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use std::sync::{Arc, OnceLock};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{
    Components, InfoBuilder, License, OpenApi, OpenApiBuilder, SecurityRequirement, Server,
};
use utoipa_swagger_ui::{Config, SwaggerUi};

const DESCRIPTION: &str = "One governed door to everything an agent can call. \
    Send `Authorization: Bearer <key>` with every request but the sign-in. \
    Refusals are RFC 9457 problems; a tool that ran and failed is a 200 with `isError`.";

const DOCUMENT: &str = "/api/openapi.json";

/// What the document says before the first path.
pub(super) fn head() -> OpenApi {
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let mut components = Components::new();
    components.add_security_scheme("bearer", bearer);
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
    whole().to_pretty_json().unwrap_or_default()
}

fn whole() -> OpenApi {
    let (_, document) = super::router(&crate::Options::default());
    with_operation_ids(document)
}

/// Names each operation after its method and path, e.g. `get_services_type_id`: handlers in
/// different files have the same short names.
fn with_operation_ids(mut document: OpenApi) -> OpenApi {
    for (path, item) in &mut document.paths.paths {
        let words: Vec<_> = path
            .trim_start_matches("/api/v1")
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let name = words.join("_");
        let operations = [
            ("get", &mut item.get),
            ("post", &mut item.post),
            ("patch", &mut item.patch),
            ("put", &mut item.put),
            ("delete", &mut item.delete),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                operation.operation_id = Some(format!("{method}_{name}"));
            }
        }
    }
    document
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
        document.servers = Some(vec![Server::new(base)]);
    }
    document.to_json().unwrap_or_default()
}
