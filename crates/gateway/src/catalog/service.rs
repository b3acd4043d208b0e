//! A service in the catalog: what it is now, what it offers, and why it does not.

use crate::audit::now_ms;
use crate::pins::Report;
use crate::service_metrics::ServiceMetrics;
use arc_swap::{ArcSwap, ArcSwapOption};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use tool::{Connector, Error, ErrorKind, Offer, Pinning, Reason, Result, RunKind, TenantId, Tool};

/// One configured connection, as long as its settings stay the same.
pub struct Service {
    /// Whose service it is.
    pub tenant: TenantId,
    /// Its type.
    pub scheme: String,
    /// Its id, unique per tenant and type.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// Changes whenever the definition does.
    pub version: i64,
    /// What the service is now.
    pub state: State,
    /// Environment variables its credentials come from, named when they are refused.
    pub variables: Vec<String>,
    /// What it offered when last asked; nothing until the first answer.
    pub(crate) tools: ArcSwapOption<Vec<Arc<Tool>>>,
    /// What its settings name by themselves, which can be called until then.
    pub(crate) named: Arc<Vec<Arc<Tool>>>,
    /// Its documents and prompts when it was last asked, where it has such.
    pub(crate) offer: ArcSwapOption<Offer>,
    /// Why it did not say what it offers when it was last asked.
    pub(crate) failure: ArcSwapOption<Failure>,
    /// Why it could not be reached when it was last called or tried.
    pub(crate) unreached: ArcSwapOption<String>,
    /// Since when it answers, fails, or has been opened without being asked.
    pub(crate) since: Since,
    /// What is to be said about its tools.
    pub(crate) report: ArcSwap<Report>,
    /// It comes from the owner of this process.
    pub is_trusted: bool,
    /// When it was made, where that is known: whoever was there first keeps its names.
    pub(crate) made_at_ms: Option<i64>,
    /// Only those who manage the platform may use it.
    pub(crate) is_for_admins: bool,
    /// Its calls in numbers.
    pub(crate) metrics: Arc<ServiceMetrics>,
}

/// A moment, in milliseconds since 1970.
pub(crate) struct Since {
    at: AtomicI64,
    /// The service's connector was in trouble when it was last looked at.
    is_troubled: AtomicBool,
}

impl Since {
    pub(crate) fn now() -> Self {
        Self { at: AtomicI64::new(now_ms()), is_troubled: AtomicBool::new(false) }
    }

    fn reset(&self) {
        self.at.store(now_ms(), Ordering::Relaxed);
    }

    fn note_trouble(&self, is_troubled: bool) {
        if self.is_troubled.swap(is_troubled, Ordering::Relaxed) != is_troubled {
            self.reset();
        }
    }
}

/// Why a service did not say what it offers.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    is_rejected: bool,
    /// It is not to be reached, as long as its settings say so.
    is_denied: bool,
}

/// What a service is now.
pub enum State {
    /// Ready to be called.
    Open(Arc<dyn Connector>),
    /// Switched off.
    Disabled,
    /// Its settings cannot be used; the text says why.
    Broken(String),
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{} of {}", self.scheme, self.id, self.tenant)
    }
}

impl Service {
    /// Takes in what the service offers now. Tools that are as they were stay the same objects,
    /// so that their routes stay too.
    pub(crate) fn offers(&self, mut tools: Vec<Tool>) {
        tools.sort_by(|a, b| a.name().cmp(b.name()));
        tools.dedup_by(|a, b| a.name() == b.name());
        let known = self.known_tools();
        let known: HashMap<&str, &Arc<Tool>> = known.iter().map(|tool| (tool.name(), tool)).collect();
        let kept = |tool: Tool| match known.get(tool.name()) {
            Some(same) if ***same == tool => Arc::clone(same),
            _ => Arc::new(tool),
        };
        let was_answering = self.tools.swap(Some(Arc::new(tools.into_iter().map(kept).collect()))).is_some();
        if self.failure.swap(None).is_some() || !was_answering {
            self.since.reset();
        }
    }

    /// What can be called now.
    pub(crate) fn known_tools(&self) -> Arc<Vec<Arc<Tool>>> {
        self.tools.load_full().unwrap_or_else(|| self.named.clone())
    }

    /// Clients see its name before the names of what it offers.
    pub(crate) fn is_prefixed(&self) -> bool {
        match &self.state {
            State::Open(connector) => connector.is_prefixed(),
            State::Disabled | State::Broken(_) => true,
        }
    }

    /// What a call goes on as that is not over with its answer, where calls do.
    #[must_use]
    pub fn run_kind(&self) -> Option<RunKind> {
        match &self.state {
            State::Open(connector) => connector.run_kind(),
            State::Disabled | State::Broken(_) => None,
        }
    }

    /// Remembers why the service did not say what it offers.
    pub(crate) fn failed(&self, error: &Error) {
        let is_rejected = error.is_about_credentials();
        let is_denied = error.kind() == ErrorKind::Denied;
        let failure = Failure { message: error.full_message(), is_rejected, is_denied };
        if self.failure.swap(Some(Arc::new(failure))).is_none() {
            self.since.reset();
        }
    }

    /// Whether it has said what it offers since it was opened.
    #[must_use]
    pub fn has_answered(&self) -> bool {
        self.tools.load().is_some()
    }

    /// Since when it is as it is, in milliseconds since 1970.
    #[must_use]
    pub fn since_ms(&self) -> i64 {
        self.since.at.load(Ordering::Relaxed)
    }

