//! What ends the program: what happened, why, and what to do about it.

use miette::Diagnostic;
use std::error::Error;
use std::fmt;

/// An error for a person at a terminal.
#[derive(Debug)]
pub struct Failure {
    message: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
    advice: Option<String>,
}

impl Failure {
    /// What happened.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None, advice: None }
    }

    /// Why.
    #[must_use]
    pub fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

impl Diagnostic for Failure {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.advice.as_ref().map(|advice| Box::new(advice) as Box<dyn fmt::Display>)
    }
}
