//! Triggers: what starts the current version of a flow by itself.

use crate::database::Write;
use crate::error::check_text;
use crate::flows::{Flows, marks, secret_place};
use crate::vault::{random_bytes, random_text};
use crate::{Error, Result, Status, Store, meta, row};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use tool::{Secret, TenantId};

const COLUMNS: &str = "tenant, flow, name, type, settings, status, secret, hook, mark";

/// A trigger to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTrigger {
    /// Unique in its flow.
    pub name: String,
    /// What kind, e.g. `schedule`.
    pub kind: String,
    /// Everything else, as JSON.
    pub settings: String,
}

/// A trigger of a flow.
#[derive(Debug, Clone)]
pub struct Trigger {
    /// Where its flow belongs.
    pub tenant: TenantId,
    /// What it starts.
    pub flow: String,
    /// Unique in its flow.
    pub name: String,
    /// What kind, e.g. `schedule`.
    pub kind: String,
    /// Everything else, as JSON.
    pub settings: String,
    /// Whether it starts runs; it does not while its flow is disabled.
    pub is_enabled: bool,
    /// What senders prove themselves with.
    pub secret: Option<Secret>,
    /// The last part of its address, if it has one.
    pub hook: Option<String>,
    /// How far it has come, in words of its own.
    pub mark: Option<String>,
}

impl NewTrigger {
    pub(crate) fn check(&self) -> Result<()> {
        for (field, text) in [("name", &self.name), ("type", &self.kind), ("settings", &self.settings)] {
            check_text(field, text)?;
        }
        Ok(())
    }
}

impl Flows<'_> {
    /// The triggers of the flow, by name.
    pub async fn triggers(self, tenant: &TenantId, flow: &str) -> Result<Vec<Trigger>> {
        let sql =
            format!("SELECT {COLUMNS} FROM flow_triggers WHERE tenant = $1 AND flow = $2 ORDER BY name");
        let rows = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(row::clean(flow))
            .fetch_all(self.0.pool())
            .await?;
        rows.iter().map(|row| decode(self.0, row)).collect()
    }

    /// The triggers of a kind that start runs now. Platform-wide: for whoever watches over them.
    pub async fn live_triggers(self, kind: &str) -> Result<Vec<Trigger>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM flow_triggers t WHERE type = $1 AND status = 'active' AND EXISTS
                 (SELECT 1 FROM flows f JOIN tenants o ON o.id = f.tenant
                  WHERE f.tenant = t.tenant AND f.id = t.flow AND f.status = 'active' AND o.status = 'active')
             ORDER BY tenant, flow, name"
        );
        let rows = sqlx::query(AssertSqlSafe(sql)).bind(row::clean(kind)).fetch_all(self.0.pool()).await?;
        rows.iter().map(|row| decode(self.0, row)).collect()
    }

    /// The trigger with this address. Platform-wide: the address says whose it is.
    pub async fn trigger_of_hook(self, hook: &str) -> Result<Option<Trigger>> {
        let sql = format!("SELECT {COLUMNS} FROM flow_triggers WHERE hook = $1");
        let row =
            sqlx::query(AssertSqlSafe(sql)).bind(row::clean(hook)).fetch_optional(self.0.pool()).await?;
        row.map(|row| decode(self.0, &row)).transpose()
    }

    /// Lets the trigger start runs, or none. One that is let again begins without a mark.
    pub async fn set_trigger_enabled(
        self,
        tenant: &TenantId,
        flow: &str,
        name: &str,
        is_enabled: bool,
    ) -> Result<()> {
        let mut write = self.0.write().await?;
        // What came up while it was off stays where it is: it begins anew.
        let done = sqlx::query(
            "UPDATE flow_triggers SET status = $4, mark = CASE WHEN status <> $4 AND $4 = 'active' THEN NULL ELSE mark END
             WHERE tenant = $1 AND flow = $2 AND name = $3",
        )
        .bind(tenant.as_str())
        .bind(row::clean(flow))
        .bind(row::clean(name))
        .bind(Status::enabled(is_enabled).as_str())
        .execute(write.connection())
        .await?;
        if done.rows_affected() == 0 {
            return Err(Error::not_found("trigger"));
        }
        marks::begin(&mut write, tenant, flow).await?;
        // Every process is told: those who listen and those who look.
        write.commit_change(tenant).await
    }

    /// Remembers how far the trigger has come, if it is still set to what it was when it was read: of one that was published
    /// anew meanwhile that says nothing.
    pub async fn set_trigger_mark(self, trigger: &Trigger, mark: &str) -> Result<()> {
        check_text("mark", mark)?;
        let mut write = self.0.write().await?;
        let done = sqlx::query(
            "UPDATE flow_triggers SET mark = $4 WHERE tenant = $1 AND flow = $2 AND name = $3 AND settings = $5",
        )
        .bind(trigger.tenant.as_str())
        .bind(trigger.flow.as_str())
        .bind(trigger.name.as_str())
        .bind(mark)
        .bind(trigger.settings.as_str())
        .execute(write.connection())
        .await?;
        finish(write, done.rows_affected()).await
    }

    /// One trigger of the flow.
    pub async fn trigger(self, tenant: &TenantId, flow: &str, name: &str) -> Result<Trigger> {
        let sql =
            format!("SELECT {COLUMNS} FROM flow_triggers WHERE tenant = $1 AND flow = $2 AND name = $3");
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(row::clean(flow))
            .bind(row::clean(name))
            .fetch_optional(self.0.pool())
            .await?;
        decode(self.0, &row.ok_or_else(|| Error::not_found("trigger"))?)
    }

    /// Gives the trigger a new secret, and an address if it has none. The secret has a form that every way to sign
    /// takes: that of standardwebhooks.com.
    pub async fn rotate_trigger_secret(
        self,
        tenant: &TenantId,
        flow: &str,
        name: &str,
    ) -> Result<(String, Secret)> {
        let trigger = self.trigger(tenant, flow, name).await?;
        let hook = match trigger.hook {
            Some(hook) => hook,
            None => random_text::<18>()?.expose().to_owned(),
        };
        let secret = Secret::new(format!("whsec_{}", BASE64.encode(*random_bytes::<32>()?)));
        self.set_trigger_secret(tenant, flow, name, &hook, &secret).await?;
        Ok((hook, secret))
    }

    /// Gives the trigger an address and a secret, in the place of older ones.
    pub async fn set_trigger_secret(
        self,
        tenant: &TenantId,
        flow: &str,
        name: &str,
        hook: &str,
        secret: &Secret,
    ) -> Result<()> {
        let mut write = self.0.write().await?;
        let key_id = meta::sealing_key(self.0, &mut write).await?;
        let place = secret_place(tenant.as_str(), flow, name);
        let done = sqlx::query(
            "UPDATE flow_triggers SET secret = $4, hook = $5 WHERE tenant = $1 AND flow = $2 AND name = $3",
        )
        .bind(tenant.as_str())
        .bind(row::clean(flow))
        .bind(row::clean(name))
        .bind(self.0.vault().seal(&key_id, &place, secret.expose())?)
        .bind(row::clean(hook))
        .execute(write.connection())
        .await?;
        finish(write, done.rows_affected()).await
    }
}

