//! `/service-types`: what kinds of services there are, and what settings each takes.

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::Page;
use axum::Json as Answer;
use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct ServiceType {
    /// The type in URIs, e.g. `api`.
    #[serde(rename = "type")]
    scheme: &'static str,
    /// Its name for people.
    title: &'static str,
    /// JSON Schema of `config`; secrets are `writeOnly`. Each field has a `title`, and in `x-ui` its `group`, `order`,
    /// whether it is `advanced`, the `alias` it is another name of, `when` it counts, and its words in Chinese (`zh`).
    settings_schema: Value,
    /// JSON Schema of one entry of `tools`, for types whose tools users define.
    tool_schema: Option<Value>,
    /// Users define the tools of such services.
    has_user_tools: bool,
    /// The names of tools that every service of this type has, or has unless its settings say otherwise.
    fixed_tools: &'static [&'static str],
}

/// Lists the types of services.
#[utoipa::path(get, path = "/service-types", tag = "services", responses((status = 200, body = Page<ServiceType>)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
) -> Result<Answer<Page<ServiceType>>> {
    signed_in.may_read()?;
    let items = state.gateway.kinds().iter().filter(|kind| kind.ambient.is_none()).map(describe).collect();
    Ok(Answer(Page::whole(items)))
}

fn describe(kind: &tool::Kind) -> ServiceType {
    let mut settings_schema = kind.form_schema();
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
        fixed_tools: kind.fixed_tools,
    }
}
