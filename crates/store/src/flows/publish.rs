//! Publishing: a text becomes a version that never changes, and what new runs take.

use crate::database::Write;
use crate::error::check_text;
use crate::flows::row::check_name;
use crate::flows::{Flow, Flows, NewReference, NewTrigger, read, references, triggers};
use crate::{Result, row as column};
use tool::TenantId;

/// What a text is published with. The caller has checked the text and found all this in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The text: the draft's, or that of an older version.
    pub source: String,
    /// The parameters that are bound by name, as JSON.
    pub bound: String,
    /// The services that it names.
    pub references: Vec<NewReference>,
    /// What starts it by itself.
    pub triggers: Vec<NewTrigger>,
    /// The id of the key or user that publishes it.
    pub published_by: String,
    /// What that one may reach, as JSON.
    pub rights: Option<String>,
}

/// What came of publishing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The flow, with the version that is current now.
    pub flow: Flow,
    /// Not if the current version has that very text already, from somebody with the same rights.
    pub is_new: bool,
}

impl Flows<'_> {
    /// Publishes the text as the next version; with an expected revision of the draft, only if it is still that one. A
    /// rollback publishes the text of an older version.
    pub async fn publish(
        self,
        tenant: &TenantId,
        id: &str,
        publication: &Publication,
        expected_revision: Option<i64>,
    ) -> Result<Published> {
        check_name(id)?;
        check(publication)?;
        let mut write = self.0.write().await?;
        self.check_revision(&mut write, tenant, id, expected_revision).await?;
        let flow = self.read(write.connection(), tenant, id).await?;
        if let Some(current) = flow.current {
            let current = read::read_version(write.connection(), tenant, id, current).await?;
            let is_same = |current: read::FlowVersion| {
                current.source == publication.source && current.rights == publication.rights
            };
            if current.is_some_and(is_same) {
                write.commit().await?;
                return Ok(Published { flow, is_new: false });
            }
        }
        let version = insert_version(&mut write, tenant, id, publication).await?;
        references::replace(&mut write, tenant, id, version, &publication.references).await?;
        triggers::replace(&mut write, tenant, id, &publication.triggers).await?;
        let flow = self.read(write.connection(), tenant, id).await?;
        write.commit_change(tenant).await?;
        Ok(Published { flow, is_new: true })
    }
}

fn check(publication: &Publication) -> Result<()> {
    check_text("source", &publication.source)?;
    check_text("bound", &publication.bound)?;
    check_text("published_by", &publication.published_by)?;
    check_text("rights", publication.rights.as_deref().unwrap_or_default())?;
    publication.references.iter().try_for_each(NewReference::check)?;
    publication.triggers.iter().try_for_each(NewTrigger::check)
}

/// The numbers of a flow whose row is locked have no gaps, and none is that of a run: runs know no more of their text than
/// its number, and outlive a flow that is deleted and made again.
async fn insert_version(
    write: &mut Write,
    tenant: &TenantId,
    id: &str,
    publication: &Publication,
) -> Result<i64> {
    let row = sqlx::query(
        "INSERT INTO flow_versions (tenant, flow, version, source, bound, published_by, at, rights)
         SELECT $1, $2, COALESCE(MAX(version), 0) + 1, $3, $4, $5, $6, $7 FROM
             (SELECT version FROM flow_versions WHERE tenant = $1 AND flow = $2
              UNION ALL SELECT version FROM runs WHERE tenant = $1 AND flow = $2) AS used
         RETURNING version",
    )
    .bind(tenant.as_str())
    .bind(id)
    .bind(publication.source.as_str())
    .bind(publication.bound.as_str())
    .bind(publication.published_by.as_str())
    .bind(column::now())
    .bind(publication.rights.as_deref())
    .fetch_one(write.connection())
    .await?;
    let version = column::integer(&row, "version")?;
    sqlx::query("UPDATE flows SET current_version = $3, updated_at = $4 WHERE tenant = $1 AND id = $2")
        .bind(tenant.as_str())
        .bind(id)
        .bind(version)
        .bind(column::now())
        .execute(write.connection())
        .await?;
    Ok(version)
}
