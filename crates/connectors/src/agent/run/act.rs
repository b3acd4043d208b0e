//! The calls of one answer: at the same time as far as they may, with results in the model's order.

use super::super::guardrails::Stage;
use super::super::model::{ToolCall, ToolResult, Turn};
use super::allow::Allowed;
use super::as_read::{as_read, as_suspected};
use super::frame::framed;
use super::handoff::Handed;
use super::offers::{Bound, Offered, acting};
use super::plan::{Chosen, Plan};
use super::progress::Message;
use super::think::Thinking;
use super::{progress, search, spans, spent};
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use tool::journal::parked;
use tool::{
    CallTools, ChosenBy, Context, Ended, Error, ErrorKind, Outcome, Output, Reason, Request, Result, RunKind,
    Step,
};

/// What came of one call, for the model.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CallResult {
    text: String,
    is_error: bool,
    /// It was made, and what it says comes from outside.
    is_from_outside: bool,
    /// Of those whom the agent may believe.
    is_trusted: bool,
}

impl CallResult {
    pub(super) fn told(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, is_from_outside: false, is_trusted: false }
    }

    fn answer(text: String) -> Self {
        Self { text, is_error: false, is_from_outside: false, is_trusted: true }
    }
}

/// A call that is about to be made, by its number in the answer.
type Making<'o, 'a> = (usize, &'o Bound<'a>, Chosen);

