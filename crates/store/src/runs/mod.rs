//! Runs of flows: accepted once committed, claimed by one process at a time, written by nobody else.
//!
//! Rows are always locked in one order: runs by their key, then slots, then waits.

mod claim;
mod commit;
mod doors;
mod insert;
mod journal;
mod read;
mod replace;
mod retention;
mod row;
mod slots;
mod waits;
mod writer;

pub use claim::{Claim, ClaimedRun};
pub use commit::{Commit, Committed, Ending, Parking, Then};
pub use doors::AtMost;
pub use insert::{Inserted, NewRun, Overflow, Refusal, Slots};
pub use journal::{NewRecord, Record};
pub use read::{Listed, RunFilter, Subject};
pub use replace::Cancellation;
pub use retention::Retention;
pub(crate) use row::{data_place, record_place};
pub use waits::{NewWait, Wait, WaitFilter};
pub use writer::Writer;

use crate::{Error, Result, Store, leases};
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Row as _};
use tool::{RunId, TenantId};

/// One durable execution of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Whose run it is.
    pub tenant: TenantId,
    /// Never changes.
    pub id: RunId,
    /// Of which flow; of an agent its address.
    pub flow: String,
    /// Of which agent, if it is one of an agent.
    pub agent: Option<String>,
    /// Of which version; `None` for a draft.
    pub version: Option<i64>,
    /// Where it stands.
    pub state: State,
    /// The node that waits for it.
    pub parent: Option<Parent>,
    /// What started it, as JSON.
    pub origin: String,
    /// On whose behalf, as JSON.
    pub caller: String,
    /// When somebody is to take it up, by the database's clock; `None` for never by itself.
    pub due_at: Option<i64>,
    /// The number of its last record.
    pub last_seq: i64,
    /// Whether what it was given, wrote and gave is sealed.
    pub is_secret: bool,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub started_at: Option<i64>,
    /// Milliseconds since 1970.
    pub ended_at: Option<i64>,
}

impl Run {
    /// The agent that it is a run of, if it is one of an agent.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }
}

/// A node that waits for the end of another run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parent {
    /// The run.
    pub run: RunId,
    /// The node, e.g. `ship[3].send`.
    pub path: String,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum State {
    Queued,
    Running,
    Waiting,
    Paused,
    Cancelling,
    Succeeded,
    Failed,
    Cancelled,
}

impl State {
    const ALL: [Self; 8] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Paused,
        Self::Cancelling,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The state as it is written in JSON and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Cancelling => "cancelling",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Nothing happens in it any more.
    #[must_use]
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| Error::corrupt("the database holds an unknown state of a run"))
    }
}

/// What a run was given and what came of it, as JSON.
#[derive(Clone, PartialEq, Eq)]
pub struct RunData {
    /// The text of the draft that it runs, if it runs one.
    pub source: Option<String>,
    /// What it was given.
    pub inputs: String,
    /// What it gave.
    pub output: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

/// The runs of flows.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a>(pub(crate) &'a Store);

impl<'a> Runs<'a> {
    /// The time that timers and leases go by, in milliseconds since 1970. The same for the whole platform.
    pub async fn now(self) -> Result<i64> {
        let sql = format!("SELECT {}", leases::now(self.0.backend()));
        Ok(sqlx::query(AssertSqlSafe(sql)).fetch_one(self.0.pool()).await?.try_get(0)?)
    }

    /// Waits until this process has made a run due or left it a record, from now on. What other processes do is seen
    /// by looking.
    pub fn changed(self) -> impl Future<Output = ()> + 'a {
        self.0.runs_changed().notified()
    }
}

pub(crate) fn missing() -> Error {
    Error::not_found("run")
}
