//! The one error of the domain: a kind, a message, and what is needed to act on it.

mod facts;
mod kind;
mod problem;
mod rename;

pub use facts::Reason;
pub use kind::Kind;
pub use problem::Problem;

use crate::Account;
use facts::Facts;
use rename::{renamed_path, renamed_text};
use serde_json::value::RawValue;
use std::fmt;

/// `std::result::Result` with our error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a call, or the opening of a service, failed.
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    message: String,
    source: Option<Source>,
    facts: Facts,
    context: Vec<(&'static str, String)>,
    problems: Vec<Problem>,
    original: Option<Box<RawValue>>,
    account: Option<Box<Account>>,
}

impl Error {
    /// An error of any kind; the words below read better where one fits.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            source: None,
            facts: Facts::default(),
            context: Vec::new(),
            problems: Vec::new(),
            original: None,
            account: None,
        }))
    }

    /// The kind of failure.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The sentence that says what happened, without its causes.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What was noted under `key`, for people: nothing is decided by it.
    #[must_use]
    pub fn context(&self, key: &str) -> Option<&str> {
        self.0.context.iter().find(|(k, _)| *k == key).map(|(_, value)| value.as_str())
    }

    /// Every problem of the input, for the kinds that speak of one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.0.problems
    }

    /// The service's own error, for callers of the same protocol.
    #[must_use]
    pub fn original(&self) -> Option<&RawValue> {
        self.0.original.as_deref()
    }

    /// Keeps the service's own error, as it wrote it.
    #[must_use]
    pub fn relaying(mut self, original: Box<RawValue>) -> Self {
        self.0.original = Some(original);
        self
    }

    /// Says what the call took until then.
    #[must_use]
    pub fn accounted(mut self, account: Account) -> Self {
        self.0.account = Some(Box::new(account));
        self
    }

    /// What it took, where that is recorded.
    #[must_use]
    pub fn account(&self) -> Option<&Account> {
        self.0.account.as_deref()
    }

    /// Notes what helps people to understand: addresses, counts, last words; never secrets.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((key, value.to_string()));
        self
    }

    /// Adds advice behind the message.
    #[must_use]
    pub fn advising(mut self, advice: &str) -> Self {
        self.0.message.push_str(advice);
        self
    }

    /// Puts what the error is about in front of its message.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Self {
        self.0.message = format!("{subject}: {}", self.0.message);
        self
    }

    /// The same in the words of a caller who knows parameters by other names: `name` gives the
    /// caller's name for one, if it has another.
    #[must_use]
    pub fn renaming<'a>(mut self, name: impl Fn(&str) -> Option<&'a str>) -> Self {
        self.0.message = renamed_text(&self.0.message, &name);
        for problem in &mut self.0.problems {
            problem.path = renamed_path(&problem.path, &name);
            problem.message = renamed_text(&problem.message, &name);
        }
        if let Some(path) = &mut self.0.facts.parameter {
            *path = renamed_path(path, &name);
        }
        self
    }

    /// The same failure in other words.
    #[must_use]
    pub fn restated(&self, message: String) -> Self {
        let mut error = Self::new(self.0.kind, message);
        error.0.facts = self.0.facts.clone();
        error.0.context.clone_from(&self.0.context);
        error
    }

    /// Keeps the cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Source>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Lists what is wrong with the input.
    #[must_use]
    pub fn with_problems(mut self, problems: Vec<Problem>) -> Self {
        self.0.problems = problems;
        self
    }

    /// The message followed by its causes as far as they are in our words, for callers: what libraries say of
    /// themselves stays in the log.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut text = self.0.message.clone();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source.and_then(|cause| cause.downcast_ref::<Self>()) {
            if !text.contains(&cause.0.message) {
                text.push_str(": ");
                text.push_str(&cause.0.message);
            }
            source = std::error::Error::source(cause);
        }
        text
    }

    /// The message followed by its causes, for a log line.
    #[must_use]
    pub fn full_message(&self) -> String {
        let mut text = self.0.message.clone();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            let words = cause.to_string();
            let words = crate::plain(&words);
            // One that says the same as what it caused adds nothing.
            if !text.ends_with(&*words) {
                text.push_str(": ");
                text.push_str(&words);
            }
            source = cause.source();
        }
        text
    }
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $kind:ident;)*) => {
        impl Error {
            $($(#[$doc])* pub fn $name(message: impl Into<String>) -> Self {
                Self::new(Kind::$kind, message)
            })*
        }
    };
}

constructors! {
    /// There is no such thing for this caller.
    not_found => NotFound;
    /// The arguments do not fit.
    invalid_input => InvalidInput;
    /// The settings do not fit.
    invalid_config => InvalidConfig;
    /// The caller is not known.
    unauthenticated => Unauthenticated;
    /// The caller may not.
    denied => Denied;
    /// A limit of the tenant or the key is reached.
    rate_limited => RateLimited;
    /// The service is switched off.
    service_disabled => ServiceDisabled;
    /// The tool is switched off.
    tool_disabled => ToolDisabled;
    /// The deadline passed.
    timeout => Timeout;
    /// The caller took the call back.
    cancelled => Cancelled;
    /// The service cannot be reached.
    unavailable => Unavailable;
    /// The service is left alone for a while.
    circuit_open => CircuitOpen;
    /// What the tool was to work on is not there.
    missing => Missing;
    /// The service answered with an error.
    upstream => Upstream;
    /// That cannot be done.
    unsupported => Unsupported;
    /// A mistake of ours.
    internal => Internal;
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, message, source, facts, context, problems, original: _, account: _ } = &*self.0;
        f.debug_struct("Error")
            .field("kind", kind)
            .field("message", message)
            .field("source", source)
            .field("facts", facts)
            .field("context", context)
            .field("problems", problems)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speaks_of_parameters_by_the_names_of_the_caller() {
        let message = "Parameter 'cid' of the shop's tool isn't like 'cid.x[0]' or 'cidr' or 'id'; cid's";
        let problem = Problem::new("cid.x", "WrongType", "parameter 'id' must be 'cid'");
        let error = Error::invalid_input(message).of_parameter("cid[0]").of_service("cid");
        let error = error.with_problems(vec![problem, Problem::new("id", "Unknown", "no")]);
        // Also where two have swapped their names.
        let error = error.renaming(|name| match name {
            "cid" => Some("id"),
            "id" => Some("cid"),
            _ => None,
        });
        let message = "Parameter 'id' of the shop's tool isn't like 'id.x[0]' or 'cidr' or 'cid'; cid's";
        assert_eq!(error.message(), message);
        assert_eq!((error.parameter(), error.service()), (Some("id[0]"), Some("cid")));
        assert_eq!(error.problems()[0], Problem::new("id.x", "WrongType", "parameter 'cid' must be 'id'"));
        assert_eq!(error.problems()[1].path, "cid");
    }

    #[test]
    fn carries_what_is_needed_to_act() {
        let error = Error::unavailable("crm-service refused the connection")
            .of_service("crm-service")
            .caused_by(std::io::Error::other("connection refused"))
            .retryable();
        assert_eq!(error.kind(), Kind::Unavailable);
        assert_eq!(error.service(), Some("crm-service"));
        assert!(error.is_retryable());
        assert_eq!(error.to_string(), "crm-service refused the connection");
        assert_eq!(error.full_message(), "crm-service refused the connection: connection refused");
        let twice = Error::cancelled("the caller is gone").caused_by(Error::cancelled("the caller is gone"));
        assert_eq!(twice.full_message(), "the caller is gone");
    }
}