impl Thinking<'_> {
    /// Makes the calls that the model asks for, and puts what came of them where the model reads it. When another agent
    /// goes on, what that one answers is the answer.
    ///
    /// # Errors
    /// When a limit is reached, or the run has to wait.
    pub(super) async fn act(
        &mut self,
        offered: &Offered<'_>,
        calls: Vec<ToolCall>,
    ) -> Result<Option<Output>> {
        self.check_repeats(offered, &calls)?;
        // Those that are refused count, too: each is answered and recorded.
        let wanted = calls.iter().filter(|call| !offered.is_handoff(&call.name)).count();
        self.work.run.spent().may_call(wanted, &self.work.run.limits)?;
        let mut plans = Vec::with_capacity(calls.len());
        for (at, call) in calls.iter().enumerate() {
            plans.push(self.plan(offered, at, call).await?);
        }
        let handoff = plans.iter().enumerate().find_map(|(at, plan)| match plan {
            Plan::HandOver(name, given) => Some((at, *name, given.clone())),
            _ => None,
        });
        let results = self.make_all(plans).await?;
        let mut told = self.told(calls, results).await;
        if let Some((at, name, given)) = handoff {
            // What was called beside it goes along.
            let beside: Vec<_> = told.iter().enumerate().filter(|(other, _)| *other != at).collect();
            let beside: Vec<_> = beside.into_iter().map(|(_, result)| result.clone()).collect();
            match self.hand_over(offered, at, (name, &given), &beside).await? {
                Handed::Over(output) => return Ok(Some(output)),
                Handed::Told(why) => told[at].text = self.noted(at, CallResult::told(why)).await?.text,
            }
        }
        self.add(Turn::Results(told))?;
        Ok(None)
    }

    /// One tool with the same arguments again and again in one answer is told as what it is, whatever else there is too
    /// much of.
    fn check_repeats(&self, offered: &Offered<'_>, calls: &[ToolCall]) -> Result<()> {
        let most = self.work.run.limits.repeats.saturating_add(1);
        let mut counts: HashMap<(&str, String), u32> = HashMap::new();
        for call in calls.iter().filter(|call| offered.has(&call.name)) {
            let count = counts.entry((call.name.as_str(), search::repeated_as(call))).or_default();
            *count += 1;
            if *count > most {
                return Err(spent::in_a_loop(&call.name));
            }
        }
        Ok(())
    }

    /// Those that need no approval run first, and none waits for another's.
    async fn make_all(&self, plans: Vec<Plan<'_, '_>>) -> Result<Vec<CallResult>> {
        let has_untrusted = self.work.run.spent().has_untrusted;
        let needs = |bound: &Bound<'_>| {
            let approval = bound.binding.approval.unwrap_or(self.agent.approval);
            approval.is_needed(&bound.callable, has_untrusted)
        };
        let mut results: Vec<Option<CallResult>> = plans.iter().map(|_| None).collect();
        let (mut free, mut asked) = (Vec::new(), Vec::new());
        for (at, plan) in plans.into_iter().enumerate() {
            match plan {
                Plan::Make(bound, chosen) if needs(bound) => asked.push((at, bound, chosen)),
                Plan::Make(bound, chosen) => free.push(((at, bound, chosen), true)),
                Plan::Again(bound, chosen) => free.push(((at, bound, chosen), false)),
                Plan::Known(known) => results[at] = Some(known),
                Plan::Tell(why) => results[at] = Some(self.noted(at, CallResult::told(why)).await?),
                Plan::Answer(text) => results[at] = Some(self.noted(at, CallResult::answer(text)).await?),
                Plan::HandOver(..) => {}
            }
        }
        self.make_at_once(free, &mut results).await?;
        for (at, bound, chosen) in self.allow(asked, &mut results).await? {
            results[at] = Some(self.make(at, bound, &chosen, true).await?);
        }
        Ok(results
            .into_iter()
            .map(|result| result.unwrap_or_else(|| CallResult::told("it was not called")))
            .collect())
    }

    /// Makes calls at the same time. All come to their end, also when one has the run wait.
    async fn make_at_once(
        &self,
        calls: Vec<(Making<'_, '_>, bool)>,
        results: &mut [Option<CallResult>],
    ) -> Result<()> {
        let mut running: Vec<BoxFuture<'_, (usize, Result<CallResult>)>> = Vec::with_capacity(calls.len());
        for ((at, bound, chosen), is_new) in calls {
            running.push(Box::pin(async move { (at, self.make(at, bound, &chosen, is_new).await) }));
        }
        let mut running = stream::iter(running).buffer_unordered(self.agent.parallel);
        let mut stopped = Ok(());
        while let Some((at, done)) = running.next().await {
            match done {
                Ok(done) => results[at] = Some(done),
                Err(error) => stopped = stopped.and(Err(error)),
            }
        }
        stopped
    }

    /// The calls that somebody has approved. Nothing is made as long as one of them waits for that.
    async fn allow<'o, 'a>(
        &self,
        asked: Vec<Making<'o, 'a>>,
        results: &mut [Option<CallResult>],
    ) -> Result<Vec<Making<'o, 'a>>> {
        let (mut allowed, mut is_waiting) = (Vec::with_capacity(asked.len()), false);
        for (at, bound, chosen) in asked {
            match self.allowed(at, bound, chosen).await? {
                Allowed::Yes(chosen) => allowed.push((at, bound, chosen)),
                Allowed::No(why) => results[at] = Some(self.noted(at, CallResult::told(why)).await?),
                Allowed::NotYet => is_waiting = true,
            }
        }
        if is_waiting { Err(parked()) } else { Ok(allowed) }
    }

    /// Where in the run a call of the last answer stands.
    pub(super) fn call_path(&self, at: usize) -> String {
        format!("{}.{at}", self.path())
    }

    /// The same for whoever is called.
    pub(super) fn step(&self, at: usize) -> Step {
        let path = self.call_path(at);
        Step {
            run: Some(self.work.run.id.clone()),
            idempotency_key: Some(format!("{}:{path}", self.work.run.id).into()),
            path: Some(path.into()),
            chosen_by: Some(ChosenBy {
                agent: self.agent.id.as_str().into(),
                step: self.work.run.spent().model_calls,
            }),
            ..Step::default()
        }
    }

    async fn noted(&self, at: usize, result: CallResult) -> Result<CallResult> {
        self.work.run.notes.came(&self.call_path(at), &result).await?;
        Ok(result)
    }

    /// Makes a call, written down before it is made.
    async fn make(&self, at: usize, bound: &Bound<'_>, chosen: &Chosen, is_new: bool) -> Result<CallResult> {
        let step = self.work.run.spent().model_calls;
        let event = progress::event("tool", &self.agent.id, step, &bound.name);
        progress::step(&self.cx, &self.work.run, Message::Calls(vec![bound.name.clone()]), &event);
        if is_new {
            let uri = bound.callable.uri.to_string();
            self.work.run.notes.called(&self.call_path(at), &uri, chosen.fields.clone()).await?;
        }
        let called = self.call(at, bound, chosen);
        let result = progress::meanwhile(&self.cx, &self.work.run, called).await?;
        self.noted(at, result).await
    }

    async fn call(&self, at: usize, bound: &Bound<'_>, chosen: &Chosen) -> Result<CallResult> {
        let (Some(tools), Ok(arguments)) = (&self.tools, chosen.arguments()) else {
            return Ok(CallResult::told("the tool cannot be called"));
        };
        let now = self.now()?;
        let mut cx = acting(self.agent, &now.cx, Step { via: chosen.via, ..self.step(at) });
        if !now.has(bound) || leads_elsewhere(&**tools, &cx, bound) {
            let why = format!("the agent has no tool '{}' any more", bound.name);
            tools.refuse(&cx, &bound.callable.name, Error::not_found(why.clone())).await;
            return Ok(CallResult::told(why));
        }
        cx.result_bytes = Some(self.work.run.limits.result_bytes);
        cx.shared = Some(self.work.inside(&self.call_path(at), self.agent.run_as));
        let is_trusted = bound.binding.is_trusted;
        let from_outside = |text, is_error| CallResult { text, is_error, is_from_outside: true, is_trusted };
        let span = spans::execute_tool(&mut cx, &self.work, bound, chosen);
        let called = tools.call(&cx, Request::new(bound.target.clone(), arguments)).await;
        spans::end_tool(span, &cx, &self.work, chosen, &called);
        Ok(match called {
            Ok(Outcome::Done(output)) if output.failure().is_some_and(|error| ends_run(error, bound)) => {
                return Err(ended_inside(&output));
            }
            Ok(Outcome::Done(output)) => from_outside(shown(&output), output.is_error()),
            Ok(Outcome::Started(run)) if run == self.work.run.id => return Err(parked()),
            Ok(Outcome::Started(run)) => from_outside(format!("it goes on as run {run}"), false),
            Ok(Outcome::NeedsInput(_)) => {
                CallResult::told("the tool asks for more input, which an agent cannot give")
            }
            Err(error) if matches!(error.reason(), Some(Reason::Parked | Reason::DepthLimit)) => {
                return Err(error);
            }
            // What has become of it nobody knows.
            Err(_) if self.cx.cancel.is_cancelled() => return Err(Ended::Cancelled.error("")),
            // The words may be the service's own.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                let (words, schema) = (error.in_words(), bound.parameters.get());
                from_outside(format!("{words}. The arguments must fit this schema: {schema}"), true)
            }
            Err(error) => from_outside(format!("the tool failed: {}", error.in_words()), true),
        })
    }

    /// A result as the model may read it.
    async fn guarded(&self, name: &str, result: CallResult) -> CallResult {
        if !result.is_from_outside {
            return result;
        }
        let is_judged = self.work.guards.iter().any(|guards| guards.has(Stage::ToolOutput));
        let read = if is_judged { as_suspected(&result.text) } else { as_read(&result.text) };
        let mut text = read.into_owned();
        for guards in &self.work.guards {
            match guards.apply(&self.guarding(), Stage::ToolOutput, text).await {
                Ok(guarded) => text = guarded,
                Err(blocked) => {
                    return CallResult::told(format!("the result is withheld by a guardrail: {}", blocked.0));
                }
            }
        }
        if !result.is_trusted {
            self.work.run.read_untrusted();
        }
        CallResult { text: framed(&self.work.run.mark, name, &text), ..result }
    }

    /// What the model reads of the results.
    async fn told(&self, calls: Vec<ToolCall>, results: Vec<CallResult>) -> Vec<ToolResult> {
        let mut told = Vec::with_capacity(calls.len());
        for (call, result) in calls.into_iter().zip(results) {
            let CallResult { text, is_error, .. } = self.guarded(&call.name, result).await;
            told.push(ToolResult { id: call.id, name: call.name, text, is_error });
        }
        told
    }
}

