//! What a server says to a command.

use crate::shared::sending::{Fate, Status};
use tool::{Error, Reason};

/// The most of a server's words that callers are shown.
const MAX_WORDS: usize = 300;

/// A code and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    pub(super) lines: Vec<String>,
}

impl Reply {
    pub(super) fn is_good(&self) -> bool {
        self.code / 100 == 2
    }

    /// The server ends the connection.
    pub(super) fn is_goodbye(&self) -> bool {
        self.code == 421
    }

    /// What it says, for people.
    pub(super) fn words(&self) -> String {
        let words = self.lines.join(" ");
        tool::plain(&words).chars().take(MAX_WORDS).collect()
    }

    /// What it means for a recipient.
    pub(super) fn fate(&self) -> Fate {
        let status = match self.code / 100 {
            2 => Status::Taken,
            4 => Status::Deferred,
            _ => Status::Refused,
        };
        Fate::new(status, Some(self.code.into()), self.words())
    }

    /// What it means for a whole call; `doing` is what the server was asked for.
    pub(super) fn error(&self, doing: &str) -> Error {
        let said = format!("the mail server refuses {doing}: {} {}", self.code, self.words());
        match self.code {
            // Wrong, too weak, or missing.
            530 | 534 | 535 | 538 => {
                Error::upstream(format!("{said}; check the settings 'username' and 'password'"))
                    .because(Reason::CredentialsRejected)
            }
            400..=499 => Error::unavailable(said).retryable(),
            _ => Error::upstream(said),
        }
        .with_service_code(self.code.to_string())
    }
}
