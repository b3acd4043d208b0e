//! What Redis says when it fails, in our kinds.

use redis::{ErrorKind, RedisError};
use tool::{Error, Reason};

/// Of something that can be done again.
pub(super) fn of(error: &RedisError) -> Error {
    match error.kind() {
        ErrorKind::AuthenticationFailed => rejected(error),
        ErrorKind::Io | ErrorKind::Parse => {
            Error::unavailable("the connection to Redis broke").caused_by(error.clone()).retryable()
        }
        _ => answered(error),
    }
}

/// Of a message that was sent.
pub(super) fn of_publishing(error: &RedisError) -> Error {
    match error.kind() {
        ErrorKind::Io | ErrorKind::Parse => {
            let message =
                "the connection to Redis broke before it confirmed; the message may have been published";
            Error::unavailable(message).caused_by(error.clone())
        }
        _ => of(error),
    }
}

/// Of signing in.
pub(super) fn of_connecting(error: &RedisError) -> Error {
    match error.code() {
        Some("WRONGPASS" | "NOAUTH" | "NOPERM" | "ERR") => rejected(error),
        _ => of(error),
    }
}

fn rejected(error: &RedisError) -> Error {
    let said = error.code().unwrap_or("the sign-in");
    Error::upstream(format!("Redis refused us ({said}); check 'connection_string'"))
        .because(Reason::CredentialsRejected)
}

fn answered(error: &RedisError) -> Error {
    let code = error.code().unwrap_or("ERR").to_owned();
    let said = error.detail().unwrap_or("it gave no reason");
    let failure = match code.as_str() {
        "WRONGTYPE" => Error::missing("what is called so in Redis is no stream"),
        "NOGROUP" => Error::missing("there is no such stream or group, and 'declare' is off"),
        "WRONGPASS" | "NOAUTH" | "NOPERM" => return rejected(error),
        "OOM" | "BUSY" | "LOADING" | "READONLY" | "MASTERDOWN" | "CLUSTERDOWN" => {
            Error::upstream(format!("Redis refused it: {said}")).retryable()
        }
        _ => Error::upstream(format!("Redis refused it: {said}")),
    };
    failure.with_service_code(code)
}
