//! What counts against a service and its instances: what is their own fault, and nothing that callers caused.

use super::balance::Verdict;
use tool::{Error, ErrorKind, Reason};

/// Statuses of gRPC that stand for a server in trouble, as [`Error::service_code`] holds them. One that ends a stream
/// before its time is over has run into a time of its own.
const TROUBLES: [&str; 4] = ["UNAVAILABLE", "INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED"];

/// What an exchange says about whoever answered it, or did not. Whoever lets a caller set the time must not say
/// [`Reason::AttemptTimedOut`] of it.
pub(super) fn of(error: Option<&Error>) -> Verdict {
    let Some(error) = error else { return Verdict::Succeeded };
    match error.kind() {
        // The registry's fault: it may name somebody the next moment.
        ErrorKind::Unavailable | ErrorKind::Upstream if is_of_registry(error) => Verdict::Unknown,
        ErrorKind::Unavailable => Verdict::Failed,
        ErrorKind::Timeout if error.reason() == Some(Reason::AttemptTimedOut) => Verdict::Failed,
        ErrorKind::Upstream | ErrorKind::Missing => {
            let is_trouble = matches!(error.status(), Some(500..=599))
                || error.service_code().is_some_and(|code| TROUBLES.contains(&code));
            if is_trouble { Verdict::Failed } else { Verdict::Succeeded }
        }
        _ => Verdict::Unknown,
    }
}

fn is_of_registry(error: &Error) -> bool {
    let is_answer = error.status().is_some() || error.service_code().is_some();
    match error.reason() {
        Some(Reason::NoInstance) => true,
        Some(Reason::CredentialsRejected) => !is_answer,
        _ => false,
    }
}
