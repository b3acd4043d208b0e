//! The calls of one answer: at the same time as far as they may, with results in the model's order.

use super::super::approval::{self, Decision};
use super::super::guardrails::Stage;
use super::super::model::{ToolCall, ToolResult, Turn};
use super::frame::framed;
use super::offers::{Bound, Offered, acting};
use super::plan::{Chosen, Plan};
use super::think::Thinking;
use super::{progress, spans};
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use serde_json::Value;
use tool::{ErrorKind, Outcome, Output, Request, Result, Step};

/// What came of one call, for the model.
struct Came {
    text: String,
    is_error: bool,
    /// It was made, and what it says comes from outside.
    is_from_outside: bool,
}

impl Came {
    fn told(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, is_from_outside: false }
    }

    fn answer(text: String) -> Self {
        Self { text, is_error: false, is_from_outside: false }
    }
}

impl Thinking<'_> {
    /// Makes the calls that the model asks for, and puts what came of them where the model reads it. When another agent
    /// goes on, what that one answers is the answer.
    ///
    /// # Errors
    /// When a limit is reached.
    pub(super) async fn act(
        &mut self,
        offered: &Offered<'_>,
        calls: Vec<ToolCall>,
    ) -> Result<Option<Output>> {
        let mut plans = Vec::with_capacity(calls.len());
        for call in &calls {
            plans.push(self.plan(offered, call).await?);
        }
        if let Some(at) = plans.iter().position(|plan| matches!(plan, Plan::HandOver(..))) {
            let Plan::HandOver(name, arguments) = plans.swap_remove(at) else { return Ok(None) };
            return match self.hand_over(offered, name, &arguments).await? {
                super::handoff::Handed::Over(output) => Ok(Some(output)),
                super::handoff::Handed::Told(why) => {
                    let told = |_: &ToolCall| Came::told(why.clone());
                    let came = calls.iter().map(told).collect();
                    self.tell(calls, came);
                    Ok(None)
                }
            };
        }
        let made = plans.iter().filter(|plan| matches!(plan, Plan::Make(..))).count();
        self.work.run.spent().may_call(made, &self.work.run.limits)?;
        let came = self.make_all(plans).await?;
        self.tell(calls, came);
        Ok(None)
    }

    /// Those that need no approval run first, and none waits for another's.
    async fn make_all(&self, plans: Vec<Plan<'_, '_>>) -> Result<Vec<Came>> {
        let has_untrusted = self.work.run.spent().has_untrusted;
        let needs = |bound: &Bound<'_>| {
            let approval = bound.binding.approval.unwrap_or(self.agent.approval);
            approval.is_needed(&bound.callable, has_untrusted)
        };
        let mut came: Vec<Option<Came>> = plans.iter().map(|_| None).collect();
        let (mut free, mut asked) = (Vec::new(), Vec::new());
        for (at, plan) in plans.into_iter().enumerate() {
            match plan {
                Plan::Make(bound, chosen) if needs(bound) => asked.push((at, bound, chosen)),
                Plan::Make(bound, chosen) => free.push((at, bound, chosen)),
                Plan::Tell(why) => came[at] = Some(Came::told(why)),
                Plan::Answer(text) => came[at] = Some(Came::answer(text)),
                Plan::HandOver(..) => {}
            }
        }
        let mut running: Vec<BoxFuture<'_, (usize, Came)>> = Vec::with_capacity(free.len());
        for (at, bound, chosen) in free {
            running.push(Box::pin(async move { (at, self.make(at, bound, &chosen).await) }));
        }
        let mut running = stream::iter(running).buffer_unordered(self.agent.parallel);
        while let Some((at, done)) = running.next().await {
            came[at] = Some(done);
        }
        drop(running);
        for (at, bound, chosen) in asked {
            came[at] = Some(self.make_if_approved(at, bound, &chosen).await?);
        }
        Ok(came.into_iter().map(|came| came.unwrap_or_else(|| Came::told("it was not called"))).collect())
    }

    async fn make_if_approved(&self, at: usize, bound: &Bound<'_>, chosen: &Chosen) -> Result<Came> {
        let (agent, uri) = (&self.agent.id, bound.callable.uri.to_string());
        let event = progress::event("approval", agent, self.work.run.spent().model_calls, &bound.name);
        progress::step(&self.cx, &self.work.run, format!("asks whether it may call {}", bound.name), &event);
        match approval::ask(&self.cx, agent, &uri, &chosen.fields).await {
            Ok(Decision::Approved) => Ok(self.make(at, bound, chosen).await),
            Ok(Decision::Denied(comment)) => {
                let comment = comment.map(|comment| format!(": {comment}")).unwrap_or_default();
                Ok(Came::told(format!("the call was denied{comment}; it was not made")))
            }
            Err(error) if error.kind() == ErrorKind::Cancelled => Err(error),
            Err(error) => Ok(Came::told(format!("{}; it was not made", error.in_words()))),
        }
    }

    /// Where in the run a call stands.
    pub(super) fn step(&self, at: usize) -> Step {
        let step = self.work.run.spent().model_calls;
        let path = format!("{}.{step}", self.agent.id);
        Step {
            run: Some(self.work.run.id.clone()),
            idempotency_key: Some(
                format!("{}:{}.{step}.{at}", self.work.run.id, self.work.agents.join("/")).into(),
            ),
            path: Some(path.into()),
            ..Step::default()
        }
    }

    async fn make(&self, at: usize, bound: &Bound<'_>, chosen: &Chosen) -> Came {
        let step = self.work.run.spent().model_calls;
        let event = progress::event("tool", &self.agent.id, step, &bound.name);
        progress::step(&self.cx, &self.work.run, format!("calls {}", bound.name), &event);
        let (Some(tools), Ok(arguments)) = (&self.tools, chosen.arguments()) else {
            return Came::told("the tool cannot be called");
        };
        let mut cx = acting(self.agent, &self.cx, self.step(at));
        cx.result_bytes = Some(self.work.run.limits.result_bytes);
        cx.shared = Some(self.work.inside());
        let span = spans::execute_tool(&mut cx, bound, chosen);
        let called = tools.call(&cx, Request::new(bound.target.clone(), arguments)).await;
        spans::end_tool(span, &called);
        let came = match called {
            Ok(Outcome::Done(output)) => from_outside(shown(&output), output.is_error()),
            Ok(Outcome::Started(run)) => from_outside(format!("it goes on as run {run}"), false),
            Ok(Outcome::NeedsInput(_)) => {
                Came::told("the tool asks for more input, which an agent cannot give")
            }
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                let schema = bound.parameters.get();
                Came::told(format!("{}. The arguments must fit this schema: {schema}", error.in_words()))
            }
            Err(error) => from_outside(format!("the tool failed: {}", error.in_words()), true),
        };
        self.guarded(bound, came).await
    }

    /// A result as the model may read it.
    async fn guarded(&self, bound: &Bound<'_>, came: Came) -> Came {
        if !came.is_from_outside {
            return came;
        }
        let mut text = came.text;
        for guards in &self.work.guards {
            match guards.apply(&self.guarding(), Stage::ToolOutput, text).await {
                Ok(guarded) => text = guarded,
                Err(blocked) => {
                    return Came::told(format!("the result is withheld by a guardrail: {}", blocked.0));
                }
            }
        }
        if !bound.binding.is_trusted {
            self.work.run.spent().has_untrusted = true;
        }
        Came { text: framed(&self.work.run.mark, &bound.name, &text), ..came }
    }

    fn tell(&mut self, calls: Vec<ToolCall>, came: Vec<Came>) {
        let results = calls.into_iter().zip(came).map(|(call, came)| ToolResult {
            id: call.id,
            name: call.name,
            text: came.text,
            is_error: came.is_error,
        });
        self.turns.push(Turn::Results(results.collect()));
    }
}

fn from_outside(text: String, is_error: bool) -> Came {
    Came { text, is_error, is_from_outside: true }
}

/// A result as text; what is none is described.
pub(super) fn shown(output: &Output) -> String {
    if let Some(data) = output.data() {
        return match serde_json::from_str(&data) {
            Ok(Value::String(text)) => text,
            _ => data.into_owned(),
        };
    }
    let result: Value = serde_json::from_str(&output.to_result()).unwrap_or_default();
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = blocks.iter().map(|block| match (block["type"].as_str(), block["text"].as_str()) {
        (Some("text"), Some(text)) => text.to_owned(),
        (kind, _) => {
            let media = block["mimeType"].as_str().unwrap_or("unknown");
            format!("[{} of type {media}, left out]", kind.unwrap_or("content"))
        }
    });
    shown.collect::<Vec<_>>().join("\n")
}
