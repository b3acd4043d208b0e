//! Whether a service takes our credentials, as far as calls have shown.

use std::sync::{Mutex, PoisonError};
use tool::{Error, Reason, Result};

/// What the last calls say of our credentials: refused until one succeeds.
#[derive(Debug, Default)]
pub(crate) struct Standing(Mutex<Option<String>>);

impl Standing {
    /// Takes down how a call of an HTTP tool went, to whose caller a 401 is an answer of the tool like any other.
    pub(crate) fn note_answer<T>(&self, result: Result<T>) -> Result<T> {
        self.note(&result);
        let is_answer = |error: &Error| {
            error.status() == Some(401) && error.reason() == Some(Reason::CredentialsRejected)
        };
        result.map_err(|error| if is_answer(&error) { error.without_reason() } else { error })
    }

    /// Takes down how a call went.
    pub(crate) fn note<T>(&self, result: &Result<T>) {
        let refused = match result {
            Ok(_) => None,
            Err(error) if error.reason() == Some(Reason::CredentialsRejected) => Some(error.full_message()),
            // It says nothing about them.
            Err(_) => return,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = refused;
    }

    /// What is wrong with them, if anything is.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// # Errors
    /// When they were refused, and no call has succeeded since.
    pub(crate) fn check(&self) -> Result<()> {
        match self.trouble() {
            Some(why) => Err(Error::upstream(why).because(Reason::CredentialsRejected)),
            None => Ok(()),
        }
    }
}