    /// What keeps its connector from working as it should, e.g. that it is left alone. Since when it is so is remembered.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let State::Open(connector) = &self.state else { return None };
        let trouble = connector.trouble();
        // Otherwise it fails for another reason all the same.
        if self.failure().is_none() {
            self.since.note_trouble(trouble.is_some());
        }
        trouble
    }

    /// What is worth a word to whoever looks after it, though it works.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.connector().map(|connector| connector.notes()).unwrap_or_default()
    }

    /// Only those who manage the platform may use it.
    #[must_use]
    pub fn is_for_admins(&self) -> bool {
        self.is_for_admins
    }

    /// What is to be said about its tools.
    #[must_use]
    pub fn report(&self) -> Arc<Report> {
        self.report.load_full()
    }

    /// Why it did not say what it offers when it was last asked, or failed when it was looked at or called after that.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let unlisted = self.failure.load().as_deref().map(|failure| failure.message.clone());
        unlisted.or_else(|| self.unreached.load().as_deref().cloned())
    }

    /// Remembers whether somebody was there. What only says something about the call changes nothing.
    pub(crate) fn noted<T>(&self, outcome: &Result<T>) {
        self.note_unreached(outcome);
        // A call that went well in a service that was well has nothing to tell.
        if outcome.is_err() || self.since.is_troubled.load(Ordering::Relaxed) {
            let _ = self.trouble();
        }
    }

    fn note_unreached<T>(&self, outcome: &Result<T>) {
        let why = match outcome {
            Ok(_) => None,
            Err(error) => match error.kind() {
                ErrorKind::Unavailable => Some(Arc::new(error.message().to_owned())),
                ErrorKind::Upstream => None,
                _ => return,
            },
        };
        self.found(why);
    }

    /// Remembers what came of asking whether it can be reached: there is no call that a failure could be about.
    pub(crate) fn probed(&self, outcome: &Result<()>) {
        match outcome {
            Err(error) if error.kind() == ErrorKind::Cancelled => {}
            outcome => self.found(outcome.as_ref().err().map(|error| Arc::new(error.message().to_owned()))),
        }
    }

    fn found(&self, why: Option<Arc<String>>) {
        if why.is_some() == self.unreached.load().is_some() {
            return;
        }
        self.unreached.store(why);
        // Otherwise it fails for another reason all the same.
        if self.failure.load().is_none() {
            self.since.reset();
        }
    }

    /// What a call to a tool meets that is held back, by the tool's own name or by the clients' one.
    pub(super) fn held(&self, is_meant: impl Fn(&str) -> bool) -> Option<Error> {
        let report = self.report.load();
        if report.pinning != Pinning::Enforce {
            return None;
        }
        let tool = report.tools.keys().find(|tool| report.is_held(tool) && is_meant(tool))?;
        let message = format!(
            "tool '{}' of service {}://{} has changed; it is held back until somebody approves the change",
            tool.escape_debug(),
            self.scheme,
            self.id
        );
        Some(Error::tool_disabled(message).of_service(&self.id))
    }

    /// What a call to a tool of this service meets when there is no such tool.
    pub(super) fn excuse(&self) -> Option<Error> {
        if let Err(error) = self.connector() {
            return Some(error);
        }
        let failure = self.failure.load();
        let failure = failure.as_deref().filter(|_| self.tools.load().is_none())?;
        if failure.is_rejected {
            return Some(self.rejected(&failure.message));
        }
        if let Some(error) = self.connector().ok().and_then(|connector| connector.left_alone()) {
            return Some(error.about(&format!("service {}://{}", self.scheme, self.id)).of_service(&self.id));
        }
        // The failure says what is not available; all that it may not say is whose fault that is.
        let message = format!("{} (service {}://{})", failure.message, self.scheme, self.id);
        let error = match failure.is_denied {
            true => Error::denied(message),
            false => Error::unavailable(message).retryable(),
        };
        Some(error.of_service(&self.id))
    }

    /// What a call meets that may be for a tool of this service, as long as the service has not said what it offers.
    pub(super) fn unheard(&self) -> Error {
        let message = format!("service {}://{} has not said yet what it offers", self.scheme, self.id);
        Error::unavailable(message).retryable().because(Reason::Unheard).of_service(&self.id)
    }

    /// The service refuses our credentials: say where they come from, and what it says itself.
    pub(crate) fn rejected(&self, words: &str) -> Error {
        let source = match self.variables.as_slice() {
            [] => format!("credentials of service {}://{}", self.scheme, self.id),
            variables => variables.join(", "),
        };
        Error::upstream(format!(
            "Authentication failed: Invalid or missing {source}; the service says: {words}"
        ))
        .of_service(&self.id)
        .because(Reason::CredentialsRejected)
    }

    /// The connector, or why there is none.
    pub(crate) fn connector(&self) -> Result<&Arc<dyn Connector>> {
        match &self.state {
            State::Open(connector) => Ok(connector),
            State::Disabled => Err(Error::service_disabled(format!(
                "service {}://{} is disabled; ask its owner to enable it",
                self.scheme, self.id
            ))
            .of_service(&self.id)),
            State::Broken(why) => Err(Error::invalid_config(format!(
                "service {}://{} cannot be used: {why}",
                self.scheme, self.id
            ))
            .of_service(&self.id)),
        }
    }
}
