//! Why a model did not answer, as one of the reasons that have a name.

use super::{Endpoint, MAX_CALLS};
use crate::shared::attempts::{Failure, retry_after};
use crate::shared::body;
use crate::shared::unreachable::explain;
use fetch::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use tool::sanitize::clean;
use tool::{Error, Reason};

/// The most bytes that are read of an error.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// So much of what the provider says is repeated.
const TOLD_CHARACTERS: usize = 300;

/// Nobody could be reached, or the connection broke.
pub(super) fn unreachable(error: fetch::Error) -> Error {
    let explained = explain(error);
    let message = format!("the model cannot be reached: {}", explained.in_words());
    let error = Error::unavailable(message).because(Reason::ModelUnreachable);
    if explained.is_retryable() { error.retryable() } else { error }
}

/// The guard does not let us go there.
pub(super) fn refused_address(refusal: &Error) -> Error {
    Error::unavailable(format!("the model cannot be reached: {}", refusal.message()))
        .because(Reason::ModelUnreachable)
}

/// The answer is none.
pub(super) fn bad(why: &str) -> Error {
    Error::upstream(format!("the model's answer cannot be used: {why}")).because(Reason::BadModelAnswer)
}

/// The model wants more at once than any run may do.
pub(super) fn too_many_calls() -> Error {
    let message = format!("the run has ended: the model asks for more than {MAX_CALLS} tool calls at once");
    Error::upstream(message).because(Reason::ToolLimit)
}

/// The stream ended before the answer did.
pub(super) fn cut_off() -> Error {
    Error::unavailable("the model's answer was cut off").because(Reason::ModelUnreachable).retryable()
}

/// The model was too slow.
pub(super) fn late(milliseconds: u128) -> Error {
    Error::unavailable(format!("the model did not answer within {milliseconds} ms"))
        .because(Reason::ModelUnreachable)
        .retryable()
}

/// The model will not answer.
pub(super) fn refused() -> Error {
    Error::upstream("the model, or its provider, refuses to answer this").because(Reason::ModelRefused)
}

/// What a status other than success means.
pub(super) async fn of_status(endpoint: &Endpoint, response: Response) -> Failure {
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers());
    // What cannot be read of an error is not worth another one.
    let body = body::read(response, MAX_ERROR_BYTES).await.unwrap_or_default();
    let said = Said::read(&body);
    let words = said.as_ref().map(|said| endpoint.masked(&said.message)).unwrap_or_default();
    let is_too_long = status == 413 || said.is_some_and(|said| said.is_too_long());
    Failure { error: told(status, is_too_long, &words), retry_after }
}

fn told(status: u16, is_too_long: bool, words: &str) -> Error {
    let clean_words = clean(words, &mut BTreeSet::new()).replace('\n', " ");
    let words: String = clean_words.chars().take(TOLD_CHARACTERS).collect();
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    let unavailable = |what: &str| Error::unavailable(format!("{what} (HTTP {status}){words}"));
    let upstream = |what: &str| Error::upstream(format!("{what} (HTTP {status}){words}"));
    let error = match status {
        300..=399 => {
            let message = "the model's provider redirects, which is not followed; correct the base_url";
            unavailable(message).because(Reason::ModelUnreachable)
        }
        401 | 403 => {
            unavailable("the model's provider refuses the agent's api_key").because(Reason::ModelAuth)
        }
        429 => {
            let error = unavailable("the model's provider lets in no more requests now");
            error.because(Reason::ModelRateLimited).retryable()
        }
        408 | 500..=599 => {
            unavailable("the model's provider fails").because(Reason::ModelUnreachable).retryable()
        }
        _ if is_too_long => {
            upstream("there is more to say than the model can read at once").because(Reason::ContextTooLong)
        }
        _ => upstream("the model's provider refuses the request").because(Reason::ModelRefused),
    };
    error.with_status(status)
}

/// What a provider says of its error: all three write it under `error`.
#[derive(Deserialize)]
struct Said {
    #[serde(default)]
    code: Option<Box<RawValue>>,
    #[serde(default)]
    message: String,
}

impl Said {
    fn read(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Errors {
            error: Said,
        }
        #[derive(Deserialize)]
        struct Text {
            error: String,
        }
        let text = std::str::from_utf8(body).ok()?;
        let errors = serde_json::from_str::<Errors>(text).map(|errors| errors.error);
        errors.ok().or_else(|| {
            let text: Text = serde_json::from_str(text).ok()?;
            Some(Self { code: None, message: text.error })
        })
    }

    /// OpenAI has a code for it; of the others, the words of the provider are the only sign there is.
    fn is_too_long(&self) -> bool {
        let words = self.message.to_ascii_lowercase();
        let signs = ["prompt is too long", "exceeds the maximum number of tokens", "maximum context length"];
        self.code.as_ref().is_some_and(|code| code.get() == "\"context_length_exceeded\"")
            || signs.iter().any(|sign| words.contains(sign))
    }
}

/// An event of a stream that says that the provider failed after it had begun to answer.
pub(super) fn of_event(endpoint: &Endpoint, data: &str) -> Option<Error> {
    if !data.contains("\"error\"") {
        return None;
    }
    let said = Said::read(data.as_bytes())?;
    let words = endpoint.masked(&said.message);
    let is_too_long = said.is_too_long();
    Some(told(if is_too_long { 400 } else { 503 }, is_too_long, &words))
}
