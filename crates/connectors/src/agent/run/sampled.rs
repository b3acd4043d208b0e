//! The model of a program that takes questions as the outcome of its call: the run waits until it has answered.

use super::super::model::{Answer, ModelRequest, Sampling};
use super::notes::Notes;
use super::think::Thinking;
use std::time::Duration;
use tool::journal::parked;
use tool::{QuestionMode, Result};

impl Thinking<'_> {
    /// What the model has answered since the run waits for it; nothing where it is asked while the call runs.
    ///
    /// # Errors
    /// `Reason::Parked` as long as there is no answer, and why there is none.
    pub(super) async fn sampled(
        &self,
        sampling: &Sampling,
        asked: &ModelRequest<'_>,
    ) -> Result<Option<Answer>> {
        let client = self.cx.client.as_deref();
        if client.is_some_and(|client| client.question_mode() == QuestionMode::DuringCall) {
            return Ok(None);
        }
        match &self.work.run.notes {
            Notes::InMemory(_) => {
                sampling.client(&self.cx, !asked.tools.is_empty())?;
                Err(parked())
            }
            Notes::Kept(journal) if self.work.run.can_sample => {
                let time = Duration::from_secs(self.agent.approval_ttl_s);
                let answer = journal.sampled(&self.path(), sampling.params(asked)?, time).await?;
                sampling.read(&answer.ok_or_else(parked)?).map(Some)
            }
            Notes::Kept(_) | Notes::Nowhere => Ok(None),
        }
    }
}
