//! What a run of an agent gave, as a call of the agent would have given it.

use flow::engine::{Ending, Failure};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tool::{Error, Output, Reason, Result};

/// The answer, or how the run failed; `told` is all that is told of one that failed after it had begun.
pub(in super::super) fn result_of(ending: &Ending, told: Option<Value>) -> Result<Output> {
    match (ending, told) {
        (Ending::Succeeded { output }, _) => {
            relayed(output, output["answer"].as_str().unwrap_or_default(), false)
        }
        (Ending::Failed { error }, Some(told)) => {
            let error = error_of(error);
            Ok(relayed(&told, &error.in_words(), true)?.failed_because(error))
        }
        (Ending::Failed { error }, None) => Err(error_of(error)),
        (Ending::Cancelled, _) => Err(Error::cancelled("the run was cancelled")),
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
fn error_of(failure: &Failure) -> Error {
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