/// What is called by its name is another tool by now.
fn leads_elsewhere(tools: &dyn CallTools, cx: &Context, bound: &Bound<'_>) -> bool {
    let found = tools.tool(cx, &bound.target).map(|callable| callable.uri.with_options(Default::default()));
    found.is_ok_and(|uri| uri != bound.callable.uri.with_options(Default::default()))
}

/// A limit of the whole run is reached, wherever in it that was: agents inside work with the limits of the first one.
fn ends_run(error: &Error, bound: &Bound<'_>) -> bool {
    let is_inside = bound.callable.run_kind == Some(RunKind::Agent);
    match error.reason() {
        Some(Reason::DepthLimit) => true,
        Some(
            Reason::StepLimit
            | Reason::ToolLimit
            | Reason::HandoffLimit
            | Reason::TokenLimit
            | Reason::CostLimit
            | Reason::Loop,
        ) => is_inside,
        _ => false,
    }
}

fn ended_inside(output: &Output) -> Error {
    let failure = output.failure();
    let error = Error::upstream(failure.map(Error::message).unwrap_or_default());
    match failure.and_then(Error::reason) {
        Some(reason) => error.because(reason),
        None => error,
    }
}

/// A result as text; what is none is described. Remarks stand behind the data that they are about.
pub(super) fn shown(output: &Output) -> String {
    let result: Value = serde_json::from_str(&output.to_result()).unwrap_or_default();
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(data) = output.data() else { return lines(blocks.iter()) };
    let value: Value = serde_json::from_str(&data).unwrap_or_default();
    let remarks = lines(blocks.iter().filter(|block| !says(block, &data, &value)));
    let data = match value {
        Value::String(text) => text,
        _ => data.into_owned(),
    };
    if remarks.is_empty() { data } else { format!("{data}\n{remarks}") }
}

