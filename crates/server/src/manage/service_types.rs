//! `/service-types`: what kinds of services there are, and what settings each takes.

use super::error::Result;
use crate::Shared;
use crate::auth::SignedIn;
use axum::Json as Answer;
use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(super) struct ServiceType {
    /// The type in URIs, e.g. `api`.
    #[serde(rename = "type")]
    scheme: &'static str,
    /// Its name for people.
    title: &'static str,
    /// JSON Schema of `config`; secrets are `writeOnly`.
    settings_schema: Value,
    /// JSON Schema of one entry of `tools`, for types whose tools users define.
    tool_schema: Option<Value>,
    /// Users define the tools of such services.
    has_user_tools: bool,
    /// Tools every service of this type has.
    fixed_tools: Vec<Value>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct ServiceTypes {
    items: Vec<ServiceType>,
    page: u32,
    limit: u32,
    total: usize,
}

/// Lists the types of services.
#[utoipa::path(get, path = "/service-types", tag = "services", responses((status = 200, body = ServiceTypes)))]
pub(super) async fn list(State(state): State<Shared>, signed_in: SignedIn) -> Result<Answer<ServiceTypes>> {
    signed_in.may_read()?;
    let items: Vec<_> =
        state.gateway.kinds().iter().filter(|kind| kind.ambient.is_none()).map(describe).collect();
    let total = items.len();
    Ok(Answer(ServiceTypes { items, page: 1, limit: 1000, total }))
}

fn describe(kind: &tool::Kind) -> ServiceType {
    let mut settings_schema = kind.settings_schema();
    let tools = settings_schema
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .filter(|_| kind.has_user_tools)
        .and_then(|properties| properties.shift_remove("tools"));
    let definitions = settings_schema.get("$defs").cloned();
    let tool_schema = tools.and_then(|mut tools| {
        let mut item = tools.get_mut("items")?.take();
        if let (Some(item), Some(definitions)) = (item.as_object_mut(), definitions) {
            item.insert("$defs".into(), definitions);
        }
        Some(item)
    });
    ServiceType {
        scheme: kind.scheme,
        title: kind.title,
        settings_schema,
        tool_schema,
        has_user_tools: kind.has_user_tools,
        fixed_tools: Vec::new(),
    }
}
