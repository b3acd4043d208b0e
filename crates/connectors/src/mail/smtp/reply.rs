//! What a server says to a command.

use crate::shared::sending::{Fate, Status};
use tool::secret::Redactor;
use tool::{Error, Reason, Secret};

/// The most of a server's words that callers are shown.
const MAX_WORDS: usize = 300;

/// A code and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    pub(super) lines: Vec<String>,
    /// What it says, for people: one line, without what nobody may read.
    pub(super) words: String,
}

impl Reply {
    /// A server may say anything, our password among it.
    pub(super) fn new(code: u16, lines: Vec<String>, secrets: &[Secret]) -> Self {
        let said = Redactor::new(secrets.iter().map(Secret::expose)).apply(&lines.join(" "));
        let said = tool::plain(&said);
        let words = said.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_WORDS).collect();
        Self { code, lines, words }
    }

    pub(super) fn is_good(&self) -> bool {
        self.code / 100 == 2
    }

    /// The server ends the connection.
    pub(super) fn is_goodbye(&self) -> bool {
        self.code == 421
    }

    /// What it means for a recipient.
    pub(super) fn fate(&self) -> Fate {
        let status = match self.code / 100 {
            2 => Status::Taken,
            4 => Status::Deferred,
            _ => Status::Refused,
        };
        Fate::new(status, Some(self.code.into()), self.words.as_str())
    }

    /// What it means for a whole call; `doing` is what the server was asked for.
    pub(super) fn error(&self, doing: &str) -> Error {
        let said = format!("the mail server refuses {doing}: {} {}", self.code, self.words);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail::smtp::auth::encoded;

    /// A server that repeats what we said tells nobody our password.
    #[test]
    fn says_no_password_and_no_control_characters() {
        let password = Secret::new("Sup3rS3cret!");
        let [both, alone] = encoded("user", &password);
        let said = format!("bad {} {} {}\u{1b}[31m\rx", both.expose(), alone.expose(), password.expose());
        let secrets = [both, alone, password];
        let error = Reply::new(535, vec![said], &secrets).error("the sign-in");
        assert!(secrets.iter().all(|secret| !error.message().contains(secret.expose())), "{error}");
        assert!(
            error.message().contains("535 bad *** *** ***") && !error.message().contains(char::is_control)
        );
    }
}
