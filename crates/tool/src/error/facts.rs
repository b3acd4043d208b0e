//! What programs decide by: typed, so that nobody has to read an error's sentences.

use super::Error;
use std::time::Duration;

/// What is known about a failure beyond its kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) is_retryable: bool,
    reason: Option<Reason>,
    service: Option<String>,
    status: Option<u16>,
    retry_after: Option<Duration>,
    pub(super) parameter: Option<String>,
    resource: Option<String>,
}

/// Why it failed, where something is done about that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The service refuses the credentials that it was given.
    CredentialsRejected,
    /// The sign-in before the call failed.
    SignInFailed,
    /// The service does not have what it was asked for; another may.
    Absent,
    /// The service does not know the operation.
    UnknownOperation,
    /// One attempt took longer than an attempt may.
    AttemptTimedOut,
}

impl Error {
    /// The same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.facts.is_retryable
    }

    /// Why it failed, where something is done about that.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.0.facts.reason
    }

    /// The id of the service that failed.
    #[must_use]
    pub fn service(&self) -> Option<&str> {
        self.0.facts.service.as_deref()
    }

    /// The HTTP status that the service answered with.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.facts.status
    }

    /// How long to wait before the next try.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.facts.retry_after
    }

    /// The path of the argument that does not fit.
    #[must_use]
    pub fn parameter(&self) -> Option<&str> {
        self.0.facts.parameter.as_deref()
    }

    /// The URI of the resource that is not there.
    #[must_use]
    pub fn resource(&self) -> Option<&str> {
        self.0.facts.resource.as_deref()
    }

    /// Marks that the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.0.facts.is_retryable = true;
        self
    }

    /// Says why.
    #[must_use]
    pub fn because(mut self, reason: Reason) -> Self {
        self.0.facts.reason = Some(reason);
        self
    }

    /// Says which service failed, unless that is known.
    #[must_use]
    pub fn of_service(mut self, id: &str) -> Self {
        self.0.facts.service.get_or_insert_with(|| id.to_owned());
        self
    }

    /// Says what the service answered with, unless that is known.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.facts.status.get_or_insert(status);
        self
    }

    /// Says when the next try makes sense.
    #[must_use]
    pub fn with_retry_after(mut self, time: Duration) -> Self {
        self.0.facts.retry_after = Some(time);
        self
    }

    /// Says which argument does not fit.
    #[must_use]
    pub fn of_parameter(mut self, path: impl Into<String>) -> Self {
        self.0.facts.parameter = Some(path.into());
        self
    }

    /// Says which resource is not there.
    #[must_use]
    pub fn of_resource(mut self, uri: &str) -> Self {
        self.0.facts.resource = Some(uri.to_owned());
        self
    }
}
