//! `/tables/{id}/children`: one level of a document, for those who look into it step by step.

use super::data::{DataQuery, look};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::{Paging, Path, Query};
use axum::Json as Answer;
use axum::extract::State;
use document::Node;
use serde::Serialize;
use tool::TableId;
use utoipa::ToSchema;

/// The most characters of a text that are shown.
const MAX_PREVIEW: usize = 120;

#[derive(Serialize, ToSchema)]
pub(crate) struct Children {
    /// `object`, `array`, or what stands alone at the place.
    #[serde(rename = "type")]
    kind: &'static str,
    /// How many there are.
    total: usize,
    items: Vec<Child>,
}

#[derive(Serialize, ToSchema)]
struct Child {
    /// A name of an object, or a number of an array.
    key: String,
    #[serde(rename = "type")]
    kind: &'static str,
    /// Fields, items or characters.
    size: Option<usize>,
    /// The beginning of what it says; nothing of objects and arrays.
    preview: Option<String>,
}

/// What is directly below a place of the document, page by page.
#[utoipa::path(get, path = "/tables/{id}/children", tag = "tables",
    params(("id" = String, Path), ("json_path" = Option<String>, Query, description = "A JSON Pointer, RFC 6901"),
        ("version" = Option<i64>, Query, description = "As it was in this version"),
        ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Children), (status = 404), (status = 422)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Query(query): Query<DataQuery>,
    Paging(page): Paging,
) -> Result<Answer<Children>> {
    signed_in.may_read()?;
    let (node, _) = look(&state, &signed_in, &id, &query).await?;
    let take = page.limit as usize;
    let skip = (page.page as usize - 1).saturating_mul(take);
    let total = size(&node).filter(|_| is_container(&node)).unwrap_or_default();
    let items = match &node {
        Node::Array(items) => {
            let numbered =
                (skip..total.min(skip.saturating_add(take))).filter_map(|at| Some((at, items.get(at)?)));
            numbered.map(|(at, item)| child(at.to_string(), item)).collect()
        }
        Node::Object(fields) => {
            fields.iter().skip(skip).take(take).map(|(name, value)| child(name.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    Ok(Answer(Children { kind: node.type_name(), total, items }))
}

fn is_container(node: &Node) -> bool {
    matches!(node, Node::Array(_) | Node::Object(_))
}

fn size(node: &Node) -> Option<usize> {
    match node {
        Node::Array(items) => Some(items.len()),
        Node::Object(fields) => Some(fields.len()),
        _ => node.as_text().map(|text| text.chars().count()),
    }
}

fn child(key: String, node: &Node) -> Child {
    let preview = (!is_container(node)).then(|| match node.as_text() {
        Some(text) => text.chars().take(MAX_PREVIEW).collect(),
        None => node.to_json(),
    });
    Child { key, kind: node.type_name(), size: size(node), preview }
}
