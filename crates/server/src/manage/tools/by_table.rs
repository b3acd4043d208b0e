//! `/tools/by-table/{table_id}`: the Tools that lead to a table.

use super::search_index;
use super::{ToolView, sees};
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::json::{Page, Paging, Path};
use crate::manage::secrets::Visibility;
use crate::manage::tables;
use axum::Json as Answer;
use axum::extract::State;
use runtime::tool_definition::table_of;
use tool::TableId;

/// Lists the caller's tools of a table: those that work on it, and those whose URI leads to it.
#[utoipa::path(get, path = "/tools/by-table/{table_id}", tag = "tools",
    params(("table_id" = String, Path), ("page" = Option<u32>, Query), ("limit" = Option<u32>, Query)),
    responses((status = 200, body = Page<ToolView>), (status = 404)))]
pub(crate) async fn list(
    State(state): State<Shared>,
    signed_in: SignedIn,
    Path(id): Path<TableId>,
    Paging(page): Paging,
) -> Result<Answer<Page<ToolView>>> {
    signed_in.may_read()?;
    tables::find(&state, &signed_in, &id).await?;
    let mut tools = state.store.tools().all(&signed_in.tenant).await?;
    tools.retain(|tool| sees(&signed_in, tool) && table_of(&tool.definition).as_ref() == Some(&id));
    let visibility = Visibility::of(&signed_in);
    let mut page = Page::cut(tools, page, |tool| ToolView::new(&state, tool, visibility));
    search_index::mirror(&state, &signed_in.tenant, &mut page.items).await?;
    Ok(Answer(page))
}
