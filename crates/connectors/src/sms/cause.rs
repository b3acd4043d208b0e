//! Why a vendor does not send: its codes, told apart as far as somebody acts on them.

use super::gateway::Answer;
use super::hidden::Words;
use crate::shared::attempts::retry_after;
use crate::shared::clock::skew;
use crate::shared::sending::{Fate, Status};
use tool::{Error, Reason, Result};

/// What a code means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Credentials,
    /// The vendor wants fewer requests, from us or to this number.
    Throttled,
    /// Our clock and the vendor's differ.
    Clock,
    Number,
    /// The template, its values or the signature.
    Template,
    Balance,
    /// The answer does not say whether it was sent.
    Unclear,
    Other,
}

impl Cause {
    fn words(self) -> &'static str {
        match self {
            Self::Credentials => "the vendor refuses the credentials",
            Self::Throttled => "the vendor wants fewer messages",
            Self::Clock => "the clocks differ",
            Self::Number => "the vendor does not take the number",
            Self::Template => "the vendor does not take the template, its values or the sign_name",
            Self::Balance => "the account has no balance or package left",
            Self::Unclear => "the vendor's answer does not say whether it was sent, so that it may have been",
            Self::Other => "the vendor does not send it",
        }
    }

    /// What became of a message for one number.
    pub(super) fn fate(self, code: &str, words: &Words) -> Fate {
        let status = match self {
            Self::Throttled => Status::Deferred,
            Self::Unclear => Status::Unknown,
            Self::Credentials | Self::Clock | Self::Number | Self::Template | Self::Balance | Self::Other => {
                Status::Refused
            }
        };
        Fate::new(status, Some(code.into()), format!("{}: {}", self.words(), words.as_str()))
    }
}

/// What became of a request that the vendor refused as a whole. What concerns the service and not the message is an error.
pub(super) fn failure(
    answer: &Answer<'_>,
    code: &str,
    words: &Words,
    cause: Cause,
    people: usize,
) -> Result<Vec<Fate>> {
    let off = skew(&answer.headers).filter(|_| cause == Cause::Credentials);
    let error = match cause {
        Cause::Clock | Cause::Credentials if cause == Cause::Clock || off.is_some() => {
            let by = off.map_or_else(String::new, |off| format!(" by {} minutes", off.as_secs() / 60));
            Error::upstream(format!(
                "the clock of this machine and that of the SMS gateway differ{by}, so that it refuses our signature; set the clock ({code})"
            ))
        }
        Cause::Credentials => credentials(code),
        Cause::Throttled => {
            let error = Error::upstream(format!("the SMS gateway wants fewer messages ({code})")).retryable();
            match retry_after(&answer.headers) {
                Some(time) => error.with_retry_after(time),
                None => error,
            }
        }
        Cause::Clock | Cause::Number | Cause::Template | Cause::Balance | Cause::Unclear | Cause::Other => {
            return Ok(vec![cause.fate(code, words); people]);
        }
    };
    Err(error.with_status(answer.status).with_service_code(code))
}

pub(super) fn credentials(said: &str) -> Error {
    let message = format!(
        "the SMS gateway refuses the credentials of the service; check its settings 'api_key' and 'api_secret' ({said})"
    );
    Error::upstream(message).because(Reason::CredentialsRejected)
}
