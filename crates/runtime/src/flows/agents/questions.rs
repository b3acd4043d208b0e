//! What a run of an agent asks: people before a call, or the model of the program that called.

use super::super::Flows;
use super::super::approvals::Approval;
use super::super::given::Starter;
use super::journal::SAMPLING;
use flow::engine::{Decision, Waiting};
use serde_json::Value;
use store::ErrorKind;
use store::runs::{State, Wait};
use tool::{Context, Error, Result, RunAnswer, RunId, RunQuestion, TenantId, approving};

/// What runs that ask a model wait for, in the store's words.
const KIND: &str = "signal";

impl Flows {
    /// What the run asks now; of a run that waits for others, what those ask.
    pub(in super::super) async fn questions_of(&self, cx: &Context, id: &RunId) -> Result<Vec<RunQuestion>> {
        let asked = self.approvals_of(&cx.tenant, id.clone(), 0).await?;
        let mut questions: Vec<_> = asked.into_iter().map(|approval| question(cx, approval)).collect();
        let Some(sampling) = self.sampling_of(&cx.tenant, id).await? else { return Ok(questions) };
        let is_for_caller = sampling.is_of(cx);
        for wait in sampling.waits {
            if let Some(Waiting::Signal { key, .. }) = self.asked(&cx.tenant, &wait).await? {
                // Others are told that a model is asked, and not what.
                let sampling = if is_for_caller { key } else { Some(Value::Null) };
                let title = SAMPLING.to_owned();
                questions.push(RunQuestion { id: wait.id, title, fields: None, is_for_caller, sampling });
            }
        }
        Ok(questions)
    }

    /// Takes an answer; one to what is not asked any more is passed over.
    pub(in super::super) async fn answer_question(
        &self,
        cx: &Context,
        id: &RunId,
        question: &str,
        answer: RunAnswer,
    ) -> Result<()> {
        let RunAnswer { is_approved, data } = answer;
        let by = cx.caller.name.clone();
        let sampling = self.sampling_of(&cx.tenant, id).await?;
        let of_model = sampling.as_ref().and_then(|sampling| Some((sampling, sampling.find(question)?)));
        if let Some((sampling, wait)) = of_model {
            sampling.check(cx)?;
            flow::engine::check_value(&data).map_err(|failure| {
                Error::invalid_input(format!("the model's answer: {}", failure.message))
            })?;
            let decision = Decision { is_approved, by, comment: None, data };
            return self.decide_once(&cx.tenant, wait, decision).await;
        }
        let asked = self.approvals_of(&cx.tenant, id.clone(), 0).await?;
        let Some(approval) = asked.into_iter().find(|approval| approval.wait.id == question) else {
            return Ok(());
        };
        let decision = match approval.is_of_agent {
            true => Decision {
                is_approved: is_approved && approving::is_yes(&data),
                by,
                comment: approving::comment(&data),
                data: Value::Null,
            },
            false => Decision { is_approved, by, comment: None, data },
        };
        self.may_decide(&cx.tenant, &approval, &cx.caller, &decision).await?;
        self.decide_once(&cx.tenant, &approval.wait, decision).await
    }

    async fn decide_once(&self, tenant: &TenantId, wait: &Wait, decision: Decision) -> Result<()> {
        match self.decide(tenant, wait, decision).await {
            // Somebody else was faster.
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
            decided => Ok(decided?),
        }
    }

    /// Somebody has to say something before the run goes on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn is_asking(&self, run: &store::runs::Run) -> Result<bool> {
        if run.state != State::Waiting {
            return Ok(false);
        }
        let asks_people = !self.approvals_of(&run.tenant, run.id.clone(), 0).await?.is_empty();
        Ok(asks_people || self.sampling_of(&run.tenant, &run.id).await?.is_some())
    }

    /// The questions of an agent's run to the model of its caller's program.
    async fn sampling_of(&self, tenant: &TenantId, id: &RunId) -> Result<Option<Sampling>> {
        let mut waits = self.waits(tenant, id).await?;
        waits.retain(|wait| wait.kind == KIND);
        if waits.is_empty() {
            return Ok(None);
        }
        let run = self.store.runs().get(tenant, id).await?;
        Ok(run.agent().is_some().then(|| Sampling { waits, caller: Starter::read(&run.caller) }))
    }
}

/// What a run asks the model of its caller's own program.
struct Sampling {
    waits: Vec<Wait>,
    caller: Starter,
}

impl Sampling {
    fn find(&self, question: &str) -> Option<&Wait> {
        self.waits.iter().find(|wait| wait.id == question)
    }

    /// The model decides which tools are called in the caller's name: nobody else speaks for it, managers neither.
    fn is_of(&self, cx: &Context) -> bool {
        self.caller.identity() == cx.caller.identity
    }

    fn check(&self, cx: &Context) -> Result<()> {
        if self.is_of(cx) {
            return Ok(());
        }
        let (name, owner) = (&cx.caller.name, self.caller.name());
        Err(Error::denied(format!(
            "{name} may not answer this: the run of {owner} asks the model of {owner}'s own program, which nobody else \
             answers for"
        )))
    }
}

fn question(cx: &Context, approval: Approval) -> RunQuestion {
    let is_for_caller = approval.is_for(&cx.caller);
    let title = &approval.title;
    let part = |name: &str| title[name].as_str().unwrap_or_default();
    let (title, fields) = match approval.is_of_agent {
        true => {
            let message = approving::message(part("agent"), part("uri"), &title["arguments"]);
            (message, Some(approving::form()))
        }
        false => (title.as_str().map_or_else(|| title.to_string(), str::to_owned), approval.fields),
    };
    RunQuestion { id: approval.wait.id, title, fields, is_for_caller, sampling: None }
}
