//! What callers are told of an exchange that failed.

use super::details;
use super::failure::{Failure, h2_error};
use super::status::{Code, Status};
use tool::secret::Redactor;
use tool::{Error, ErrorKind};

/// Characters of a server's own words.
const MAX_MESSAGE: usize = 1_000;

impl Failure {
    /// In words, without secrets.
    pub(super) fn explain(self, redactor: &Redactor<'_>) -> Error {
        match self {
            Self::Unconnected(error) => error,
            Self::Unsent(error) => {
                unavailable("the service refused the request before it looked at it").caused_by(error)
            }
            Self::Broken(error) if h2_error(&error).is_some_and(h2::Error::is_reset) => {
                let reason = h2_error(&error).and_then(h2::Error::reason);
                let reason = reason.map(|reason| format!(" ({reason:?})")).unwrap_or_default();
                Error::upstream(format!("the service reset the call{reason}; it may have happened"))
                    .caused_by(error)
            }
            Self::Broken(error) => {
                unavailable("the connection broke before the service answered").caused_by(error).in_doubt()
            }
            Self::Cut => Error::upstream("the service ended the call without a status; it may have happened"),
            Self::Status(status) => explain(&status, redactor),
            Self::Protocol(why) => Error::upstream(format!(
                "the service's answer cannot be used: {why}; check that a gRPC server listens there, and the setting 'scheme'"
            )),
            Self::TooLarge { bytes, limit } => Error::upstream(format!(
                "a message of the service has {bytes} bytes, more than the {limit} that it may have"
            )),
            Self::NotServing => {
                unavailable("the service says of itself that it is not serving (grpc.health.v1)")
            }
        }
    }
}

fn unavailable(message: &str) -> Error {
    Error::unavailable(message).retryable()
}

/// What a status means to callers.
fn explain(status: &Status, redactor: &Redactor<'_>) -> Error {
    let details = details::read(&status.details);
    let said = shorten(redactor.apply(&status.message));
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    let more =
        details.words.map(|words| format!(" ({})", shorten(redactor.apply(&words)))).unwrap_or_default();
    let advice = match status.code {
        Code::Unimplemented => "; the service does not have the method, check 'rpc' and the schema",
        _ => "",
    };
    let name = status.code.name();
    let kind = match status.code {
        Code::NotFound => ErrorKind::Missing,
        Code::Unavailable => ErrorKind::Unavailable,
        Code::DeadlineExceeded => ErrorKind::Timeout,
        _ => ErrorKind::Upstream,
    };
    let error =
        Error::new(kind, format!("the service answered {name}{said}{more}{advice}")).with_grpc_status(name);
    let error = match status.code {
        Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted => error.retryable(),
        _ => error,
    };
    match (status.pushback.or(details.retry_after), status.code) {
        // Who says when to come back has done nothing yet.
        (Some(pause), _) => error.with_retry_after(pause),
        // What it did before it got into trouble it does not say.
        (None, Code::Unavailable | Code::DeadlineExceeded) => error.in_doubt(),
        (None, _) => error,
    }
}

/// An answer that is no such message.
pub(super) fn unusable(message: &str, why: &str) -> Error {
    let why = shorten(why.to_owned());
    Error::upstream(format!(
        "the service's answer is no usable {message}: {why}; the schema may be another than the service's"
    ))
}

/// As much of a server's words as people read.
fn shorten(text: String) -> String {
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
