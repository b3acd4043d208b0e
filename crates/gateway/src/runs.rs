//! What comes of a call that was answered with a run: whoever could make the call can ask, wait and cancel.

use crate::audit::Record;
use crate::policy::{self, Permit};
use crate::{Gateway, Tally};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::{Context, Ended, Error, Outcome, Request, Result, Run, RunAnswer, RunId, RunQuestion, Runs};

/// How often a run that goes on is asked whether it has a question.
const LOOK: Duration = Duration::from_secs(1);

/// Work of a run that was done, and stands nowhere yet: only whoever ends the run knows whether that was the end of it.
#[derive(Debug)]
pub struct Unrecorded {
    record: Box<Record>,
    tally: Tally,
}

impl Gateway {
    /// Calls what a run works on. The record of it is kept with [`Self::record`], where the run ends with that.
    ///
    /// # Errors
    /// Those of `call`.
    pub async fn work(&self, cx: &Context, request: Request) -> (Result<Outcome>, Unrecorded) {
        let (result, record) = self.call_unrecorded(cx, request, None).await;
        let tally = Tally::of(&record, &result);
        let record = record.end(&result);
        (result, Unrecorded { record, tally })
    }

    /// Keeps the record of a run that has ended, and counts it.
    pub async fn record(&self, work: Unrecorded) {
        self.count(&work.record, work.tally);
        self.audit.write(work.record).await;
    }

    /// The same for a run that ended while nobody worked on it.
    pub async fn record_end(&self, cx: &Context, request: &Request, error: Error) {
        let mut record = Record::begin(cx, &request.target, &request.arguments);
        if let Ok((route, _)) = self.resolve(cx, &request.target) {
            record.routed_to(&route);
        }
        self.mark_private(cx, &mut record);
        let result = Err(error);
        let tally = Tally::of(&record, &result);
        self.record(Unrecorded { record: record.end(&result), tally }).await;
    }

    /// There can be such runs.
    #[must_use]
    pub fn keeps_runs(&self) -> bool {
        self.env.runs.is_some()
    }

    /// The run as it is now, for a call that was let in.
    ///
    /// # Errors
    /// `NotFound` where there is none, or none that this caller may see.
    pub async fn find_run(&self, cx: &Context, id: &RunId) -> Result<Run> {
        self.runs_with(cx, id).await.map(|(_, run)| run)
    }

    /// The run when it has ended, or as it is when the time of `cx` is up, for a call that was let in.
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

    /// The run as it is now and, while it goes on, what it asks people. Counts as a call.
    ///
    /// # Errors
    /// Those of `find_run`, and `RateLimited`.
    pub async fn look_at_run(&self, cx: &Context, id: &RunId) -> Result<(Run, Vec<RunQuestion>)> {
        let _permit = self.admit(cx)?;
        let (runs, run) = self.runs_with(cx, id).await?;
        let asked = match run.result {
            None => runs.questions(cx, id).await?,
            Some(_) => Vec::new(),
        };
        Ok((run, asked))
    }

    /// The run once it has ended or asks something that whoever waits wants to hear, or as it is when the time of `cx` is
    /// up. Counts as a call, as long as it waits.
    ///
    /// # Errors
    /// Those of `look_at_run`, and `Cancelled`.
    pub async fn follow_run(
        &self,
        cx: &Context,
        id: &RunId,
        is_wanted: impl Fn(&RunQuestion) -> bool,
    ) -> Result<(Run, Vec<RunQuestion>)> {
        let _permit = self.admit(cx)?;
        loop {
            let (runs, run) = self.runs_with(cx, id).await?;
            let mut asked = match run.result {
                None => runs.questions(cx, id).await?,
                Some(_) => Vec::new(),
            };
            asked.retain(&is_wanted);
            if run.result.is_some() || !asked.is_empty() || Instant::now() >= cx.deadline {
                return Ok((run, asked));
            }
            match cx.for_at_most(LOOK).within(runs.ended(&cx.tenant, id)).await {
                Ok(ended) => ended?,
                Err(ended @ Ended::Cancelled) => return Err(ended.error("")),
                Err(Ended::TimedOut) => {}
            }
        }
    }

    /// Tells the run to stop; one that has ended stays as it is. Counts as a call.
    ///
    /// # Errors
    /// Those of `look_at_run`.
    pub async fn cancel_run(&self, cx: &Context, id: &RunId) -> Result<()> {
        let _permit = self.admit(cx)?;
        let (runs, _) = self.runs_with(cx, id).await?;
        runs.cancel(&cx.tenant, id).await
    }

    /// Answers what the run asks; what is not asked any more is passed over. Counts as a call.
    ///
    /// # Errors
    /// Those of `look_at_run`, `Denied` for those who are not asked, `InvalidInput` for what does not fit.
    pub async fn answer_run(
        &self,
        cx: &Context,
        id: &RunId,
        question: &str,
        answer: RunAnswer,
    ) -> Result<()> {
        let _permit = self.admit(cx)?;
        let (runs, _) = self.runs_with(cx, id).await?;
        runs.answer(cx, id, question, answer).await
    }

    /// What is asked at a door and is no call of a tool, about runs or for news of resources, has the limits of calls:
    /// polling would have none. The permit counts until it is dropped.
    ///
    /// # Errors
    /// `RateLimited`.
    pub fn admit(&self, cx: &Context) -> Result<Permit> {
        let tenant = self.catalog.tenant(&cx.tenant).and_then(|tenant| tenant.limiter.clone());
        self.policy.admit_within_limits(cx, tenant)
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
