//! `/tools/by-table/{table_id}`: the Tools that lead to a table.

use super::error::Result;
use super::json::{Paging, Path};
use super::search_index;
use super::tables;
use super::tools::{ToolPage, ToolView, sees};
use crate::Shared;
use crate::auth::SignedIn;
use crate::tool_definition::table_of;
use axum::Json as Answer;
use axum::extract::State;
use tool::TableId;

/// Lists the caller's tools of a table: those that work on it, and those whose URI leads to it.
#[utoipa::path(get, path = "/tools/by-table/{table_id}", tag = "tools",
    params(("table_id" = String, Path), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = ToolPage), (status = 404)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Paging(page): Paging,
) -> Result<Answer<ToolPage>> {
    signed_in.may_read()?;
    tables::find(&state, &signed_in, &id).await?;
    let mut tools = state.store.tools().all(&signed_in.tenant).await?;
    tools.retain(|tool| sees(&signed_in, tool) && table_of(&tool.definition).as_ref() == Some(&id));
    let total = tools.len();
    let first = (page.page as usize - 1).saturating_mul(page.limit as usize);
    let shown = tools.into_iter().skip(first).take(page.limit as usize);
    let mut items: Vec<_> = shown.map(|tool| ToolView::new(&state, tool)).collect();
    search_index::mirror(&state, &signed_in.tenant, &mut items).await?;
    let total = i64::try_from(total).unwrap_or(i64::MAX);
    Ok(Answer(ToolPage { items, page: page.page, limit: page.limit, total }))
}