async fn finish(write: Write, changed: u64) -> Result<()> {
    if changed == 0 {
        return Err(Error::not_found("trigger"));
    }
    write.commit().await
}

/// What came up while the flow was off stays where it is.
pub(crate) async fn begin_anew(write: &mut Write, tenant: &TenantId, flow: &str) -> Result<()> {
    sqlx::query(
        "UPDATE flow_triggers SET mark = NULL WHERE tenant = $1 AND flow = $2 AND EXISTS
             (SELECT 1 FROM flows WHERE tenant = $1 AND id = $2 AND status <> 'active')",
    )
    .bind(tenant.as_str())
    .bind(flow)
    .execute(write.connection())
    .await?;
    marks::begin(write, tenant, flow).await
}

/// Those that keep their name and kind keep their address and secret, and stay off if they were; their mark they keep if
/// it still says something.
pub(crate) async fn replace(
    write: &mut Write,
    tenant: &TenantId,
    flow: &str,
    triggers: &[NewTrigger],
) -> Result<()> {
    let rows = sqlx::query("SELECT name, type, settings FROM flow_triggers WHERE tenant = $1 AND flow = $2")
        .bind(tenant.as_str())
        .bind(flow)
        .fetch_all(write.connection())
        .await?;
    for row in &rows {
        let (name, kind) = (row::text(row, "name")?, row::text(row, "type")?);
        let place = marks::place(&kind, &row::text(row, "settings")?);
        let kept = triggers.iter().find(|trigger| trigger.name == name && trigger.kind == kind);
        let change = match kept {
            None => "DELETE FROM flow_triggers",
            Some(trigger) if marks::place(&kind, &trigger.settings) != place => {
                "UPDATE flow_triggers SET mark = NULL"
            }
            Some(_) => continue,
        };
        let sql = format!("{change} WHERE tenant = $1 AND flow = $2 AND name = $3");
        sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(flow)
            .bind(name)
            .execute(write.connection())
            .await?;
    }
    for trigger in triggers {
        sqlx::query(
            "INSERT INTO flow_triggers (tenant, flow, name, type, settings, status)
             VALUES ($1, $2, $3, $4, $5, 'active')
             ON CONFLICT (tenant, flow, name) DO UPDATE SET settings = excluded.settings",
        )
        .bind(tenant.as_str())
        .bind(flow)
        .bind(trigger.name.as_str())
        .bind(trigger.kind.as_str())
        .bind(trigger.settings.as_str())
        .execute(write.connection())
        .await?;
    }
    marks::begin(write, tenant, flow).await
}

fn decode(store: &Store, row: &AnyRow) -> Result<Trigger> {
    let (tenant, flow): (TenantId, _) = (row::parsed(row, "tenant")?, row::text(row, "flow")?);
    let name = row::text(row, "name")?;
    let place = secret_place(tenant.as_str(), &flow, &name);
    let secret = match row::optional_text(row, "secret")? {
        Some(sealed) => Some(Secret::new(store.vault().open(&place, &sealed)?.as_str())),
        None => None,
    };
    Ok(Trigger {
        tenant,
        flow,
        name,
        kind: row::text(row, "type")?,
        settings: row::text(row, "settings")?,
        is_enabled: Status::parse(&row::text(row, "status")?)? == Status::Active,
        secret,
        hook: row::optional_text(row, "hook")?,
        mark: row::optional_text(row, "mark")?,
    })
}
