//! What RabbitMQ says when it fails, in our kinds.

use lapin::ErrorKind;
use tool::{Error, Reason};

/// The codes of AMQP that mean something to us.
pub(super) const NOT_FOUND: u16 = 404;
pub(super) const ACCESS_REFUSED: u16 = 403;
const PRECONDITION_FAILED: u16 = 406;
const NOT_ALLOWED: u16 = 530;

/// The code of what the broker answered, if it did.
pub(super) fn code_of(error: &lapin::Error) -> Option<u16> {
    match error.kind() {
        ErrorKind::ProtocolError(said) => Some(said.get_id()),
        _ => None,
    }
}

/// Of something that can be done again, about this place.
pub(super) fn of(error: &lapin::Error, place: &str) -> Error {
    let Some(code) = code_of(error) else {
        return Error::unavailable("the connection to RabbitMQ broke").caused_by(error.clone()).retryable();
    };
    let failure = match code {
        NOT_FOUND => Error::missing(format!("RabbitMQ has no '{place}'; make it, or switch 'declare' on")),
        ACCESS_REFUSED => Error::upstream(format!(
            "RabbitMQ does not let the user of 'connection_string' use '{place}', or somebody has it alone"
        )),
        PRECONDITION_FAILED => {
            Error::upstream(format!("RabbitMQ has '{place}' with other properties than we need"))
        }
        _ => Error::upstream(format!("RabbitMQ refused it with code {code}")),
    };
    failure.with_service_code(code.to_string())
}

/// Of a message that was sent.
pub(super) fn of_publishing(error: &lapin::Error, place: &str) -> Error {
    match code_of(error) {
        Some(_) => of(error, place),
        None => Error::unavailable(
            "the connection to RabbitMQ broke before it confirmed; the message may have been published",
        )
        .caused_by(error.clone()),
    }
}

/// Of signing in.
pub(super) fn of_connecting(error: &lapin::Error) -> Error {
    match code_of(error) {
        Some(ACCESS_REFUSED | NOT_ALLOWED) => Error::upstream(
            "RabbitMQ refused the sign-in; check user, password and vhost in 'connection_string'",
        )
        .because(Reason::CredentialsRejected),
        Some(code) => Error::upstream(format!("RabbitMQ refused the connection with code {code}")),
        None => Error::unavailable("RabbitMQ cannot be signed in to").caused_by(error.clone()).retryable(),
    }
}
