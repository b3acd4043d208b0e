//! `/tools/search` and `/tools/{id}/search-index`: Tools that search, and how far their indexes are.

use super::{ToolCreate, ToolView, create_from, find};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::json::{Json, Path};
use crate::manage::time;
use crate::manage::words;
use axum::Json as Answer;
use axum::extract::State;
use http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value, json};
use store::{IndexStatus, SearchIndex};
use tool::search::TOOL_TYPE;
use tool::{TenantId, ToolId};
use utoipa::ToSchema;

/// The field of `metadata` that shows the index.
pub(crate) const MIRROR: &str = "search_index";

#[derive(Serialize, ToSchema)]
pub(crate) struct SearchIndexView {
    #[schema(value_type = words::IndexStatus)]
    status: &'static str,
    /// When it was last ready.
    indexed_at: Option<String>,
    /// Texts below the mount.
    nodes_count: i64,
    /// Parts of those texts.
    chunks_count: i64,
    /// Parts that can be found by now.
    indexed_chunks_count: i64,
    /// Why the last attempt failed; it is tried again.
    last_error: Option<String>,
}

impl From<&SearchIndex> for SearchIndexView {
    fn from(index: &SearchIndex) -> Self {
        Self {
            status: index.status.as_str(),
            indexed_at: index.indexed_at.map(time::show),
            nodes_count: index.nodes_count,
            chunks_count: index.chunks_count,
            indexed_chunks_count: index.indexed_chunks_count,
            last_error: index.last_error.clone(),
        }
    }
}

/// Makes a tool of type `search`; its index is made in the background.
#[utoipa::path(post, path = "/tools/search", tag = "tools", request_body = ToolCreate,
    responses((status = 201, body = ToolView), (status = 404), (status = 409), (status = 422)))]
pub(crate) async fn create(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Json(mut body): Json<Map<String, Value>>,
) -> Result<(StatusCode, Answer<ToolView>)> {
    let kind = body.entry("type").or_insert_with(|| TOOL_TYPE.into());
    if kind.is_null() {
        *kind = TOOL_TYPE.into();
    }
    if *kind != TOOL_TYPE {
        return Err(Problem::invalid_field("type", "tools of other types are made at /tools"));
    }
    create_from(&state, &signed_in, body).await
}

/// How far the index of a tool of type `search` is.
#[utoipa::path(get, path = "/tools/{id}/search-index", tag = "tools", params(("id" = String, Path)),
    responses((status = 200, body = SearchIndexView), (status = 404)))]
pub(crate) async fn get(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<ToolId>,
) -> Result<Answer<SearchIndexView>> {
    signed_in.may_read()?;
    find(&state, &signed_in, &id).await?;
    let index = state.store.search().get(&signed_in.tenant, &id).await?;
    Ok(Answer((&index).into()))
}

/// Shows a new tool's index as it was when the tool was made, however fast the worker is.
pub(crate) fn mirror_new(tool: &mut ToolView) {
    let shown = tool.definition.get_mut("metadata").and_then(|metadata| metadata.get_mut(MIRROR));
    if let Some(shown) = shown {
        shown["status"] = IndexStatus::Pending.as_str().into();
        shown["indexed_at"] = Value::Null;
        for count in ["nodes_count", "chunks_count", "indexed_chunks_count"] {
            shown[count] = 0.into();
        }
    }
}

/// Shows the indexes in the `metadata` of the tools that have one.
pub(crate) async fn mirror(state: &Shared, tenant: &TenantId, tools: &mut [ToolView]) -> Result<()> {
    if tools.iter().all(|tool| tool.kind != TOOL_TYPE) {
        return Ok(());
    }
    let indexes = match tools {
        [tool] => vec![state.store.search().get(tenant, &tool.tool_id()?).await?],
        _ => state.store.search().all(tenant).await?,
    };
    for tool in tools.iter_mut() {
        let Some(index) = indexes.iter().find(|index| index.tool.as_str() == tool.id) else { continue };
        let metadata = tool.definition.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert(MIRROR.into(), mirrored(index));
        }
    }
    Ok(())
}

fn mirrored(index: &SearchIndex) -> Value {
    let mut shown = json!(SearchIndexView::from(index));
    shown["table_version"] = index.table_version.into();
    shown["attempts"] = index.attempts.into();
    shown["embedding_model"] = Some(&index.model).filter(|model| !model.is_empty()).cloned().into();
    shown["chunk_characters"] = 1000.into();
    shown["chunk_overlap"] = 100.into();
    shown
}
