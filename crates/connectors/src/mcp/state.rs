//! Where a connection stands: being made, in use, or to be tried again later.

use super::client::Limits;
use super::session::Session;
use mcp::Era;
use mcp::client::{Diagnosis, Failure};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A connection that has lasted so long was a good one.
const STABLE: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) failures: u32,
    pub(super) retry_at: Option<Instant>,
    pub(super) last_failure: Option<(Failure, Arc<Diagnosis>)>,
    /// How the server began last time.
    pub(super) era: Option<Era>,
    /// The last connection broke, so that the server may offer something else now.
    pub(super) is_suspect: bool,
    /// The server has been there.
    pub(super) was_connected: bool,
}

#[derive(Default)]
pub(super) enum Phase {
    #[default]
    Idle,
    Connecting(watch::Receiver<bool>),
    Ready(Arc<Session>),
}

pub(super) enum Step {
    Use(Arc<Session>),
    Wait(watch::Receiver<bool>),
    Pause(Instant),
}

impl State {
    /// A connection has ended by itself.
    pub(super) fn end(&mut self, session: &Session, limits: &Limits) {
        self.phase = Phase::Idle;
        self.is_suspect = true;
        if let Some(failure) = session.client.failure() {
            self.last_failure = Some((failure, session.diagnosis.clone()));
        }
        if session.retired.is_cancelled() && !session.client.closed().is_cancelled() {
            return;
        }
        if session.began.elapsed() >= STABLE {
            self.failures = 0;
            self.retry_at = None;
        } else {
            self.fail(limits);
        }
    }

    pub(super) fn fail(&mut self, limits: &Limits) {
        self.failures = self.failures.saturating_add(1);
        let pause = match self.is_coming_back(limits) {
            true => limits.backoff.initial,
            false => limits.backoff.after(self.failures),
        };
        self.retry_at = Some(Instant::now() + pause);
    }

    /// The server has been there and is gone: as often as the settings say, whoever needs it waits for the next attempt.
    pub(super) fn is_coming_back(&self, limits: &Limits) -> bool {
        self.was_connected && self.failures <= limits.retries
    }
}
