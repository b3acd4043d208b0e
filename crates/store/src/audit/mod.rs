//! The audit: a record of every call, refused ones too, appended in blocks and read in pages.

mod block;
mod calls;
mod purge;
mod read;
mod tally;
mod walk;
mod write;

pub use read::Export;
pub use tally::{Key, Tally, Window};
pub(crate) use write::{insert, replace};

use crate::Store;
use crate::page::Query;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use tool::RunId;

/// What a record is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// A call of a tool.
    #[default]
    Call,
    /// A change of what is configured.
    Management,
}

impl Kind {
    /// The kind as it is asked for.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Management => "management",
        }
    }

    /// Each has a table of its own, with the same columns.
    fn table(self) -> &'static str {
        match self {
            Self::Call => "audit",
            Self::Management => "management",
        }
    }
}

/// What is remembered of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow<'a> {
    /// Made by the caller of `append`; the same row is stored once.
    pub id: Cow<'a, str>,
    /// Whose call it was; a text, because a refused call may name a tenant that does not exist.
    pub tenant: Cow<'a, str>,
    /// When it began. Milliseconds since 1970.
    pub at: i64,
    /// Who called: a user name, a key's name.
    pub caller: Cow<'a, str>,
    /// The tool as the caller named it.
    pub tool: Cow<'a, str>,
    /// The service's id, empty when there is none.
    pub service: Cow<'a, str>,
    /// The arguments, redacted, as JSON text.
    pub arguments: Option<Cow<'a, str>>,
    /// `ok`, `error` or `refused`.
    pub status: Cow<'a, str>,
    /// What is shown, but not asked for.
    #[serde(flatten)]
    pub details: AuditDetails<'a>,
}

/// What is remembered of a call beyond what rows are searched by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditDetails<'a> {
    /// Who called, for people: the name of the key or of the user, as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller_name: Option<Cow<'a, str>>,
    /// What the caller is: `user`, `key`, …
    pub caller_kind: Cow<'a, str>,
    /// Where the call came in: `rest`, `mcp`, …
    pub door: Cow<'a, str>,
    /// The tool's URI, empty when there is none.
    pub uri: Cow<'a, str>,
    /// The error's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Cow<'a, str>>,
    /// The error's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Cow<'a, str>>,
    /// How long it took, in microseconds.
    pub duration_us: i64,
    /// The request's id, as the client saw it.
    pub request_id: Cow<'a, str>,
    /// The trace's id.
    pub trace_id: Cow<'a, str>,
    /// The size of the result.
    pub result_bytes: i64,
    /// The request that made the call, where another call did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_request_id: Option<Cow<'a, str>>,
    /// The run it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Cow<'a, str>>,
    /// The node of the run that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Cow<'a, str>>,
    /// The agent that made it, or that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Cow<'a, str>>,
    /// At which model call of its run the agent made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The tool through which it was called, where that was another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Cow<'a, str>>,
    /// What an agent used, as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Cow<'a, str>>,
}

/// Which rows to read; what is `None` does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this kind.
    pub kind: Kind,
    /// Of this tool.
    pub tool: Option<String>,
    /// Of this service.
    pub service: Option<String>,
    /// By this caller.
    pub caller: Option<String>,
    /// With this status.
    pub status: Option<String>,
    /// That ended with this code.
    pub code: Option<String>,
    /// Through this door: one of its words, or the id of an MCP instance.
    pub door: Option<String>,
    /// Of this request.
    pub request_id: Option<String>,
    /// Begun at or after this time. Milliseconds since 1970.
    pub from: Option<i64>,
    /// Begun before this time. Milliseconds since 1970.
    pub to: Option<i64>,
    /// Of this run.
    pub run: Option<RunId>,
}

impl Filter {
    /// Whether all calls of its time fit.
    fn is_of_time_alone(&self) -> bool {
        let Self { kind, from, to, .. } = self.clone();
        *self == Self { kind, from, to, ..Self::default() }
    }
}

/// The record of calls.
#[derive(Debug, Clone, Copy)]
pub struct Audit<'a>(pub(crate) &'a Store);
