//! Records of what goes on as a run: one ask is one record, which the run leaves when it ends.

use super::{Record, redact};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tool::RunKind;

impl Record {
    /// Where a call that may begin a run says that it has; nowhere where the call is the work of one.
    pub(super) fn place_for_run(&self) -> Option<Arc<AtomicBool>> {
        (self.is_of_agent() && !self.is_of_kept_run()).then(Arc::default)
    }

    /// The same place for the connector.
    pub(crate) fn may_leave_to_run(&self) -> Option<Arc<AtomicBool>> {
        self.left_to_run.clone()
    }

    /// A run of its own leaves the record.
    pub(crate) fn is_left_to_run(&self) -> bool {
        self.left_to_run.as_ref().is_some_and(|left| left.load(Ordering::Relaxed))
    }

    /// It is the work of a run that has a journal.
    pub(super) fn is_of_kept_run(&self) -> bool {
        self.nested.as_deref().is_some_and(|nested| nested.step.is_let_in)
    }

    fn is_of_agent(&self) -> bool {
        self.route.as_ref().is_some_and(|route| route.service.run_kind() == Some(RunKind::Agent))
    }

    /// The request that has made the call. The work of a run is what was asked, under the same name.
    pub(super) fn parent(&self) -> Option<&str> {
        self.nested.as_deref().map(|nested| &*nested.parent).filter(|parent| **parent != *self.request_id)
    }

    /// The run that the call is a part of or was, and the agent whose model has chosen it, or that has answered.
    pub(super) fn run_and_agent(&self) -> (Option<String>, Option<String>) {
        let step = self.nested.as_deref().map(|nested| &nested.step);
        let account = self.end.as_ref().and_then(|end| end.account.as_ref());
        let run = step.and_then(|step| step.run.clone()).or_else(|| Some(account?.run.clone()));
        let chosen_by = step.and_then(|step| step.chosen_by.as_ref()).map(|by| by.agent.to_string());
        let of_kept = || {
            let route = self.route.as_ref().filter(|_| self.is_of_kept_run())?;
            Some(route.service.id.clone())
        };
        let agent = chosen_by.or_else(|| Some(account?.agent.clone())).or_else(of_kept);
        (run.map(String::from), agent)
    }

    /// The arguments without what is said in a conversation, where the call is a part of one.
    pub(super) fn without_conversation(&self) -> Option<Box<RawValue>> {
        let arguments = self.arguments.as_deref().ok().filter(|_| self.is_of_agent())?;
        redact::without_conversation(arguments)
    }
}
