//! Why a service cannot be reached, in our words.

use super::network::refused;
use tool::Error;

/// The failure of a request, never with the address, which may hold a key.
pub(crate) fn explain(error: fetch::Error) -> Error {
    if let Some(refused) = refused::find(&error) {
        return refused.restated(refused.message().to_owned());
    }
    if error.is_unusable() {
        return Error::internal("the request cannot be sent").caused_by(error);
    }
    if error.is_resolve() {
        let message = "the service's name cannot be resolved; check the host in its address";
        return Error::unavailable(message).caused_by(error).retryable();
    }
    let message = match (error.is_connect(), error.is_malformed()) {
        (true, _) => "the service cannot be connected to",
        (false, true) => "the service's answer cannot be used",
        (false, false) => "the connection broke before the service answered",
    };
    let advice = error.advice().map(|advice| format!(": {advice}")).unwrap_or_default();
    let is_unsent = error.is_connect();
    let explained = Error::unavailable(format!("{message}{advice}")).caused_by(error).retryable();
    // The request was on its way.
    if is_unsent { explained } else { explained.in_doubt() }
}
