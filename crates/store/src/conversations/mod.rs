//! Conversations: what callers and agents have said to each other, sealed, for a while.

mod turns;

pub(crate) use turns::turn_place;
pub use turns::{NewTurn, Turn};

use crate::database::Write;
use crate::error::check_text;
use crate::page::List;
use crate::{Error, ErrorKind, Page, PageRequest, Result, Store, leases, row};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row as _};
use std::time::Duration;
use tool::TenantId;

/// As many as a caller may have at once.
const MOST_PER_CALLER: i64 = 1_000;
/// How many one transaction deletes, with everything that was said in them.
const STEP: i64 = 100;
const COLUMNS: &str = "id, agent, caller, caller_name, created_at, updated_at, expires_at,
     (SELECT COUNT(*) FROM conversation_turns t WHERE t.tenant = c.tenant AND t.conversation = c.id) AS turns";

/// A conversation, without what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Never changes.
    pub id: String,
    /// With which agent.
    pub agent: String,
    /// Whose it is, as kind and id.
    pub caller: String,
    /// The same for people.
    pub caller_name: String,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// When it is gone unless something is said. Milliseconds since 1970.
    pub expires_at: i64,
    /// How often something was asked and answered.
    pub turns: i64,
}

/// A conversation to be.
#[derive(Debug, Clone)]
pub struct NewConversation {
    /// What it will be known by.
    pub id: String,
    /// With which agent.
    pub agent: String,
    /// Whose it is, as kind and id.
    pub caller: String,
    /// The same for people.
    pub caller_name: String,
    /// It is gone after this unless something is said.
    pub time: Duration,
}

/// Which conversations; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct ConversationFilter {
    /// With this agent.
    pub agent: Option<String>,
    /// Of this caller.
    pub caller: Option<String>,
}

/// The conversations of all tenants.
#[derive(Debug, Clone, Copy)]
pub struct Conversations<'a>(pub(crate) &'a Store);

impl Conversations<'_> {
    /// Begins one, which is gone after its time unless something is said.
    pub async fn create(self, tenant: &TenantId, new: &NewConversation) -> Result<()> {
        let mut write = self.0.write().await?;
        begin(&mut write, tenant, new).await?;
        write.commit().await
    }

    /// The conversation, unless its time is over.
    pub async fn get(self, tenant: &TenantId, id: &str) -> Result<Conversation> {
        let now = leases::now(self.0.backend());
        let sql = format!(
            "SELECT {COLUMNS} FROM conversations c WHERE tenant = $1 AND id = $2 AND expires_at > {now}"
        );
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(row::clean(id))
            .fetch_optional(self.0.pool())
            .await?;
        decode(&row.ok_or_else(missing)?)
    }

    /// The tenant's conversations that fit, those that were used last first.
    pub async fn list(
        self,
        tenant: &TenantId,
        filter: &ConversationFilter,
        page: PageRequest,
    ) -> Result<Page<Conversation>> {
        let now = leases::now(self.0.backend());
        let fitting = format!(
            "tenant = $1 AND ($2 IS NULL OR agent = $2) AND ($3 IS NULL OR caller = $3) AND expires_at > {now}"
        );
        let bound = |sql: String| {
            sqlx::query(AssertSqlSafe(sql))
                .bind(tenant.as_str().to_owned())
                .bind(filter.agent.as_deref().map(row::clean))
                .bind(filter.caller.as_deref().map(row::clean))
        };
        let list = List {
            columns: COLUMNS,
            from: &format!("conversations c WHERE {fitting}"),
            order: "updated_at DESC, id DESC",
            values: 3,
        };
        let (rows, total) = page.read(self.0, &list, bound).await?;
        Ok(page.of(rows.iter().map(decode).collect::<Result<_>>()?, total))
    }

    /// Deletes it with everything that was said.
    pub async fn delete(self, tenant: &TenantId, id: &str) -> Result<()> {
        let mut write = self.0.write().await?;
        let done = sqlx::query("DELETE FROM conversations WHERE tenant = $1 AND id = $2")
            .bind(tenant.as_str())
            .bind(row::clean(id))
            .execute(write.connection())
            .await?;
        write.commit().await?;
        if done.rows_affected() == 0 { Err(missing()) } else { Ok(()) }
    }

    /// Deletes those whose time is over. Platform-wide.
    pub async fn sweep(self) -> Result<()> {
        loop {
            let mut write = self.0.write().await?;
            let now = leases::now(write.backend());
            let sql = format!(
                "DELETE FROM conversations WHERE (tenant, id) IN
                     (SELECT tenant, id FROM conversations WHERE expires_at <= {now} LIMIT {STEP})"
            );
            let done = sqlx::query(AssertSqlSafe(sql)).execute(write.connection()).await?;
            write.commit().await?;
            if done.rows_affected() < STEP.unsigned_abs() {
                return Ok(());
            }
        }
    }
}

/// Begins a conversation with whatever else is written at the same time.
pub(crate) async fn begin(write: &mut Write, tenant: &TenantId, new: &NewConversation) -> Result<()> {
    check_text("agent", &new.agent)?;
    let now = leases::now(write.backend());
    let count = format!(
        "SELECT COUNT(*) FROM (SELECT 1 FROM conversations WHERE tenant = $1 AND caller = $2 AND expires_at > {now}
         LIMIT {MOST_PER_CALLER}) AS live"
    );
    let count = sqlx::query(AssertSqlSafe(count)).bind(tenant.as_str()).bind(new.caller.as_str());
    let count: i64 = count.fetch_one(write.connection()).await?.try_get(0)?;
    if count >= MOST_PER_CALLER {
        let message = format!("a caller has at most {MOST_PER_CALLER} conversations; delete some first");
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    let sql = format!(
        "INSERT INTO conversations (tenant, id, agent, caller, caller_name, created_at, updated_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, {now}, {now}, {now} + $6)"
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str())
        .bind(new.id.as_str())
        .bind(new.agent.as_str())
        .bind(new.caller.as_str())
        .bind(row::clean(&new.caller_name))
        .bind(leases::milliseconds(new.time))
        .execute(write.connection())
        .await?;
    Ok(())
}

fn missing() -> Error {
    Error::not_found("conversation")
}

fn decode(row: &AnyRow) -> Result<Conversation> {
    Ok(Conversation {
        id: row::text(row, "id")?,
        agent: row::text(row, "agent")?,
        caller: row::text(row, "caller")?,
        caller_name: row::text(row, "caller_name")?,
        created_at: row::integer(row, "created_at")?,
        updated_at: row::integer(row, "updated_at")?,
        expires_at: row::integer(row, "expires_at")?,
        turns: row::integer(row, "turns")?,
    })
}
