//! Between rows and flows.

use crate::flows::{Flow, missing};
use crate::{Result, Status, row};
use sqlx::any::AnyRow;

pub(crate) const COLUMNS: &str =
    "tenant, id, name, status, owner, draft, revision, current_version, created_at, updated_at";

/// The same without the draft: a page of them would be hundreds of megabytes.
pub(crate) const BRIEF_COLUMNS: &str =
    "tenant, id, name, status, owner, '' AS draft, revision, current_version, created_at, updated_at";

/// Names of triggers hold no `/`, so every one has a place of its own.
pub(crate) fn secret_place(tenant: &str, flow: &str, name: &str) -> String {
    format!("flow-trigger/{tenant}/{flow}/{name}")
}

/// What the text filter looks at.
pub(crate) fn search_text(id: &str, name: &str) -> String {
    format!("{id}\n{name}").to_lowercase()
}

/// No flow has U+0000 in its name; PostgreSQL would not even look.
pub(crate) fn check_name(id: &str) -> Result<()> {
    if id.contains('\0') { Err(missing()) } else { Ok(()) }
}

pub(crate) fn decode(row: &AnyRow) -> Result<Flow> {
    Ok(Flow {
        tenant: row::parsed(row, "tenant")?,
        id: row::text(row, "id")?,
        name: row::text(row, "name")?,
        is_enabled: Status::parse(&row::text(row, "status")?)? == Status::Active,
        owner: row::text(row, "owner")?,
        draft: row::text(row, "draft")?,
        revision: row::integer(row, "revision")?,
        current: row::optional_integer(row, "current_version")?,
        created_at: row::integer(row, "created_at")?,
        updated_at: row::integer(row, "updated_at")?,
    })
}
