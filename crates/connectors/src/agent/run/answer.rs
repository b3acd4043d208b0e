//! What a caller gets: the answer, or how the run failed, and what it took.

use super::super::model::Stop;
use super::think::Thinking;
use crate::shared::digits;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tool::{Account, Content, Error, ErrorKind, Output, Reason, Result};

/// How a run ends well.
pub(super) enum Ending {
    /// This agent has answered.
    Answered(Answered),
    /// Another one has.
    HandedOver(Output),
}

/// An answer that was checked.
pub(super) struct Answered {
    pub(super) text: String,
    /// The answer as data, where a schema asks for it, with marks that keep its digits.
    pub(super) output: Value,
    pub(super) stop: Stop,
}

/// The answer of a run that went well.
pub(super) fn output(thinking: &Thinking<'_>, answered: &Answered) -> Result<Output> {
    let stop = match answered.stop {
        Stop::Length => "length",
        Stop::End | Stop::Refused => "end",
    };
    let mut told = told(thinking, &answered.text, "succeeded");
    told["output"] = answered.output.clone();
    told["stop"] = stop.into();
    let output = relayed(&answered.text, &told, false)?;
    Ok(output.accounted(account(thinking)?))
}

/// What is told of a run that failed. What is refused before anything was sent is a refusal, as of every tool.
pub(super) async fn failure(thinking: &Thinking<'_>, error: Error) -> Result<Output> {
    let error =
        if error.kind() == ErrorKind::Timeout && error.reason().is_none() { thinking.late() } else { error };
    let error = error.of_service_alone(&thinking.agent.id);
    let is_over = error.kind() == ErrorKind::Cancelled || thinking.cx.cancel.is_cancelled();
    let is_refusal = error.kind().is_refusal() || error.kind() == ErrorKind::Internal;
    if is_over {
        return Err(error.accounted(account(thinking)?));
    }
    if !thinking.has_thought && is_refusal {
        return Err(error);
    }
    let said = match error.reason() {
        Some(Reason::Guardrail) => String::new(),
        // No rule of answers has seen it yet.
        _ => thinking.guard_output(&thinking.last_text).await.unwrap_or_default(),
    };
    let mut told = told(thinking, &said, "failed");
    told["error"] = json!({
        "code": code_of(error.kind()),
        "reason": error.reason().and_then(Reason::code),
        "service": thinking.agent.id,
        "message": error.message(),
    });
    let output = relayed(&error.in_words(), &told, true)?;
    Ok(output.accounted(account(thinking)?).failed_because(error))
}

/// The kinds of failure that end a run, in REST's words.
fn code_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Unavailable | ErrorKind::InvalidConfig => "UNAVAILABLE",
        ErrorKind::Timeout => "TIMEOUT",
        ErrorKind::Denied => "FORBIDDEN",
        ErrorKind::NotFound | ErrorKind::Missing => "NOT_FOUND",
        ErrorKind::ServiceDisabled => "SERVICE_DISABLED",
        ErrorKind::Unsupported => "BAD_REQUEST",
        ErrorKind::InvalidInput => "VALIDATION_FAILED",
        ErrorKind::RateLimited => "RATE_LIMITED",
        _ => "UPSTREAM_ERROR",
    }
}

fn told(thinking: &Thinking<'_>, text: &str, state: &str) -> Value {
    let spent = thinking.work.run.spent();
    json!({
        "answer": text,
        "output": null,
        "agent": thinking.agent.id,
        "run": thinking.work.run.id,
        "state": state,
        "conversation": thinking.work.run.conversation,
        "stop": null,
        "handoffs": spent.handoffs,
        "warnings": spent.warnings(),
        "usage": spent.told(),
    })
}

/// A result with the text for people and everything for programs.
fn relayed(text: &str, told: &Value, is_error: bool) -> Result<Output> {
    let (text, told) = (Content::text(text), digits::to_json(told));
    let result =
        format!("{{\"content\":[{}],\"structuredContent\":{told},\"isError\":{is_error}}}", text.get());
    let raw = RawValue::from_string(result)
        .map_err(|error| Error::internal("an agent's answer cannot be written").caused_by(error))?;
    Output::relayed(raw)
}

fn account(thinking: &Thinking<'_>) -> Result<Account> {
    let run = &thinking.work.run;
    Ok(Account { run: run.id.clone(), agent: thinking.agent.id.clone(), usage: raw(&run.spent().told())? })
}

fn raw(value: &impl Serialize) -> Result<Box<RawValue>> {
    to_raw_value(value).map_err(|error| Error::internal("what was used cannot be written").caused_by(error))
}
