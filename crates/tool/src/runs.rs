//! The port to runs: work that goes on after its call was answered with `Outcome::Started`.

use crate::journal::Note;
use crate::{Content, Context, Error, Identity, Output, Result, RunId, TenantId, Uri};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fmt;
use std::time::Duration;

/// The type in the addresses of flows, whose calls may go on as runs.
pub const SCHEME: &str = "flow";
/// The type of the service whose tool asks about runs.
pub const POLLING_SCHEME: &str = "flows";

/// What goes on after its call was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunKind {
    /// A flow.
    Flow,
    /// An agent.
    Agent,
}

impl RunKind {
    /// The type in the addresses of such.
    #[must_use]
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Flow => SCHEME,
            Self::Agent => "agent",
        }
    }

    /// What has addresses of that type, if calls of it may go on as runs.
    #[must_use]
    pub fn of_scheme(scheme: &str) -> Option<Self> {
        [Self::Flow, Self::Agent].into_iter().find(|kind| kind.scheme() == scheme)
    }

    /// The address of the one with this id.
    #[must_use]
    pub fn uri(self, id: &str) -> Uri {
        Uri::of_service(self.scheme(), id)
    }
}

/// What is known of a run.
#[derive(Debug)]
pub struct Run {
    /// The name of the tool that started it, as its caller knew it.
    pub tool: String,
    /// The address of that tool.
    pub address: String,
    /// Who started it.
    pub caller: Identity,
    /// How it ended; nothing while it goes on.
    pub result: Option<Result<Output>>,
    /// In milliseconds since 1970.
    pub started_at_ms: i64,
    /// When something was last known to happen in it, in milliseconds since 1970.
    pub changed_at_ms: i64,
}

/// What a run asks people before it goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct RunQuestion {
    /// Names it, in this run and in all others.
    pub id: String,
    /// What is to be approved.
    pub title: String,
    /// What is to be filled in, as a JSON Schema.
    pub fields: Option<Value>,
    /// Whoever asks about the run may decide it.
    pub is_for_caller: bool,
    /// What the model of the caller's own program is asked, where no person is; `null` for everybody else.
    pub sampling: Option<Value>,
}

/// What somebody says to that.
#[derive(Debug, Clone, PartialEq)]
pub struct RunAnswer {
    /// The run goes on as it wants to.
    pub is_approved: bool,
    /// What was filled in.
    pub data: Value,
}

/// What an agent is for one call that a flow makes, instead of what its settings say. Only flows say so, in the context that
/// a call shares with what is inside; nothing that comes through a door can.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InPlace {
    /// What the model is told to do.
    pub instructions: String,
    /// What it may call: addresses, and patterns of them.
    pub tools: Vec<String>,
    /// The JSON Schema of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// Work of an agent that is to have a journal. Whoever's context it is accepted in is whose work it is.
#[derive(Debug)]
pub struct NewWork {
    /// Its id from now on.
    pub run: RunId,
    /// The agent.
    pub agent: String,
    /// What it is asked.
    pub arguments: Map<String, Value>,
    /// What data of this work are known by among texts of others.
    pub mark: String,
    /// What has happened already.
    pub notes: Vec<Note>,
    /// Where what is said is kept beyond the run, which no other run may use at the same time.
    pub conversation: Option<InConversation>,
    /// Somebody waits for it: it begins here and now with their context, and ends with this process.
    pub is_waited_for: bool,
    /// What the agent is for this work, where a flow says so.
    pub in_place: Option<InPlace>,
}

/// The conversation that work is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InConversation {
    /// Which; a new one where nothing is said.
    pub id: Option<String>,
    /// How long it is kept after something was said.
    pub time: Duration,
    /// How many turns are kept, each a question and its answer.
    pub turns: u32,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStanding {
    /// In a word, e.g. `waiting`.
    pub state: &'static str,
    /// What it asks people, each as JSON for programs.
    pub approvals: Vec<Value>,
    /// The conversation that it is a part of.
    pub conversation: Option<String>,
}

impl RunStanding {
    /// The result of a call of an agent whose run goes on.
    #[must_use]
    pub fn to_result(self, agent: &str, run: &RunId) -> String {
        let text = match self.approvals.is_empty() {
            true => format!("The run {run} goes on; ask for it with the argument 'run'."),
            false => {
                format!(
                    "The run {run} waits for approval; when it is decided, ask for it with the argument 'run'."
                )
            }
        };
        let mut told = json!({
            "answer": null, "output": null, "agent": agent, "run": run, "state": self.state,
            "conversation": self.conversation, "stop": null, "handoffs": [], "warnings": [], "usage": null,
        });
        if !self.approvals.is_empty() {
            told["approvals"] = self.approvals.into();
        }
        let text = Content::text(&text);
        format!("{{\"content\":[{}],\"structuredContent\":{told},\"isError\":false}}", text.get())
    }
}

/// Where runs are kept. Who may ask about one is for the gateway to say.
#[async_trait]
pub trait Runs: fmt::Debug + Send + Sync + 'static {
    /// The run as it is now, if the tenant has it.
    ///
    /// # Errors
    /// What keeps it from being looked up.
    async fn find(&self, tenant: &TenantId, id: &RunId) -> Result<Option<Run>>;

    /// Waits until the run has ended or is gone, however long that takes.
    ///
    /// # Errors
    /// What keeps it from being watched.
    async fn ended(&self, tenant: &TenantId, id: &RunId) -> Result<()>;

    /// Tells the run to stop; one that has ended stays as it is.
    ///
    /// # Errors
    /// What keeps it from being told.
    async fn cancel(&self, tenant: &TenantId, id: &RunId) -> Result<()>;

    /// What the run asks people now.
    ///
    /// # Errors
    /// What keeps it from being looked up.
    async fn questions(&self, _cx: &Context, _id: &RunId) -> Result<Vec<RunQuestion>> {
        Ok(Vec::new())
    }

    /// Answers a question of the run on behalf of the caller. One that is not asked any more is passed over.
    ///
    /// # Errors
    /// `Denied` for those who are not asked, `InvalidInput` for what was not filled in as it should be.
    async fn answer(&self, _cx: &Context, _id: &RunId, _question: &str, _answer: RunAnswer) -> Result<()> {
        Ok(())
    }

    /// Seals what leaves us with a question of a run, and comes back with its answer to any process.
    ///
    /// # Errors
    /// What keeps it from being sealed.
    fn seal(&self, _text: &str) -> Result<String> {
        Err(Error::unsupported("questions of runs are kept by servers only"))
    }

    /// What was sealed, if it was by us.
    fn open(&self, _sealed: &str) -> Option<String> {
        None
    }

    /// Accepts work of an agent, and gives its run: that of an earlier call with the same idempotency key, if there was one.
    ///
    /// # Errors
    /// Why it is not accepted.
    async fn accept(&self, _cx: &Context, _work: NewWork) -> Result<RunId> {
        Err(Error::unsupported("runs of agents are kept by servers only"))
    }

    /// Waits until the run has ended, is gone, or asks people something.
    ///
    /// # Errors
    /// What keeps it from being watched.
    async fn settled(&self, tenant: &TenantId, id: &RunId) -> Result<()> {
        self.ended(tenant, id).await
    }

    /// Where the run stands now.
    ///
    /// # Errors
    /// `NotFound` where there is none, and what keeps it from being looked up.
    async fn standing(&self, _tenant: &TenantId, id: &RunId) -> Result<RunStanding> {
        Err(Error::not_found(format!("there is no run '{id}'")))
    }
}
