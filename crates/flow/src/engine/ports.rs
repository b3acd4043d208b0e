//! What the engine needs of the world: a journal, calls, a clock.

use super::record::{Failure, Record, Waiting};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use std::fmt;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The journal of one run, held by one owner at a time.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Appends all records, or none. What a record of a cancelled or failed node names as its child is
    /// to be cancelled in the same transaction.
    ///
    /// # Errors
    /// When the run belongs to somebody else by now, or the journal cannot be reached.
    async fn append(&self, records: &[Record]) -> Result<(), Lost>;

    /// Waits for records of others (signals, decisions, ends of children, cancel, pause, resume) behind the last ones
    /// that were given. Dropping the future loses none.
    ///
    /// # Errors
    /// As for `append`.
    async fn news(&self) -> Result<Vec<Record>, Lost>;

    /// Gives the run back until something happens. `false` if something has: there is news, and the run goes on.
    ///
    /// # Errors
    /// As for `append`.
    async fn park(&self, parking: &Parking) -> Result<bool, Lost>;
}

/// What a run that is given back waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Parking {
    /// When it must be taken up again at the latest.
    pub due_at: Option<DateTime<Utc>>,
    /// Nodes by path, and what each waits for.
    pub waiting: Vec<(String, Waiting)>,
}

/// The run is not ours any more, or cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost(pub String);

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Lost {}

/// Who makes calls.
#[async_trait]
pub trait Calls: Send + Sync {
    /// How long calls under way may take to end when the process is to let go of the run.
    fn grace(&self) -> Duration {
        Duration::from_secs(4)
    }

    /// Makes a call; the same call may come again with the same key. Once `cancel` is cancelled the future may be
    /// dropped at any time: a call that must come to a proper end does so in a task of its own.
    ///
    /// # Errors
    /// Why it failed, in REST's codes.
    async fn call(&self, call: Call) -> Result<Answer, Failure>;
}

/// A call that a run makes.
#[derive(Debug, Clone)]
pub struct Call {
    /// The node, e.g. `ship[3].send`.
    pub path: String,
    /// A tool's URI; of an agent in place `{agent, instructions, tools, output}`, `agent` being the URI of the one whose model
    /// it uses.
    pub target: Value,
    /// What it is called with.
    pub arguments: Map<String, Value>,
    /// The same for every attempt, e.g. `r1:ship[3].send`.
    pub key: String,
    /// From 1.
    pub attempt: u32,
    /// It is not made again after a crash.
    pub is_at_most_once: bool,
    /// It must have ended by then.
    pub deadline: Option<DateTime<Utc>>,
    /// Cancelled when nobody waits for the answer any more.
    pub cancel: CancellationToken,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The answer's data.
    Value(Value),
    /// A run of its own goes on and tells later.
    Child(String),
    /// Nothing: it was not made. Whoever has the run next makes it.
    Later,
}

/// Whose time counts: that of the database, which all replicas share.
#[async_trait]
pub trait Clock: Send + Sync {
    /// The time.
    fn now(&self) -> DateTime<Utc>;

    /// Waits until then.
    async fn sleep_until(&self, instant: DateTime<Utc>);
}
