//! Why a request, or the connection it needed, failed.

use crate::RpcError;
use std::error::Error;
use std::fmt;
use tool::Ended;

/// What went wrong between us and a server; cheap to share among all who waited.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The connection could not be made or is gone.
    Broken {
        /// What was noticed.
        why: String,
        /// The server may have seen the request, so that repeating it may do something twice.
        is_sent: bool,
    },
    /// The server does not know the session any more; the request did not run.
    Stale,
    /// The server wants to know who we are, or does not let us in.
    Unauthorized {
        /// 401 or 403.
        status: u16,
        /// What it asks for, as it stands in `WWW-Authenticate`.
        challenge: String,
    },
    /// Nobody vouches for us, so that the server need not be asked; says what to do.
    SignIn(String),
    /// The server answered with a status instead of a message.
    Status {
        /// Of HTTP.
        status: u16,
        /// The beginning of what it said, in one line.
        body: String,
    },
    /// What we do not do: follow redirects, post to another origin.
    Refused(String),
    /// The server does not keep to the protocol, or to our limits.
    Protocol(String),
    /// The server's own error.
    Rpc(RpcError),
    /// The deadline passed.
    Timeout,
    /// The caller took the request back.
    Cancelled,
}

impl Failure {
    /// A connection that could not be made, so that nothing was sent.
    pub(super) fn unreachable(why: impl Into<String>) -> Self {
        Self::Broken { why: why.into(), is_sent: false }
    }

    /// A connection that ended while an answer was awaited.
    pub(super) fn cut_off(why: impl Into<String>) -> Self {
        Self::Broken { why: why.into(), is_sent: true }
    }

    /// The request did not reach the server, so that it may be repeated.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        matches!(self, Self::Stale | Self::Broken { is_sent: false, .. })
    }

    /// A failed HTTP exchange, without the address, which may hold a key.
    pub(super) fn of_http(error: &fetch::Error) -> Self {
        let why = match error.advice() {
            Some(advice) if error.is_malformed() => format!("the answer cannot be used: {advice}"),
            Some(advice) => format!("{error}: {advice}"),
            None => chain(error),
        };
        Self::Broken { why, is_sent: !(error.is_connect() || error.is_unusable()) }
    }
}

impl From<Ended> for Failure {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Cancelled => Self::Cancelled,
            Ended::TimedOut => Self::Timeout,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken { why, .. } | Self::Refused(why) | Self::Protocol(why) | Self::SignIn(why) => {
                f.write_str(why)
            }
            Self::Stale => f.write_str("the server does not know the session any more"),
            Self::Unauthorized { status, .. } => write!(f, "the server answered with HTTP status {status}"),
            Self::Status { status, body } if body.is_empty() => write!(f, "HTTP status {status}"),
            Self::Status { status, body } => write!(f, "HTTP status {status}: {body}"),
            Self::Rpc(error) => write!(f, "{} (code {})", error.message, error.code),
            Self::Timeout => f.write_str("no answer in time"),
            Self::Cancelled => f.write_str("taken back"),
        }
    }
}

impl Error for Failure {}

/// An error and its causes in one line.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
