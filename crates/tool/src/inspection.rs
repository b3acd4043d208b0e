//! What a call looked like on the wire, for those who try a tool out or ask later why a call failed.

use crate::Error;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The most bytes of a body that is kept in case somebody asks.
pub const KEPT_BODY_BYTES: usize = 64 * 1024;
/// Stands at the end of a body whose end is missing.
pub const CUT: &str = "…";
/// What is tried more often than this is not told apart any more.
const MAX_ATTEMPTS: usize = 32;
/// The steps of most calls.
const STEPS: usize = 5;

/// Takes down what was sent and what came back. Where nobody will ever look, nothing is kept.
#[derive(Debug, Clone, Default)]
pub struct Inspection(Option<Arc<Mutex<Exchange>>>);

/// What was exchanged in a call.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// The id of the call in the audit, where somebody wants to know it before it is there.
    pub audit_id: Option<String>,
    /// The request as it was sent, secrets masked.
    pub request: Option<Value>,
    /// The status of the answer, where the service has one.
    pub status: Option<u16>,
    /// The answer before it was shaped, as JSON, or its beginning.
    pub raw: Option<String>,
    /// How often the service was asked, where it was asked more than once or may have been.
    pub attempts: Vec<Attempt>,
    /// Where the time went.
    pub steps: Vec<StepTime>,
    /// The most bytes of a body that are taken down; none for all.
    limit: Option<usize>,
}

/// One attempt at a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// What it took, in microseconds.
    pub us: u64,
    /// Why it failed.
    pub error: Option<String>,
}

/// One step of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTime {
    /// The step, e.g. `bind`.
    pub name: &'static str,
    /// What it took, in microseconds.
    pub us: u64,
    /// Why it failed.
    pub error: Option<String>,
}

impl Exchange {
    /// A body as far as it is taken down. Bytes that are no text are shown as such.
    #[must_use]
    pub fn cut<'a>(&self, body: &'a [u8]) -> Cow<'a, str> {
        let end = self.limit.map_or(body.len(), |limit| limit.min(body.len()));
        let cut = String::from_utf8_lossy(&body[..end]);
        match end < body.len() {
            // The last character may be one of which a part is missing.
            true => Cow::Owned(format!("{}{CUT}", cut.trim_end_matches(char::REPLACEMENT_CHARACTER))),
            false => cut,
        }
    }

    /// The most bytes of a body that are taken down; none for all.
    #[must_use]
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }
}

impl Inspection {
    /// Somebody looks.
    #[must_use]
    pub fn on() -> Self {
        Self(Some(Arc::default()))
    }

    /// Somebody may look later: bodies are kept as far as there is room.
    #[must_use]
    pub fn kept() -> Self {
        let steps = Vec::with_capacity(STEPS);
        let exchange = Exchange { limit: Some(KEPT_BODY_BYTES), steps, ..Exchange::default() };
        Self(Some(Arc::new(Mutex::new(exchange))))
    }

    /// Somebody looks, or may look later.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Takes something down, if somebody looks; otherwise `note` does not run.
    pub fn note(&self, note: impl FnOnce(&mut Exchange)) {
        if let Some(exchange) = &self.0 {
            note(&mut exchange.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Leaves nothing of what was only kept in case somebody asks.
    pub fn forget_kept(&mut self) {
        let mut is_asked_for = false;
        self.note(|seen| is_asked_for = seen.limit.is_none());
        if !is_asked_for {
            *self = Self::default();
        }
    }

    /// What was exchanged, when nobody adds to it any more; nothing where nobody may look.
    #[must_use]
    pub fn take(self) -> Option<Exchange> {
        match Arc::try_unwrap(self.0?) {
            Ok(exchange) => Some(exchange.into_inner().unwrap_or_else(PoisonError::into_inner)),
            // Whoever asked for it still has it.
            Err(shared) => Some(shared.lock().unwrap_or_else(PoisonError::into_inner).clone()),
        }
    }

    /// What was exchanged so far.
    #[must_use]
    pub fn exchange(&self) -> Exchange {
        let mut copy = Exchange::default();
        self.note(|exchange| copy = exchange.clone());
        copy
    }

    /// Starts to watch how long something takes.
    #[must_use]
    pub fn watch(&self) -> Stopwatch {
        Stopwatch { inspection: self.clone(), begun: self.is_on().then(Instant::now) }
    }
}

/// Takes down how long each step takes; costs nothing where nobody looks.
#[derive(Debug)]
pub struct Stopwatch {
    inspection: Inspection,
    begun: Option<Instant>,
}

impl Stopwatch {
    /// The step of this name has ended, and the next one begins.
    #[inline]
    pub fn step<T>(&mut self, name: &'static str, result: crate::Result<T>) -> crate::Result<T> {
        if self.begun.is_some() {
            self.note_step(name, result.as_ref().err());
        }
        result
    }

    #[inline(never)]
    fn note_step(&mut self, name: &'static str, error: Option<&Error>) {
        if let Some(us) = self.lap() {
            let error = error.map(Error::in_words);
            self.inspection.note(|seen| seen.steps.push(StepTime { name, us, error }));
        }
    }

    /// An attempt has ended, and the next one begins.
    pub fn attempt(&mut self, error: Option<&Error>) {
        if let Some(us) = self.lap() {
            let attempt = Attempt { us, error: error.map(Error::in_words) };
            self.inspection.note(|seen| {
                if seen.attempts.len() < MAX_ATTEMPTS {
                    seen.attempts.push(attempt);
                }
            });
        }
    }

    /// What has passed does not count.
    pub fn restart(&mut self) {
        self.lap();
    }

    fn lap(&mut self) -> Option<u64> {
        let begun = self.begun.as_mut()?;
        let now = Instant::now();
        let us = now.duration_since(std::mem::replace(begun, now)).as_micros();
        Some(u64::try_from(us).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_nothing_unless_somebody_looks() {
        let off = Inspection::default();
        off.note(|_| unreachable!("nobody looks"));
        assert!(off.watch().step("bind", Ok(())).is_ok());
        let on = Inspection::on();
        let copy = on.clone();
        copy.note(|exchange| exchange.status = Some(204));
        drop(copy);
        assert_eq!((off.exchange().status, on.exchange().status), (None, Some(204)));
    }

    #[test]
    fn takes_down_where_the_time_went_and_what_failed() {
        let on = Inspection::on();
        let mut watch = on.watch();
        let _ = watch.step("resolve", Ok(()));
        let _ = watch.step::<()>("bind", Err(Error::invalid_input("no 'id'")));
        watch.attempt(None);
        let seen = on.exchange();
        let steps: Vec<_> = seen.steps.iter().map(|step| (step.name, step.error.as_deref())).collect();
        assert_eq!(steps, [("resolve", None), ("bind", Some("no 'id'"))]);
        assert_eq!(seen.attempts.len(), 1);
    }

    #[test]
    fn cuts_what_is_kept_and_nothing_else() {
        let body = "ü".repeat(KEPT_BODY_BYTES).into_bytes();
        let (mut kept, mut whole) = (String::new(), String::new());
        Inspection::kept().note(|seen| kept = seen.cut(&body).into_owned());
        Inspection::on().note(|seen| whole = seen.cut(&body).into_owned());
        assert_eq!(kept.chars().count(), KEPT_BODY_BYTES / 2 + 1);
        assert!(kept.ends_with("ü…") && whole.len() == body.len());
    }
}
