//! Why an exchange failed.

use super::status::{Code, Status};
use tool::Error;

/// How an exchange ended badly.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is no connection.
    Unconnected(Error),
    /// The server surely did nothing: it never got the request, or refused it as such.
    Unsent(hyper::Error),
    /// The connection or the stream broke.
    Broken(hyper::Error),
    /// The stream ended without a status.
    Cut,
    /// The server ended the call.
    Status(Box<Status>),
    /// What came is not what gRPC says.
    Protocol(&'static str),
    TooLarge {
        bytes: usize,
        limit: usize,
    },
    /// The server is there, and says itself that it does not serve.
    NotServing,
}

impl Failure {
    /// A failure after the request was on its way.
    pub(crate) fn of_stream(error: hyper::Error) -> Self {
        match h2_error(&error) {
            Some(cause) if cause.reason() == Some(h2::Reason::REFUSED_STREAM) => Self::Unsent(error),
            // Streams that the server still works on are not ended by that.
            Some(cause)
                if cause.is_go_away()
                    && cause.is_remote()
                    && cause.reason() == Some(h2::Reason::NO_ERROR) =>
            {
                Self::Unsent(error)
            }
            _ => Self::Broken(error),
        }
    }

    /// The server does not know the method, or not even how to say so.
    pub(crate) fn is_unimplemented(&self) -> bool {
        match self {
            Self::Status(status) => status.code == Code::Unimplemented,
            Self::Unsent(_) | Self::Cut => true,
            Self::Broken(error) => h2_error(error).is_some_and(h2::Error::is_reset),
            Self::Unconnected(_) | Self::Protocol(_) | Self::TooLarge { .. } | Self::NotServing => false,
        }
    }

    /// The server surely did nothing.
    pub(crate) fn is_unsent(&self) -> bool {
        matches!(self, Self::Unconnected(_) | Self::Unsent(_))
    }

    /// The credentials were refused.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        matches!(self, Self::Status(status) if status.code == Code::Unauthenticated)
    }
}

pub(crate) fn h2_error(error: &hyper::Error) -> Option<&h2::Error> {
    std::error::Error::source(error)?.downcast_ref()
}
