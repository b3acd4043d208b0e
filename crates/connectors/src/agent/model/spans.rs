//! The span of a model call, in the words of OpenTelemetry's conventions for generative AI.

use super::{Answer, ModelRequest, Stop, ToolCall, Turn};
use serde_json::{Value, json};
use tool::secret::names::{hidden_fields, masked_fields};
use tool::secret::{MASK, SecretValues};
use tool::{Context, Result, Span, SpanKind};

/// Who is asked, as spans tell it.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Asking<'a> {
    pub(in super::super) provider: &'static str,
    pub(in super::super) model: Option<&'a str>,
    pub(in super::super) host: Option<&'a str>,
    pub(in super::super) port: Option<u16>,
}

impl Asking<'_> {
    /// Notes who is asked.
    pub(in super::super) fn note(self, span: &mut Span) {
        span.note("gen_ai.provider.name", self.provider);
        span.note("gen_ai.request.model", self.model);
        span.note("server.address", self.host);
        span.note("server.port", self.port);
    }
}

/// Begins the span of one model call.
pub(super) fn chat(cx: &Context, asking: Asking<'_>, asked: &ModelRequest<'_>) -> Span {
    let mut span = cx.span(SpanKind::Client, || match asking.model {
        Some(model) => format!("chat {model}"),
        None => "chat".to_owned(),
    });
    if !span.is_kept() {
        return span;
    }
    span.note("gen_ai.operation.name", "chat");
    asking.note(&mut span);
    span.note("gen_ai.request.temperature", asked.parameters.temperature);
    span.note("gen_ai.request.max_tokens", asked.parameters.max_output_tokens);
    span.note("gen_ai.output.type", if asked.schema.is_some() { "json" } else { "text" });
    span.note_content("gen_ai.system_instructions", || {
        without_secrets(cx, &[], &json!([{ "type": "text", "content": asked.system }]).to_string())
    });
    span.note_content("gen_ai.input.messages", || {
        let calls = asked.turns.iter().flat_map(Turn::calls);
        let arguments: Vec<_> = calls.filter_map(|call| serde_json::from_str(&call.arguments).ok()).collect();
        without_secrets(cx, &arguments, &asked.turns.iter().map(message).collect::<Value>().to_string())
    });
    span
}

/// What was said without what is secret in arguments, and where the agent was asked: as the audit has it.
pub(in super::super) fn without_secrets(cx: &Context, arguments: &[Value], said: &str) -> String {
    let said = SecretValues::of(arguments.iter().flat_map(hidden_fields)).masked_text(said);
    match cx.nested.as_deref() {
        Some(nested) => nested.step.secrets.masked_text(&said),
        None => said,
    }
}

/// Ends it with what came of the call.
pub(super) fn end_chat(span: &mut Span, cx: &Context, answer: &Result<Answer>) {
    if !span.is_kept() {
        return;
    }
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return span.fail(error),
    };
    let reason = match answer.stop {
        Stop::Length => "length",
        Stop::Refused => "content_filter",
        Stop::End if answer.calls.is_empty() => "stop",
        Stop::End => "tool_call",
    };
    span.note("gen_ai.response.finish_reasons", json!([reason]));
    if let Some(usage) = answer.usage {
        span.note("gen_ai.usage.input_tokens", usage.input);
        span.note("gen_ai.usage.output_tokens", usage.output);
        span.note("gen_ai.usage.cache_read.input_tokens", usage.cached);
    }
    span.note_content("gen_ai.output.messages", || {
        let mut said = said_by_model(&answer.text, &answer.calls);
        said["finish_reason"] = reason.into();
        without_secrets(cx, &[], &json!([said]).to_string())
    });
}

fn message(turn: &Turn) -> Value {
    match turn {
        Turn::User(text) => json!({ "role": "user", "parts": [{ "type": "text", "content": text }] }),
        Turn::Model { text, calls, .. } => said_by_model(text, calls),
        Turn::Results(results) => {
            let part = |result: &super::ToolResult| json!({ "type": "tool_call_response", "id": result.id, "response": result.text });
            json!({ "role": "tool", "parts": results.iter().map(part).collect::<Value>() })
        }
    }
}

fn said_by_model(text: &str, calls: &[ToolCall]) -> Value {
    let text = (!text.is_empty()).then(|| json!({ "type": "text", "content": text }));
    let call = |call: &ToolCall| json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": shown(call) });
    json!({ "role": "assistant", "parts": text.into_iter().chain(calls.iter().map(call)).collect::<Value>() })
}

/// Arguments as the audit shows them.
fn shown(call: &ToolCall) -> String {
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(arguments) => masked_fields(&arguments).to_string(),
        // Whatever is secret in it cannot be told.
        Err(_) if !call.arguments.trim().is_empty() => MASK.to_owned(),
        Err(_) => String::new(),
    }
}
