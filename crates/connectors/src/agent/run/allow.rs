//! Asking before a call: the person behind the client, or whoever may decide while the run waits.

use super::super::approval::{self, ApprovalBy, Decision};
use super::super::model::Model;
use super::frame::framed;
use super::notes::Notes;
use super::offers::Bound;
use super::plan::Chosen;
use super::progress::{self, Message};
use super::think::Thinking;
use std::time::Duration;
use tool::journal::{Approval, Decided};
use tool::{Ability, Ended, ErrorKind, QuestionMode, Result};

/// What was said to a call.
pub(super) enum Allowed {
    /// It is made with exactly these arguments.
    Yes(Chosen),
    /// It is not made, and the model is told why.
    No(String),
    /// Nobody has said anything yet, and the run waits.
    NotYet,
}

impl Allowed {
    /// What somebody has said to it is told as data, whoever that was.
    fn denied(mark: &str, comment: Option<String>) -> Self {
        let denied = "the call was denied; it was not made";
        Self::No(match comment {
            Some(comment) => format!("{denied}. What was said to it:\n{}", framed(mark, "comment", &comment)),
            None => denied.to_owned(),
        })
    }

    fn expired() -> Self {
        Self::No("nobody has approved the call in time; it was not made".to_owned())
    }
}

impl Thinking<'_> {
    /// Whether a call that needs approval may be made.
    ///
    /// # Errors
    /// When the caller takes the whole back, or nobody can be asked now.
    pub(super) async fn allowed(&self, at: usize, bound: &Bound<'_>, chosen: Chosen) -> Result<Allowed> {
        let agent = &self.agent.id;
        let event = progress::event("approval", agent, self.work.run.spent().model_calls, &bound.name);
        let message = Message::Words(format!("asks whether it may call {}", bound.name));
        progress::step(&self.cx, &self.work.run, message, &event);
        let by_caller = self.agent.approval_by == ApprovalBy::Caller;
        match (&self.work.run.notes, by_caller && self.can_ask_during_call()) {
            (Notes::Kept(journal), false) if self.goes_on_without_caller() => {
                let decided = journal.decided(&self.call_path(at), self.approval(bound, &chosen)).await?;
                Ok(match decided {
                    None => Allowed::NotYet,
                    Some(Decided::Approved { uri, arguments }) => {
                        allowed_at(&uri, bound, chosen.exactly(arguments))
                    }
                    Some(Decided::Denied(comment)) => Allowed::denied(&self.work.run.mark, comment),
                    Some(Decided::Expired) => Allowed::expired(),
                })
            }
            (Notes::InMemory(_), false) => Ok(Allowed::NotYet),
            (Notes::Nowhere | Notes::Kept(_), false) if !by_caller => {
                let why = "the call needs the approval of a manager, and no run can wait for one here; it was not made";
                Ok(Allowed::No(why.to_owned()))
            }
            (_, true) | (Notes::Nowhere | Notes::Kept(_), false) => {
                self.allowed_by_client(bound, chosen).await
            }
        }
    }

    /// The person behind the client can be asked while the call runs. A client that takes questions as the outcome gets
    /// all of them at once from a run that waits, where one can.
    fn can_ask_during_call(&self) -> bool {
        let can_wait = !matches!(self.work.run.notes, Notes::Nowhere) && self.goes_on_without_caller();
        self.cx.client.as_ref().is_some_and(|client| {
            let is_asked_later = can_wait && client.question_mode() == QuestionMode::AsOutcome;
            client.can(Ability::Elicitation) && !is_asked_later
        })
    }

    /// Whatever is decided later, there is a model to go on with.
    fn goes_on_without_caller(&self) -> bool {
        let is_in_memory = matches!(self.work.run.notes, Notes::InMemory(_));
        matches!(*self.agent.model, Model::Http(_)) || is_in_memory || self.work.run.can_sample
    }

    async fn allowed_by_client(&self, bound: &Bound<'_>, chosen: Chosen) -> Result<Allowed> {
        let uri = bound.callable.uri.to_string();
        let cx = self.cx.for_at_most(self.time_to_decide());
        // What comes later is heard by nobody.
        match cx.within(approval::ask(&cx, &self.agent.id, &uri, &chosen.fields)).await {
            Ok(Ok(Decision::Approved)) => Ok(Allowed::Yes(chosen)),
            Ok(Ok(Decision::Denied(comment))) => Ok(Allowed::denied(&self.work.run.mark, comment)),
            Ok(Err(error)) if error.kind() == ErrorKind::Cancelled => Err(error),
            Ok(Err(error)) if error.kind() == ErrorKind::Timeout => Ok(Allowed::expired()),
            Ok(Err(error)) => Ok(Allowed::No(format!("{}; it was not made", error.in_words()))),
            Err(Ended::Cancelled) => Err(Ended::Cancelled.error("")),
            Err(Ended::TimedOut) => Ok(Allowed::expired()),
        }
    }

    fn approval(&self, bound: &Bound<'_>, chosen: &Chosen) -> Approval {
        Approval {
            agent: self.agent.id.clone(),
            tool: bound.name.clone(),
            uri: bound.callable.uri.to_string(),
            arguments: chosen.fields.clone(),
            is_for_others: self.agent.approval_by == ApprovalBy::Manager,
            time: self.time_to_decide(),
        }
    }

    fn time_to_decide(&self) -> Duration {
        Duration::from_secs(self.agent.approval_ttl_s)
    }
}

/// A yes is one to the address that was shown: the name may lead elsewhere by now.
fn allowed_at(shown: &str, bound: &Bound<'_>, chosen: Chosen) -> Allowed {
    if bound.callable.uri.to_string() == shown {
        return Allowed::Yes(chosen);
    }
    let why = "is another tool by now than the one that was approved; the call was not made";
    Allowed::No(format!("'{}' {why}", bound.name))
}
