//! Calls that are made inside a call: by a flow, an agent, or whatever else works through tools.

use crate::secret::SecretValues;
use crate::{Context, Error, Result, RunId};
use std::sync::Arc;
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many calls may stand inside one another; what goes deeper most likely calls itself.
pub const MAX_DEPTH: u8 = 16;

/// What a call that is made inside another carries of the work it is a part of.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// The run it belongs to; that of the call around it where nothing is said.
    pub run: Option<RunId>,
    /// Which step of the run it is, e.g. `ship[3].send`.
    pub path: Option<Arc<str>>,
    /// The same for every attempt at the same work, so that a service can tell a repetition.
    pub idempotency_key: Option<Arc<str>>,
    /// What may stand in no record of it; that of the call around it where there is none.
    pub secrets: SecretValues,
    /// The run has a journal, so that it can be told later what came of the call.
    pub is_journaled: bool,
    /// It is the work itself that a caller was let in for, taken up by whoever keeps it: no limit counts it again.
    pub is_let_in: bool,
    /// The agent whose model has chosen the call.
    pub chosen_by: Option<ChosenBy>,
    /// The tool through which it was called, where it was.
    pub via: Option<&'static str>,
}

/// Whose model has chosen a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenBy {
    /// The agent's id.
    pub agent: Arc<str>,
    /// Which model call of the run it was, from 1.
    pub step: u32,
}

/// The place of a call inside another.
#[derive(Debug)]
pub struct Nested {
    /// The request id of the call around it.
    pub parent: Arc<str>,
    /// That of the outermost one.
    pub root: Arc<str>,
    /// How many calls are around it.
    pub depth: u8,
    /// What it is a part of.
    pub step: Step,
    deadline: Instant,
    cancel: CancellationToken,
}

impl Nested {
    pub(crate) fn within(parent: &Context, mut step: Step) -> Self {
        let outer = parent.nested.as_deref();
        step.run = step.run.or_else(|| outer?.step.run.clone());
        if let Some(outer) = outer.filter(|_| step.secrets.is_empty()) {
            step.secrets = outer.step.secrets.clone();
        }
        Self {
            parent: parent.request_id.clone(),
            root: outer.map_or_else(|| parent.request_id.clone(), |outer| outer.root.clone()),
            depth: outer.map_or(0, |outer| outer.depth).saturating_add(1),
            step,
            deadline: parent.deadline,
            cancel: parent.cancel.clone(),
        }
    }

    /// Whether the call may begin.
    ///
    /// # Errors
    /// Why the call around it has ended, or that too many are around it.
    pub fn check(&self) -> Result<()> {
        if self.depth > MAX_DEPTH {
            return Err(Error::unsupported(format!(
                "calls are nested more than {MAX_DEPTH} deep; see that nothing calls itself"
            )));
        }
        self.parents_end().map_or(Ok(()), Err)
    }

    /// When the call around it must have ended, and with it this one.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Why the call around it is over, if it is: then this is why its own calls are.
    #[must_use]
    pub fn parents_end(&self) -> Option<Error> {
        if self.cancel.is_cancelled() {
            return Some(Error::cancelled("the caller cancelled the call"));
        }
        (self.deadline <= Instant::now())
            .then(|| Error::timeout("the call that this one is a part of has run out of time").retryable())
    }
}
