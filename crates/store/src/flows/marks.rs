//! How far triggers have come, and where those of tables begin: what changed before they were there is not theirs, all
//! that comes behind is.

use crate::database::Write;
use crate::{Result, row};
use serde_json::Value;
use tool::TenantId;

/// Triggers of the flow that have no mark yet begin with the version that their table has in this transaction.
pub(crate) async fn begin(write: &mut Write, tenant: &TenantId, flow: &str) -> Result<()> {
    let rows = sqlx::query(
        "SELECT name, settings FROM flow_triggers
         WHERE tenant = $1 AND flow = $2 AND type = 'table' AND mark IS NULL",
    )
    .bind(tenant.as_str())
    .bind(flow)
    .fetch_all(write.connection())
    .await?;
    for row in &rows {
        let Some(table) = table_of(&row::text(row, "settings")?) else { continue };
        sqlx::query(
            "UPDATE flow_triggers SET mark =
                 (SELECT CAST(version AS TEXT) FROM tables WHERE tenant = $1 AND id = $4)
             WHERE tenant = $1 AND flow = $2 AND name = $3",
        )
        .bind(tenant.as_str())
        .bind(flow)
        .bind(row::text(row, "name")?)
        .bind(row::clean(&table))
        .execute(write.connection())
        .await?;
    }
    Ok(())
}

/// The table that the settings of a trigger name.
pub(crate) fn table_of(settings: &str) -> Option<String> {
    let settings: Value = serde_json::from_str(settings).ok()?;
    settings["table"].as_str().map(str::to_owned)
}

/// What the mark of a trigger is about: how far it has come by one clock, in one table or one folder says nothing of any other.
pub(crate) fn place(kind: &str, settings: &str) -> Vec<Value> {
    let settings: Value = serde_json::from_str(settings).unwrap_or_default();
    let fields: &[&str] = match kind {
        "schedule" => &["cron", "timezone"],
        "table" => &["table"],
        "file" => &["from", "prefix"],
        _ => &[],
    };
    fields.iter().map(|field| settings[*field].clone()).collect()
}
