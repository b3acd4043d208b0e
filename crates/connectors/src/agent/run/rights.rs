//! What counts now: rights, the agent and what it has are looked at before each model call and each tool call, as all of
//! it may change while a run is under way.

use super::offers::{Bound, Offered};
use super::think::Thinking;
use super::work::address_of;
use tool::{Connector as _, Context, Error, Pattern, Result, Step};

/// A run as it may go on at this moment.
pub(super) struct Now {
    /// Of whoever the run works for, with the rights of this moment.
    pub(super) cx: Context,
    /// What the agent has by its settings of this moment, where they have changed since the run has begun with it.
    uses: Option<Vec<Pattern>>,
}

impl Now {
    /// The agent still has what the call was bound to.
    pub(super) fn has(&self, bound: &Bound<'_>) -> bool {
        let (as_written, address) = (bound.binding.pattern(), bound.callable.uri.to_string());
        let is_meant = |used: &Pattern| *used == as_written || used.matches(&address);
        self.uses.as_ref().is_none_or(|uses| uses.iter().any(is_meant))
    }

    /// Leaves out what the agent has no more.
    ///
    /// # Errors
    /// `Denied` when nothing is left of its tools.
    pub(super) fn narrow(&self, offered: &mut Offered<'_>, agent: &str) -> Result<()> {
        let Some(uses) = &self.uses else { return Ok(()) };
        let had_tools = !offered.tools.is_empty();
        offered.tools.retain(|bound| self.has(bound));
        offered.handoffs.retain(|(_, handoff)| uses.contains(&Pattern(handoff.to.to_string())));
        if had_tools && offered.tools.is_empty() {
            return Err(Error::denied(format!(
                "none of the tools that the run began with is left to agent '{agent}'"
            )));
        }
        Ok(())
    }
}

impl Thinking<'_> {
    /// How the run may go on now. Inside a flow it goes on as it began: the flow's rights stand for the caller's.
    ///
    /// # Errors
    /// `Denied` when the caller may call nothing any more; why there is no such agent any more.
    pub(super) fn now(&self) -> Result<Now> {
        let mut now = Now { cx: self.cx.clone(), uses: None };
        let Some(tools) = self.tools.as_ref().filter(|_| !self.cx.is_by_flow) else { return Ok(now) };
        let caller = tools.caller(&self.cx)?;
        if self.work.has_callers_rights {
            now.cx.caller = caller;
        }
        let uses = tools.uses(&self.cx.nested(Step::default()), &address_of(&self.agent.id))?;
        now.uses = Some(uses).filter(|uses| *uses != self.agent.uses());
        Ok(now)
    }
}
