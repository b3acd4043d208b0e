//! Reading runs: one, a page, what they were given and gave.

use crate::page::{List, Query};
use crate::runs::row::{COLUMNS, decode, decode_data};
use crate::runs::{Run, RunData, Runs, State, missing};
use crate::{Page, PageRequest, Result, row as column};
use sqlx::{AnyConnection, AssertSqlSafe};
use tool::{RunId, TenantId};

/// The runs of a tenant, which is `$1`, that fit a filter.
const LIST: List<'static> = List {
    columns: COLUMNS,
    from: "runs WHERE tenant = $1 AND ($2 IS NULL OR flow = $2) AND ($3 IS NULL OR state = $3)
    AND ($4 IS NULL OR parent = $4) AND ($5 IS NULL OR created_at >= $5) AND ($6 IS NULL OR created_at < $6)
    AND ($7 IS NULL OR SUBSTR(caller, 1, LENGTH($7)) = $7) AND ($8 IS NULL OR ($8 = 1) = (ended_at IS NULL))
    AND ($9 IS NULL OR agent IS NULL OR SUBSTR(caller, 1, LENGTH($9)) = $9)
    AND ($10 IS NULL OR REPLACE($10, ' ' || flow || ' ', '') <> $10 OR SUBSTR(caller, 1, LENGTH($11)) = $11)",
    order: "created_at DESC, id DESC",
    values: 11,
};

/// Which runs to list; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Of this flow.
    pub flow: Option<String>,
    /// In this state.
    pub state: Option<State>,
    /// Children of this run.
    pub parent: Option<RunId>,
    /// Accepted at or after this time. Milliseconds since 1970.
    pub from: Option<i64>,
    /// Accepted before this time. Milliseconds since 1970.
    pub to: Option<i64>,
    /// On behalf of those whose JSON begins so.
    pub caller_prefix: Option<String>,
    /// Those that have not ended, or only those that have.
    pub is_live: Option<bool>,
    /// Of agents only those on behalf of those whose JSON begins so.
    pub agents_caller_prefix: Option<String>,
    /// Only what is on somebody's list.
    pub listed: Option<Listed>,
}

/// What there are runs of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The id of a flow, or the address of an agent.
    pub flow: String,
    /// The agent, if it is one.
    pub agent: Option<String>,
}

/// What somebody may see who has a list.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Runs of these flows, and of these agents by address.
    pub flows: Vec<String>,
    /// And those on behalf of those whose JSON begins so.
    pub caller_prefix: String,
}

impl Listed {
    /// Neither ids nor addresses hold a space, so that each is found between two.
    fn text(&self) -> String {
        self.flows.iter().fold(" ".to_owned(), |text, flow| format!("{text} {flow} "))
    }
}

impl Runs<'_> {
    /// The run.
    pub async fn get(self, tenant: &TenantId, id: &RunId) -> Result<Run> {
        self.read(&mut *self.0.pool().acquire().await?, tenant, id).await
    }

    /// What the run was given and gave.
    pub async fn data(self, tenant: &TenantId, id: &RunId) -> Result<RunData> {
        let row = sqlx::query(
            "SELECT tenant, run, source, inputs, output, error FROM run_data WHERE tenant = $1 AND run = $2",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .fetch_optional(self.0.pool())
        .await?;
        decode_data(self.0.vault(), &row.ok_or_else(missing)?)
    }

    /// The tenant's runs that fit the filter, newest first.
    pub async fn list(self, tenant: &TenantId, filter: &RunFilter, page: PageRequest) -> Result<Page<Run>> {
        let (rows, total) = page.read_long(self.0, &LIST, |sql| filtered(sql, tenant, filter)).await?;
        Ok(page.of(rows.iter().map(decode).collect::<Result<_>>()?, total))
    }

    /// The first page of [`Runs::list`], for those who ask often: nobody counts the rest.
    pub async fn newest(self, tenant: &TenantId, filter: &RunFilter, limit: u32) -> Result<Vec<Run>> {
        let page = PageRequest { page: 1, limit };
        let rows = page.select(&LIST, |sql| filtered(sql, tenant, filter)).fetch_all(self.0.pool()).await?;
        rows.iter().map(decode).collect()
    }

    /// What there are runs of: flows, those that are gone among them, and agents.
    pub async fn subjects(self, tenant: &TenantId) -> Result<Vec<Subject>> {
        let rows = sqlx::query("SELECT DISTINCT flow, agent FROM runs WHERE tenant = $1")
            .bind(tenant.as_str())
            .fetch_all(self.0.pool())
            .await?;
        let subject = |row| {
            let (flow, agent) = (column::text(row, "flow")?, column::optional_text(row, "agent")?);
            Ok(Subject { flow, agent })
        };
        rows.iter().map(subject).collect()
    }

    /// A run of the flow that was started by this, as its JSON says, has not ended.
    pub async fn is_live(self, tenant: &TenantId, flow: &str, origin: &str) -> Result<bool> {
        let found = sqlx::query(
            "SELECT id FROM runs WHERE tenant = $1 AND flow = $2 AND ended_at IS NULL AND origin = $3 LIMIT 1",
        )
        .bind(tenant.as_str())
        .bind(column::clean(flow))
        .bind(column::clean(origin))
        .fetch_optional(self.0.pool())
        .await?;
        Ok(found.is_some())
    }

    pub(crate) async fn read(
        self,
        connection: &mut AnyConnection,
        tenant: &TenantId,
        id: &RunId,
    ) -> Result<Run> {
        let sql = format!("SELECT {COLUMNS} FROM runs WHERE tenant = $1 AND id = $2");
        let row = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(id.as_str())
            .fetch_optional(connection)
            .await?;
        decode(&row.ok_or_else(missing)?)
    }
}

fn filtered<'q>(sql: String, tenant: &TenantId, filter: &RunFilter) -> Query<'q> {
    sqlx::query(AssertSqlSafe(sql))
        .bind(tenant.as_str().to_owned())
        .bind(filter.flow.as_deref().map(column::clean))
        .bind(filter.state.map(State::as_str))
        .bind(filter.parent.as_ref().map(|run| run.as_str().to_owned()))
        .bind(filter.from)
        .bind(filter.to)
        .bind(filter.caller_prefix.as_deref().map(column::clean))
        .bind(filter.is_live.map(i32::from))
        .bind(filter.agents_caller_prefix.as_deref().map(column::clean))
        .bind(filter.listed.as_ref().map(Listed::text))
        .bind(filter.listed.as_ref().map(|listed| listed.caller_prefix.clone()))
}
