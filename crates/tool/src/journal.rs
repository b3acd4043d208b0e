//! The port to a journal: what a piece of work writes down, so that another process can go on with it.

use crate::{Error, InPlace, InstanceId, Reason, Result, RunId};
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One line of what happens in a piece of work.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// A step is about to be taken.
    Called {
        /// Which, e.g. `support[1].0`.
        path: String,
        /// What is called: an address, or a word for what is none.
        target: String,
        /// With what.
        arguments: Map<String, Value>,
    },
    /// This came of it.
    Came {
        /// Of which.
        path: String,
        /// What, in words of whoever wrote it.
        value: Value,
    },
}

/// What is known of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Noted {
    /// It was about to be taken: what was to be called, and with what.
    pub called: Option<(String, Map<String, Value>)>,
    /// This came of it.
    pub came: Option<Value>,
}

/// What somebody has to approve before a step is taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Who asks for it.
    pub agent: String,
    /// What is to be called, by name.
    pub tool: String,
    /// The same by address.
    pub uri: String,
    /// What it is to be called with: exactly this, and nothing else, is allowed.
    pub arguments: Map<String, Value>,
    /// Whoever began the work may not allow it.
    pub is_for_others: bool,
    /// For how long it is asked.
    pub time: Duration,
}

/// What came of such a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Decided {
    /// What was shown may be called, once.
    Approved {
        /// The address that was shown.
        uri: String,
        /// The arguments that were shown.
        arguments: Map<String, Value>,
    },
    /// Not, for this reason if one was given.
    Denied(Option<String>),
    /// Nobody has said anything in time.
    Expired,
}

/// The journal of one run. What was noted is committed.
#[async_trait]
pub trait Journal: fmt::Debug + Send + Sync + 'static {
    /// Whose it is.
    fn run(&self) -> &RunId;

    /// What is known of the step at this path.
    fn noted(&self, path: &str) -> Noted;

    /// With what this target was called last.
    fn last_called(&self, target: &str) -> Option<Map<String, Value>>;

    /// Writes something down before anything else happens.
    ///
    /// # Errors
    /// `Reason::Parked` where nothing may begin now, and what keeps it from being written: then it must not be done.
    async fn note(&self, note: Note) -> Result<()>;

    /// Something was read that is not trusted, in this run or before it: what comes of the run is a part of that.
    fn read_untrusted(&self);

    /// What people say to the step at this path; nothing as long as nobody has said anything. They are asked once.
    ///
    /// # Errors
    /// What keeps them from being asked.
    async fn decided(&self, path: &str, approval: Approval) -> Result<Option<Decided>>;

    /// What the model of the caller's own program says to `params`, at the step at this path; nothing as long as it has
    /// said nothing. It is asked once.
    ///
    /// # Errors
    /// `Timeout` when it has not answered for `time`, and what keeps it from being asked.
    async fn sampled(&self, path: &str, params: Value, time: Duration) -> Result<Option<Value>>;
}

/// What a context shares with work that has a journal.
#[derive(Debug)]
pub struct Journaled {
    /// The journal.
    pub journal: Arc<dyn Journal>,
    /// What data of this work are known by among texts of others.
    pub mark: String,
    /// The MCP instance at whose door it was asked, which knows its own tools only.
    pub instance: Option<InstanceId>,
    /// The caller's own program lets its model answer, as often as it comes back.
    pub can_sample: bool,
    /// Where what is said is kept beyond the run, if it is.
    pub conversation: Option<String>,
    /// What was said there before, in order.
    pub history: Vec<Said>,
    /// How many turns before that are left out.
    pub left_out: usize,
    /// What the agent is for this work, where a flow says so.
    pub in_place: Option<InPlace>,
}

/// What was asked in a conversation, and what was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// What was asked.
    pub prompt: String,
    /// What was answered.
    pub answer: String,
    /// Something that is not trusted was read for it, or before it.
    pub is_untrusted: bool,
}

/// The work does not go on here and now: it waits for people, or for another process.
#[must_use]
pub fn parked() -> Error {
    Error::unavailable("the run waits").because(Reason::Parked)
}
