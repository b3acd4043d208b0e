//! What comes of a call that was answered with a run: whoever could make the call can ask, wait and cancel.

use crate::{Gateway, policy};
use std::sync::Arc;
use tool::{Context, Ended, Error, Result, Run, RunAnswer, RunId, RunQuestion, Runs};

impl Gateway {
    /// The run as it is now.
    ///
    /// # Errors
    /// `NotFound` where there is none, or none that this caller may see.
    pub async fn find_run(&self, cx: &Context, id: &RunId) -> Result<Run> {
        self.runs_with(cx, id).await.map(|(_, run)| run)
    }

    /// The run when it has ended, or as it is when the time of `cx` is up.
    ///
    /// # Errors
    /// Those of `find_run`, and `Cancelled`.
    pub async fn wait_for_run(&self, cx: &Context, id: &RunId) -> Result<Run> {
        let (runs, run) = self.runs_with(cx, id).await?;
        if run.result.is_some() {
            return Ok(run);
        }
        match cx.within(runs.ended(&cx.tenant, id)).await {
            Ok(ended) => ended?,
            Err(ended @ Ended::Cancelled) => return Err(ended.error("")),
            Err(Ended::TimedOut) => {}
        }
        self.find_run(cx, id).await
    }

    /// Tells the run to stop; one that has ended stays as it is.
    ///
    /// # Errors
    /// Those of `find_run`.
    pub async fn cancel_run(&self, cx: &Context, id: &RunId) -> Result<()> {
        let (runs, _) = self.runs_with(cx, id).await?;
        runs.cancel(&cx.tenant, id).await
    }

    /// What the run asks people now.
    ///
    /// # Errors
    /// Those of `find_run`.
    pub async fn questions_of_run(&self, cx: &Context, id: &RunId) -> Result<Vec<RunQuestion>> {
        let (runs, _) = self.runs_with(cx, id).await?;
        runs.questions(cx, id).await
    }

    /// Answers what the run asks; what is not asked any more is passed over.
    ///
    /// # Errors
    /// Those of `find_run`, `Denied` for those who are not asked, `InvalidInput` for what does not fit.
    pub async fn answer_run(
        &self,
        cx: &Context,
        id: &RunId,
        question: &str,
        answer: RunAnswer,
    ) -> Result<()> {
        let (runs, _) = self.runs_with(cx, id).await?;
        runs.answer(cx, id, question, answer).await
    }

    /// A run that the caller may see. Whoever may not learns no more than of one that does not exist.
    async fn runs_with(&self, cx: &Context, id: &RunId) -> Result<(&Arc<dyn Runs>, Run)> {
        let missing = || Error::not_found(format!("there is no run '{id}'"));
        let runs = self.env.runs.as_ref().ok_or_else(missing)?;
        let run = runs.find(&cx.tenant, id).await?;
        let run = run.filter(|run| policy::permits_run(&cx.caller, run)).ok_or_else(missing)?;
        Ok((runs, run))
    }
}
