//! A span for each call, where somebody collects spans.

use crate::Gateway;
use crate::audit::Record;
use tool::{Context, Outcome, Result, Span, SpanKind};

/// What is done here, whoever asked for it.
const CALL: &str = "call";

impl Gateway {
    /// Begins the span of a call. Without a collector it is none, and nothing is made for it.
    pub(crate) fn begin_span(&self, cx: &Context) -> Span {
        let kind = if cx.nested.is_some() { SpanKind::Internal } else { SpanKind::Server };
        Span::begin(self.env.spans.as_ref(), cx.trace.as_ref(), kind, CALL)
    }
}

/// Ends it with what is known of the call. What nobody offers is not named: such names are anybody's words.
pub(crate) fn end(mut span: Span, cx: &Context, record: &Record, result: &Result<Outcome>) {
    if !span.is_kept() {
        return;
    }
    span.note("mcp_all_in_one.tenant", cx.tenant.as_str());
    span.note("mcp_all_in_one.door", cx.door.as_str());
    span.note("mcp_all_in_one.request_id", &*cx.request_id);
    if let Some(nested) = &cx.nested {
        span.note("mcp_all_in_one.run_id", nested.step.run.as_ref().map(|run| run.as_str()));
        span.note("mcp_all_in_one.step", nested.step.path.as_deref());
    }
    if let Some(route) = record.route() {
        span.rename(|| format!("{CALL} {}", route.name));
        span.note("gen_ai.tool.name", route.name.as_str());
        span.note("mcp_all_in_one.uri", route.address.as_str());
        span.note("mcp_all_in_one.service", route.service.id.as_str());
    }
    match result {
        Ok(Outcome::Done(output)) if output.is_error() => match output.failure() {
            Some(error) => span.fail(error),
            // The words of MCP for a tool that says so itself.
            None => span.fail_as("tool_error"),
        },
        Ok(_) => {}
        Err(error) => span.fail(error),
    }
}
