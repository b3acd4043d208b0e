//! Flows: a draft that people work on, and published versions that never change.

mod marks;
mod publish;
mod read;
mod references;
mod row;
mod triggers;

pub use publish::{Publication, Published};
pub use read::{FlowFilter, FlowVersion};
pub use references::{NewReference, Reference};
pub(crate) use row::secret_place;
pub use triggers::{NewTrigger, Trigger};

use crate::database::Write;
use crate::error::check_text;
use crate::{Error, ErrorKind, Result, Status, Store, row as column};
use row::{check_name, search_text};
use serde::Serialize;
use tool::TenantId;

/// The version under which a draft stands among references.
pub(crate) const DRAFT: i64 = 0;

/// A flow as people know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flow {
    /// Where the flow belongs.
    pub tenant: TenantId,
    /// Its name in URIs, unique per tenant.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Whether new runs may begin.
    pub is_enabled: bool,
    /// The id of the key or user that made it.
    pub owner: String,
    /// The text that is worked on; it may be broken.
    pub draft: String,
    /// Grows with every change of the draft.
    pub revision: i64,
    /// The version that new runs take; `None` until one is published.
    pub current: Option<i64>,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
}

/// A draft to be. The caller has checked the flow's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDraft {
    /// The flow's name for people.
    pub name: String,
    /// The text.
    pub source: String,
    /// The services that it names, as far as it can be read.
    pub references: Vec<NewReference>,
}

/// The flows.
#[derive(Debug, Clone, Copy)]
pub struct Flows<'a>(pub(crate) &'a Store);

impl Flows<'_> {
    /// Adds a flow with nothing but a draft; a taken id is a conflict.
    pub async fn create(self, tenant: &TenantId, id: &str, draft: &NewDraft, owner: &str) -> Result<Flow> {
        check_text("id", id)?;
        check_draft(draft)?;
        let mut write = self.0.write().await?;
        sqlx::query(
            "INSERT INTO flows (tenant, id, name, search, status, owner, draft, revision, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $8)",
        )
        .bind(tenant.as_str())
        .bind(id)
        .bind(draft.name.as_str())
        .bind(search_text(id, &draft.name))
        .bind(Status::Active.as_str())
        .bind(owner)
        .bind(draft.source.as_str())
        .bind(column::now())
        .execute(write.connection())
        .await?;
        references::replace(&mut write, tenant, id, DRAFT, &draft.references).await?;
        self.finish(write, tenant, id).await
    }

    /// Puts another text in the place of the draft; with an expected revision, only if it is still that one.
    pub async fn save_draft(
        self,
        tenant: &TenantId,
        id: &str,
        draft: &NewDraft,
        expected_revision: Option<i64>,
    ) -> Result<Flow> {
        check_name(id)?;
        check_draft(draft)?;
        let mut write = self.0.write().await?;
        self.check_revision(&mut write, tenant, id, expected_revision).await?;
        sqlx::query(
            "UPDATE flows SET draft = $3, name = $4, search = $5, revision = revision + 1, updated_at = $6
             WHERE tenant = $1 AND id = $2",
        )
        .bind(tenant.as_str())
        .bind(id)
        .bind(draft.source.as_str())
        .bind(draft.name.as_str())
        .bind(search_text(id, &draft.name))
        .bind(column::now())
        .execute(write.connection())
        .await?;
        references::replace(&mut write, tenant, id, DRAFT, &draft.references).await?;
        self.finish(write, tenant, id).await
    }

    /// Lets new runs begin, or none. Those under way go on; triggers of a flow that is let again begin without a mark.
    pub async fn set_enabled(self, tenant: &TenantId, id: &str, is_enabled: bool) -> Result<Flow> {
        check_name(id)?;
        let mut write = self.0.write().await?;
        if is_enabled {
            triggers::begin_anew(&mut write, tenant, id).await?;
        }
        sqlx::query("UPDATE flows SET status = $3, updated_at = $4 WHERE tenant = $1 AND id = $2")
            .bind(tenant.as_str())
            .bind(id)
            .bind(Status::enabled(is_enabled).as_str())
            .bind(column::now())
            .execute(write.connection())
            .await?;
        self.finish(write, tenant, id).await
    }

    /// Deletes the flow with its versions and triggers, and the keys of its runs. As long as runs of it are under way, that is a conflict.
    pub async fn delete(self, tenant: &TenantId, id: &str) -> Result<()> {
        check_name(id)?;
        let mut write = self.0.write().await?;
        // Before the flow's row, as those who start a run do.
        forget_keys(&mut write, tenant, id).await?;
        // Held from here on, so that no run begins between the look and the end.
        self.check_revision(&mut write, tenant, id, None).await?;
        let row = sqlx::query(
            "SELECT COUNT(*) AS live FROM
                 (SELECT 1 FROM runs WHERE tenant = $1 AND flow = $2 AND ended_at IS NULL LIMIT 1) AS found",
        )
        .bind(tenant.as_str())
        .bind(id)
        .fetch_one(write.connection())
        .await?;
        if column::integer(&row, "live")? > 0 {
            return Err(Error::new(ErrorKind::Conflict, "runs of the flow are under way").at("runs"));
        }
        // What was started since the first time.
        forget_keys(&mut write, tenant, id).await?;
        sqlx::query("DELETE FROM flows WHERE tenant = $1 AND id = $2")
            .bind(tenant.as_str())
            .bind(id)
            .execute(write.connection())
            .await?;
        write.commit_change(tenant).await
    }

    /// Holds the flow's row until the transaction ends.
    pub(crate) async fn check_revision(
        self,
        write: &mut Write,
        tenant: &TenantId,
        id: &str,
        expected: Option<i64>,
    ) -> Result<()> {
        let row = sqlx::query(
            "UPDATE flows SET revision = revision WHERE tenant = $1 AND id = $2 RETURNING revision",
        )
        .bind(tenant.as_str())
        .bind(id)
        .fetch_optional(write.connection())
        .await?;
        let revision = column::integer(&row.ok_or_else(missing)?, "revision")?;
        match expected.is_some_and(|expected| expected != revision) {
            true => Err(Error::stale("flow")),
            false => Ok(()),
        }
    }

    async fn finish(self, mut write: Write, tenant: &TenantId, id: &str) -> Result<Flow> {
        let flow = self.read(write.connection(), tenant, id).await?;
        write.commit_change(tenant).await?;
        Ok(flow)
    }
}

/// What was started once was started of this flow, and of none that comes after it.
async fn forget_keys(write: &mut Write, tenant: &TenantId, id: &str) -> Result<()> {
    sqlx::query("DELETE FROM run_dedupe WHERE tenant = $1 AND flow = $2")
        .bind(tenant.as_str())
        .bind(id)
        .execute(write.connection())
        .await?;
    Ok(())
}

pub(crate) fn missing() -> Error {
    Error::not_found("flow")
}

fn check_draft(draft: &NewDraft) -> Result<()> {
    check_text("name", &draft.name)?;
    check_text("source", &draft.source)?;
    draft.references.iter().try_for_each(NewReference::check)
}