fn lines<'b>(blocks: impl Iterator<Item = &'b Value>) -> String {
    let shown = blocks.map(|block| match (block["type"].as_str(), block["text"].as_str()) {
        (Some("text"), Some(text)) => text.to_owned(),
        (kind, _) => {
            let media = block["mimeType"].as_str().unwrap_or("unknown");
            format!("[{} of type {media}, left out]", kind.unwrap_or("content"))
        }
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// The block says what the data says: all of it, or as agents do, the text that is one of its fields.
fn says(block: &Value, data: &str, value: &Value) -> bool {
    let Some(text) = block["text"].as_str() else { return false };
    let is_field = || value.as_object().is_some_and(|fields| fields.values().any(|field| field == text));
    text == data
        || value == text
        || text.trim().is_empty()
        || is_field()
        || serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;
    use tool::Content;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    /// AG-2
    #[test]
    fn a_model_reads_that_a_result_was_cut() {
        let remark = "Cut to 20 bytes: /items shows the first 1 of 9 items. Ask for less.";
        let cut = Output::json_with_remark(raw("{\"items\":[1]}"), remark);
        assert_eq!(shown(&cut), format!("{{\"items\":[1]}}\n{remark}"));
        let relayed = |content: &str| {
            let result = format!("{{\"content\":{content},\"structuredContent\":{{\"a\": 1.10}}}}");
            shown(&Output::relayed(raw(&result)).unwrap())
        };
        assert_eq!(relayed("[]"), "{\"a\": 1.10}");
        assert_eq!(relayed(r#"[{"type":"text","text":"{\"a\":1.10}"}]"#), "{\"a\": 1.10}");
        let remarked = r#"[{"type":"text","text":"{\"a\":1.10}"},{"type":"text","text":"Two more pages."}]"#;
        assert_eq!(relayed(remarked), "{\"a\": 1.10}\nTwo more pages.");
        assert_eq!(shown(&Output::text("plain")), "plain");
        assert_eq!(shown(&Output::blocks(vec![Content::text("a"), Content::text("b")])), "a\nb");
        let answer = r#"{"content":[{"type":"text","text":"Done."}],"structuredContent":{"answer":"Done."}}"#;
        assert_eq!(shown(&Output::relayed(raw(answer)).unwrap()), r#"{"answer":"Done."}"#);
    }
}
