//! What RocketMQ says when it fails, in our kinds.

use super::proto::Status;
use crate::shared::grpc::failure::Failure;
use crate::shared::grpc::status::Code;
use tool::{Error, Reason, Result};

/// What an answer says of itself: hundreds stand for what HTTP says with them.
pub(super) const OK: i32 = 20_000;
/// Some parts of the answer are good; each says so itself.
const MULTIPLE_RESULTS: i32 = 30_000;
const ILLEGAL_TOPIC: i32 = 40_002;
const ILLEGAL_DELIVERY_TIME: i32 = 40_012;
const INVALID_RECEIPT_HANDLE: i32 = 40_013;
const PROPERTY_CONFLICTS_WITH_TYPE: i32 = 40_014;
const UNAUTHORIZED: i32 = 40_100;
const FORBIDDEN: i32 = 40_300;
/// There is no message now.
pub(super) const MESSAGE_NOT_FOUND: i32 = 40_401;
const TOPIC_NOT_FOUND: i32 = 40_402;
const GROUP_NOT_FOUND: i32 = 40_403;
const PAYLOAD_TOO_LARGE: i32 = 41_300;
const BODY_TOO_LARGE: i32 = 41_301;
const TOO_MANY_REQUESTS: i32 = 42_900;
const HEADERS_TOO_LARGE: i32 = 43_100;
const PROPERTIES_TOO_LARGE: i32 = 43_101;
/// From here on it is RocketMQ's own fault, and nobody knows what it did before.
const SERVER_FAULTS: i32 = 50_000;

/// Characters of a server's own words.
const MAX_WORDS: usize = 200;

/// Of something that can be done again.
pub(super) fn of(failure: Failure) -> Error {
    match failure {
        Failure::Unconnected(error) => error,
        Failure::Status(status) if status.code == Code::Unauthenticated => refused_sign_in(),
        Failure::Status(status) => {
            unavailable("RocketMQ did not take the call").with_grpc_status(status.code.name())
        }
        Failure::Unsent(error) | Failure::Broken(error) => {
            unavailable("the connection to RocketMQ broke").caused_by(error)
        }
        Failure::Cut => unavailable("RocketMQ did not answer"),
        Failure::TooLarge { bytes, limit } => Error::upstream(format!(
            "RocketMQ's answer has {bytes} bytes, more than the {limit} that it may have"
        )),
        Failure::Protocol(_) | Failure::NotServing => Error::upstream(
            "no RocketMQ 5 answers there; check that 'connection_string' names a proxy, by default on port 8081",
        ),
    }
}

/// Codes of those who have not looked at the message.
const REFUSALS: [Code; 4] =
    [Code::Unauthenticated, Code::PermissionDenied, Code::Unimplemented, Code::ResourceExhausted];

/// Of a message that was sent.
pub(super) fn of_publishing(failure: Failure) -> Error {
    match failure {
        Failure::Broken(_) | Failure::Cut => Error::unavailable(
            "the connection to RocketMQ broke before it confirmed; the message may have been published",
        ),
        Failure::Status(status) if !REFUSALS.contains(&status.code) => Error::unavailable(
            "RocketMQ, or somebody between, failed before it confirmed; the message may have been published",
        ),
        surely_not => of(surely_not),
    }
}

/// What is good enough to look at its parts.
///
/// # Errors
/// What else RocketMQ says of the topic.
pub(super) fn check(status: Option<&Status>, topic: &str) -> Result<()> {
    match status {
        Some(status) if [OK, MULTIPLE_RESULTS].contains(&status.code) => Ok(()),
        Some(status) => Err(of_status(status, topic)),
        None => Err(Error::upstream("RocketMQ's answer does not say whether it is good")),
    }
}

/// Whether RocketMQ has the message.
///
/// # Errors
/// Why not, or that nobody knows.
pub(super) fn check_sent(status: Option<&Status>, topic: &str) -> Result<()> {
    match status {
        Some(status) if status.code >= SERVER_FAULTS => {
            let message = format!(
                "RocketMQ did not confirm (code {}); the message may have been published",
                status.code
            );
            Err(Error::unavailable(message).with_service_code(status.code.to_string()))
        }
        status => check(status, topic),
    }
}

fn of_status(status: &Status, topic: &str) -> Error {
    let code = status.code;
    let error = match code {
        UNAUTHORIZED => return refused_sign_in().with_service_code(code.to_string()),
        FORBIDDEN => {
            Error::upstream(format!("RocketMQ does not let 'username' use the topic '{topic}' or its group"))
        }
        TOPIC_NOT_FOUND => missing(topic),
        GROUP_NOT_FOUND => Error::missing(format!(
            "RocketMQ does not have the group that reads '{topic}', and makes none; make it there"
        )),
        INVALID_RECEIPT_HANDLE => Error::missing("another reader has the message by now"),
        ILLEGAL_TOPIC => Error::invalid_config(format!("RocketMQ cannot have a topic '{topic}'")),
        PAYLOAD_TOO_LARGE | BODY_TOO_LARGE => of_parameter("message", "is larger than RocketMQ takes"),
        HEADERS_TOO_LARGE | PROPERTIES_TOO_LARGE => of_parameter("headers", "are more than RocketMQ takes"),
        ILLEGAL_DELIVERY_TIME => of_parameter("delay", "is longer than RocketMQ holds a message back"),
        PROPERTY_CONFLICTS_WITH_TYPE => other_type(topic),
        TOO_MANY_REQUESTS => Error::upstream("RocketMQ has too much to do").retryable(),
        SERVER_FAULTS.. => unavailable(&format!("RocketMQ failed: {}", words(status))),
        _ => Error::upstream(format!("RocketMQ refused it with code {code}: {}", words(status))),
    };
    error.with_service_code(code.to_string())
}

pub(super) fn missing(topic: &str) -> Error {
    Error::missing(format!("RocketMQ has no topic '{topic}'; make it there, which its gRPC cannot do"))
}

/// Topics have a type, and take no other messages.
pub(super) fn other_type(topic: &str) -> Error {
    Error::upstream(format!(
        "the topic '{topic}' takes messages of another type; look at its attribute message.type"
    ))
}

pub(super) fn of_parameter(name: &str, why: &str) -> Error {
    Error::invalid_input(format!("parameter '{name}' {why}")).of_parameter(name)
}

fn refused_sign_in() -> Error {
    Error::upstream(
        "RocketMQ refused the sign-in; check 'username', 'password' and the clock of this machine",
    )
    .because(Reason::CredentialsRejected)
}

fn unavailable(message: &str) -> Error {
    Error::unavailable(message).retryable()
}

/// As much of a server's words as people read.
fn words(status: &Status) -> String {
    let plain = status.message.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    plain.take(MAX_WORDS).collect()
}
