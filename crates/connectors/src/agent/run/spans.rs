//! The spans of a run, in the words of OpenTelemetry's conventions for generative AI: the agent, and below it the tools
//! that it executes. Model calls have theirs where they are made. What runs use is counted for all agents together, too.

use super::super::Agent;
use super::super::guardrails::Stage;
use super::super::model::{Usage, without_secrets};
use super::Reply;
use super::act::shown;
use super::metrics;
use super::offers::Bound;
use super::plan::Chosen;
use super::work::AtWork;
use serde_json::Value;
use tool::secret::names::masked_fields;
use tool::{Context, ErrorKind, Outcome, Output, Result, Span, SpanKind};

/// An agent that is asked, and what its run had used before.
pub(super) struct Invocation {
    span: Span,
    before: Used,
}

impl Invocation {
    /// Begins the span of an agent; the context is the one to go on with.
    pub(super) fn begin(agent: &Agent, work: &AtWork, cx: Context) -> (Self, Context) {
        let before = Used::until_now(work);
        let mut span = cx.span(SpanKind::Internal, || format!("invoke_agent {}", agent.id));
        let Some(inside) = cx.within_span(&span) else { return (Self { span, before }, cx) };
        span.note("gen_ai.operation.name", "invoke_agent");
        span.note("gen_ai.agent.name", agent.id.as_str());
        span.note("gen_ai.agent.description", agent.description.as_deref());
        span.note("mcp_all_in_one.run_id", work.run.id.as_str());
        agent.model.asking().note(&mut span);
        (Self { span, before }, *inside)
    }

    /// Ends it with what this agent, and all that it asked, has used since it began.
    pub(super) fn end(self, work: &AtWork, reply: &Result<Reply>) {
        let Self { mut span, before } = self;
        let now = Used::until_now(work);
        // What agents inside have used is counted with the one that was asked first.
        if !work.is_inside {
            let state = match reply {
                Ok(Reply::Ended(output)) if output.is_error() => Some("failed"),
                Ok(Reply::Ended(_)) => Some("succeeded"),
                // It is counted when it has ended, with all that it has used until then.
                Ok(Reply::GoesOn(_)) => None,
                Err(error) if error.kind() == ErrorKind::Cancelled => Some("cancelled"),
                Err(_) => Some("failed"),
            };
            if let Some(state) = state {
                metrics::count(now.all.since(before.all), now.cost_usd - before.cost_usd, state);
            }
        }
        if work.run.spent().usage().is_some() {
            let spent = now.here.since(before.here);
            span.note("gen_ai.usage.input_tokens", spent.input);
            span.note("gen_ai.usage.output_tokens", spent.output);
            span.note("gen_ai.usage.cache_read.input_tokens", spent.cached);
        }
        match reply {
            Ok(Reply::Ended(output)) => end_as(&mut span, output),
            Ok(Reply::GoesOn(_)) => {}
            Err(error) => span.fail(error),
        }
    }
}

/// What a run has used until now.
struct Used {
    all: Usage,
    /// Without what stands in the spans of those who have worked on it before.
    here: Usage,
    cost_usd: f64,
}

impl Used {
    fn until_now(work: &AtWork) -> Self {
        let spent = work.run.spent();
        Self {
            all: spent.usage().unwrap_or_default(),
            here: spent.usage_of_now(),
            cost_usd: spent.cost_usd(),
        }
    }
}

/// Begins the span of a tool that the model asked for.
pub(super) fn execute_tool(cx: &mut Context, work: &AtWork, bound: &Bound<'_>, chosen: &Chosen) -> Span {
    let mut span = cx.span(SpanKind::Internal, || format!("execute_tool {}", bound.name));
    if let Some(trace) = span.trace().cloned() {
        cx.trace = Some(trace);
        span.note("gen_ai.operation.name", "execute_tool");
        span.note("gen_ai.tool.name", bound.name.as_str());
        span.note("gen_ai.tool.type", "function");
        span.note("gen_ai.tool.call.id", chosen.call_id.as_str());
        span.note("mcp_all_in_one.uri", bound.callable.uri.to_string());
        span.note_content("gen_ai.tool.call.arguments", || {
            let arguments = masked_fields(&Value::Object(chosen.fields.clone())).to_string();
            work.run.masked(&without_secrets(cx, &[], &arguments))
        });
    }
    span
}

/// Ends it with what came of the call. What rules have to look at first is told by the next model call.
pub(super) fn end_tool(
    mut span: Span,
    cx: &Context,
    work: &AtWork,
    chosen: &Chosen,
    called: &Result<Outcome>,
) {
    let is_judged = work.guards.iter().any(|guards| guards.has(Stage::ToolOutput));
    match called {
        Ok(Outcome::Done(output)) => {
            if !is_judged {
                span.note_content("gen_ai.tool.call.result", || {
                    let arguments = Value::Object(chosen.fields.clone());
                    work.run.masked(&without_secrets(cx, &[arguments], &shown(output)))
                });
            }
            end_as(&mut span, output);
        }
        Ok(_) => {}
        Err(error) => span.fail(error),
    }
}

fn end_as(span: &mut Span, output: &Output) {
    match output.failure() {
        Some(error) => span.fail(error),
        None if output.is_error() => span.fail_as("tool_error"),
        None => {}
    }
}
