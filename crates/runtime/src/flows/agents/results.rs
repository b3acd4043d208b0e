//! What a run of an agent gave, as a call of the agent would have given it.

use flow::engine::{Ending, Failure};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use store::runs::Run;
use tool::{Error, ErrorKind, Output, Reason, Result};

/// The answer, or how the run failed; `told` is all that is told of one that failed after it had begun.
pub(in super::super) fn result_of(ending: &Ending, told: Option<Value>, of: &RunTold<'_>) -> Result<Output> {
    match (ending, told) {
        (Ending::Succeeded { output }, _) => {
            relayed(output, output["answer"].as_str().unwrap_or_default(), false)
        }
        (Ending::Failed { error }, Some(told)) => {
            let error = error_of(error);
            Ok(relayed(&told, &error.in_words(), true)?.failed_because(error))
        }
        (Ending::Failed { error }, None) => {
            let error = error_of(error);
            // What was refused before anything was sent is a refusal, as of every tool.
            match error.kind().is_refusal() || error.kind() == ErrorKind::Internal {
                true => Err(error),
                false => of.unanswered("failed", error),
            }
        }
        (Ending::Cancelled, _) => of.unanswered("cancelled", cancelled()),
    }
}

/// Somebody has had the run end.
pub(in super::super) fn cancelled() -> Error {
    Error::cancelled("the run was cancelled")
}

/// What is told of a run whatever has come of it.
pub(in super::super) struct RunTold<'r> {
    pub(in super::super) run: &'r Run,
    pub(in super::super) conversation: Option<String>,
    /// What kinds of failure are called.
    pub(in super::super) code_of: fn(ErrorKind) -> &'static str,
}

impl RunTold<'_> {
    /// A result without an answer.
    fn unanswered(&self, state: &str, error: Error) -> Result<Output> {
        let agent = self.run.agent().unwrap_or_default();
        let error = error.of_service_alone(agent);
        let told = json!({
            "answer": null, "output": null, "agent": agent, "run": self.run.id, "state": state,
            "conversation": self.conversation, "stop": null, "handoffs": [], "warnings": [], "usage": null,
            "error": {
                "code": (self.code_of)(error.kind()), "reason": error.reason().and_then(Reason::code),
                "service": agent, "message": error.message(),
            },
        });
        Ok(relayed(&told, &error.in_words(), true)?.failed_because(error))
    }
}

fn relayed(told: &Value, text: &str, is_error: bool) -> Result<Output> {
    let result = json!({
        "content": [{ "type": "text", "text": text }], "structuredContent": told, "isError": is_error
    });
    let raw = RawValue::from_string(result.to_string())
        .map_err(|error| Error::internal("an agent's answer cannot be written").caused_by(error))?;
    Output::relayed(raw)
}

/// The failure as it was before it was written down.
pub(super) fn error_of(failure: &Failure) -> Error {
    let message = failure.message.clone();
    let error = match failure.code.as_str() {
        "UNAVAILABLE" => Error::unavailable(message),
        "TIMEOUT" => Error::timeout(message),
        "FORBIDDEN" => Error::denied(message),
        "NOT_FOUND" => Error::not_found(message),
        "RATE_LIMITED" => Error::rate_limited(message),
        "VALIDATION_FAILED" => Error::invalid_input(message),
        "BAD_REQUEST" => Error::unsupported(message),
        _ => Error::upstream(message),
    };
    let error = match failure.reason.as_deref().and_then(Reason::of_code) {
        Some(reason) => error.because(reason),
        None => error,
    };
    match failure.service.as_deref() {
        Some(service) => error.of_service(service),
        None => error,
    }
}
