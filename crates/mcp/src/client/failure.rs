//! Why a request, or the connection it needed, failed.

use crate::RpcError;
use std::error::Error;
use std::fmt;
use tool::{Ended, Reason};

/// What went wrong between us and a server; cheap to share among all who waited.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The connection could not be made or is gone.
    Broken {
        /// What was noticed.
        why: String,
        /// The server may have seen the request, so that repeating it may do something twice.
        is_sent: bool,
        /// What kind of trouble it is, where something can be done about it.
        reason: Option<Reason>,
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
    /// A person has to log in first; says how.
    LoginRequired(String),
    /// The server answered with a status instead of a message.
    Status {
        /// Of HTTP.
        status: u16,
        /// The beginning of what it said, in one line.
        body: String,
    },
    /// The server wants us to go elsewhere, which we do not.
    Redirected {
        /// Where to, without what may be secret.
        location: Option<String>,
    },
    /// Connections to that address are not allowed; says what would allow them.
    AddressRefused(String),
    /// What we do not do: post to another origin.
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

impl From<fetch::TooLong> for Failure {
    fn from(fetch::TooLong(limit): fetch::TooLong) -> Self {
        Self::Protocol(format!("an event is longer than {limit} bytes"))
    }
}

impl Failure {
    /// A connection that could not be made, so that nothing was sent.
    pub fn unreachable(why: impl Into<String>) -> Self {
        Self::Broken { why: why.into(), is_sent: false, reason: None }
    }

    /// The same, with a reason that something can be done about.
    pub fn unreachable_because(reason: Reason, why: impl Into<String>) -> Self {
        Self::Broken { why: why.into(), is_sent: false, reason: Some(reason) }
    }

    /// A connection that ended while an answer was awaited.
    pub(super) fn cut_off(why: impl Into<String>) -> Self {
        Self::Broken { why: why.into(), is_sent: true, reason: None }
    }

    /// The request did not reach the server, so that it may be repeated.
    #[must_use]
    pub fn is_unsent(&self) -> bool {
        matches!(self, Self::Stale | Self::Broken { is_sent: false, .. })
    }

    /// A failed HTTP exchange, without the address, which may hold a key.
    pub(super) fn of_http(error: &fetch::Error) -> Self {
        let is_refused = |cause: &tool::Error| cause.reason() == Some(Reason::AddressRefused);
        if error.find().is_some_and(is_refused) {
            return Self::AddressRefused(chain(error));
        }
        let why = match error.advice() {
            Some(advice) if error.is_malformed() => format!("the answer cannot be used: {advice}"),
            Some(advice) => format!("{error}: {advice}"),
            None => chain(error),
        };
        let is_sent = !(error.is_connect() || error.is_unusable());
        Self::Broken { why, is_sent, reason: error.is_not_tls().then_some(Reason::NotTls) }
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
            Self::Broken { why, .. }
            | Self::Refused(why)
            | Self::AddressRefused(why)
            | Self::Protocol(why)
            | Self::SignIn(why)
            | Self::LoginRequired(why) => f.write_str(why),
            Self::Redirected { location } => {
                let location = location.as_deref().unwrap_or("somewhere else");
                write!(
                    f,
                    "the server redirects to {location}, and redirects are not followed; write the final address as 'url'"
                )
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
