//! What a journal holds: facts about a run and its nodes, in the order in which they became true.

use crate::settle::Exit;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// When.
    pub at: DateTime<Utc>,
    /// Which node, e.g. `ship[3].send`; empty for the run itself.
    pub path: String,
    /// Which attempt of a call; 1 for everything else.
    pub attempt: u32,
    /// What.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What became true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
pub enum Fact {
    /// The run began, with these inputs and first values of vars.
    Begun {
        /// With their defaults.
        inputs: Map<String, Value>,
        /// By name.
        vars: Map<String, Value>,
    },
    /// A call is about to be made for the first time.
    Called {
        /// A URI, or the definition of an agent in place.
        target: Value,
        /// The same for every attempt.
        arguments: Map<String, Value>,
    },
    /// The same call is about to be made again.
    Again,
    /// Nothing happens at this node before something else does.
    Waiting(Waiting),
    /// A block, each or loop began.
    Entered {
        /// Of an each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        items: Vec<Value>,
        /// Of a loop.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        vars: Map<String, Value>,
    },
    /// A loop goes round for the time of that number, from 0.
    Pass(usize),
    /// A node ended well.
    Succeeded {
        /// What its name stands for from now on.
        value: Value,
        /// The vars that it wrote, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sets: Vec<(String, Value)>,
        /// Which edges it took.
        exit: Exit,
    },
    /// `only` was false.
    Skipped,
    /// A node ended badly.
    Failed {
        /// Why.
        error: Failure,
        /// The child run that it was waiting for, which is to be cancelled with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<String>,
    },
    /// A node was stopped because of what happened elsewhere.
    Cancelled {
        /// The child run that it was waiting for, which is to be cancelled with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<String>,
    },
    /// The flow's `fail` took a failure that nothing else took.
    Caught {
        /// Which.
        error: Failure,
    },
    /// What was written inside of a node that a replay does not repeat.
    Written {
        /// Vars of the flow, by name.
        vars: Map<String, Value>,
    },
    /// The run ended.
    Ended(Ending),
    /// Somebody sent a signal.
    Signal {
        /// Its name.
        name: String,
        /// For waits with this key, and those without one; without it only for those without one.
        key: Option<Value>,
        /// What the wait gives.
        data: Value,
    },
    /// Somebody decided on the approval at the path; the first decision counts.
    Decided(Decision),
    /// The child run that the node at the path waits for ended.
    ChildEnded(Result<Value, Failure>),
    /// Somebody wants the run to end.
    Cancel,
    /// Somebody wants nothing new to start.
    Pause,
    /// Somebody wants the run to go on.
    Resume,
    /// Somebody wants the failed nodes of a failed run to run again.
    Retry,
}

/// What a node waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Waiting {
    Timer { until: DateTime<Utc> },
    Retry { until: DateTime<Utc>, error: Failure },
    Signal { name: String, key: Option<Value> },
    Approval { title: Value, fields: Option<Value>, by: Value, until: Option<DateTime<Utc>> },
    Child { run: String },
}

impl Waiting {
    /// When it is over by itself.
    #[must_use]
    pub fn until(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::Timer { until } | Self::Retry { until, .. } => Some(*until),
            Self::Approval { until, .. } => *until,
            Self::Signal { .. } | Self::Child { .. } => None,
        }
    }
}

/// What somebody decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Not rejected.
    pub is_approved: bool,
    /// Who.
    pub by: String,
    /// In words.
    pub comment: Option<String>,
    /// What was filled in.
    pub data: Value,
}

impl Decision {
    /// What the node of the approval gives, once it was decided.
    #[must_use]
    pub fn to_value(&self, at: DateTime<Utc>) -> Value {
        json!({
            "decision": if self.is_approved { "approve" } else { "reject" }, "by": self.by, "at": at.to_rfc3339(),
            "comment": self.comment, "data": self.data
        })
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum Ending {
    Succeeded { output: Value },
    Failed { error: Failure },
    Cancelled,
}

/// Why a node or a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// A stable word, REST's or one of `EXPRESSION LIMIT REJECTED GUARD CANCELLED INTERRUPTED`, or thrown.
    pub code: String,
    /// A sentence.
    pub message: String,
    /// Of HTTP, if a service answered with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why an agent failed, e.g. `STEP_LIMIT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Box<str>>,
    /// Which service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Box<str>>,
    /// How often it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Where it began, e.g. `ship[3].send`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The same call may succeed later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_retryable: bool,
    /// Its answer was lost or late, or nobody was reached: it may have happened, and another try may go well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_in_doubt: bool,
}

impl Failure {
    /// A failure with that code.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.to_owned(), message.into());
        Self {
            code,
            message,
            status: None,
            reason: None,
            service: None,
            attempts: None,
            node: None,
            is_retryable: false,
            is_in_doubt: false,
        }
    }

    /// The same call may go well later, for all that can be told, also if it would be done twice then.
    pub(crate) fn may_pass(&self) -> bool {
        self.is_in_doubt || self.status.is_some_and(|status| matches!(status, 408 | 425 | 429 | 500..=599))
    }

    /// What expressions see as `<id>.error` and `run.error`.
    pub(crate) fn to_value(&self) -> Value {
        let mut value =
            json!({"code": self.code, "message": self.message, "attempts": self.attempts.unwrap_or(1)});
        if let Some(status) = self.status {
            value["status"] = status.into();
        }
        if let Some(reason) = &self.reason {
            value["reason"] = (**reason).into();
        }
        if let Some(service) = &self.service {
            value["service"] = (**service).into();
        }
        if let Some(node) = &self.node {
            value["node"] = node.as_str().into();
        }
        value
    }
}
