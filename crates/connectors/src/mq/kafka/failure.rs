//! What Kafka says when it fails, in our kinds.

use krafka::error::{ErrorCode, KrafkaError};
use tool::{Error, Reason};

/// Of something that can be done again, about this topic.
pub(super) fn of(error: &KrafkaError, topic: &str) -> Error {
    match error {
        KrafkaError::Auth { .. } => of_signing_in(error),
        KrafkaError::UnknownTopic { .. } => missing(topic),
        KrafkaError::Broker { code, .. } => of_code(*code, topic),
        KrafkaError::Config { .. } => {
            Error::invalid_config("Kafka's client refuses the settings").caused_by(error.clone())
        }
        KrafkaError::Network(_) | KrafkaError::Timeout { .. } | KrafkaError::DeliveryTimeout { .. } => {
            Error::unavailable("Kafka cannot be reached, or does not answer")
                .caused_by(error.clone())
                .retryable()
        }
        _ => Error::upstream("Kafka's answer cannot be used").caused_by(error.clone()),
    }
}

/// Of a message that was sent.
pub(super) fn of_publishing(error: &KrafkaError, topic: &str) -> Error {
    match error {
        KrafkaError::DeliveryTimeout { possibly_written: false, .. } => of(error, topic),
        KrafkaError::Network(_) | KrafkaError::Timeout { .. } | KrafkaError::DeliveryTimeout { .. } => {
            Error::unavailable("Kafka did not confirm; the message may have been published")
                .caused_by(error.clone())
        }
        _ => of(error, topic),
    }
}

/// The client is of no use any more.
pub(super) fn is_final(error: &KrafkaError) -> bool {
    matches!(
        error,
        KrafkaError::Closed { .. } | KrafkaError::Fenced { .. } | KrafkaError::OutOfOrderSequence { .. }
    )
}

pub(super) fn missing(topic: &str) -> Error {
    Error::missing(format!("Kafka has no topic '{topic}', and 'declare' is off"))
}

fn of_code(code: ErrorCode, topic: &str) -> Error {
    let failure = match code {
        ErrorCode::UnknownTopicOrPartition => missing(topic),
        ErrorCode::TopicAuthorizationFailed | ErrorCode::GroupAuthorizationFailed => {
            Error::upstream(format!("Kafka does not let 'username' use the topic '{topic}' or its group"))
        }
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge => {
            let message = "parameter 'message' is larger than Kafka takes (message.max.bytes of the topic)";
            Error::invalid_input(message).of_parameter("message")
        }
        ErrorCode::InvalidTopic => Error::invalid_config(format!("Kafka cannot have a topic '{topic}'")),
        code if code.is_retriable() => {
            Error::unavailable(format!("Kafka refused it for now ({code:?})")).retryable()
        }
        code => Error::upstream(format!("Kafka refused it ({code:?})")),
    };
    failure.with_service_code(code.to_i16().to_string())
}

fn of_signing_in(error: &KrafkaError) -> Error {
    Error::upstream("Kafka refused the sign-in; check 'sasl', 'username', 'password' and 'tls'")
        .because(Reason::CredentialsRejected)
        .caused_by(error.clone())
}
