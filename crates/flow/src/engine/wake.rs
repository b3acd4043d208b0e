//! Nodes that wait: timers, retries, signals, approvals, children, and deadlines.

use super::frame::{Spot, State};
use super::ports::Parking;
use super::record::{Decision, Fact, Failure, Waiting};
use super::{Machine, ROOT};
use crate::document::{Action, Approval, OnTimeout};
use crate::settle::Exit;
use chrono::{DateTime, Utc};
use serde_json::Value;
use std::sync::Arc;

impl Machine {
    /// Goes on wherever something that was waited for has come.
    pub(super) fn wake(&mut self) {
        if self.run_deadline().is_some_and(|deadline| deadline <= self.now) {
            let error = Failure::new("TIMEOUT", "the run took longer than the flow's 'timeout'");
            return self.fail_frame(ROOT, error);
        }
        for spot in self.active.clone() {
            if self.ending.is_none() && self.active.contains(&spot) {
                self.wake_node(spot);
            }
        }
    }

    pub(super) fn wake_node(&mut self, spot: Spot) {
        if self.deadline(spot).is_some_and(|deadline| deadline <= self.now) {
            return self.fail(spot, Failure::new("TIMEOUT", "the node took longer than its 'timeout'"));
        }
        let Some(State::Parked(parked)) = self.state(spot) else { return };
        let is_due = parked.reason.until().is_some_and(|until| until <= self.now);
        let woken = match &parked.reason {
            Waiting::Timer { .. } if is_due => self.finish(spot, Value::Null, Exit::Next),
            Waiting::Retry { .. } if is_due && !self.is_paused && !self.is_held => {
                let attempt = parked.call.as_ref().map_or(1, |call| call.attempt) + 1;
                self.emit(self.path(spot), attempt, Fact::Again);
                Ok(())
            }
            Waiting::Signal { .. } => match self.matching_signal(&parked.reason) {
                Some(at) => self.finish(spot, self.signals[at].2.clone(), Exit::Next),
                None => Ok(()),
            },
            Waiting::Approval { .. } => match parked.decision.clone() {
                Some(decision) => self.decide(spot, decision),
                None if is_due => self.approval_timed_out(spot),
                None => Ok(()),
            },
            Waiting::Child { .. } => match parked.child.clone() {
                Some(Ok(value)) => return self.take_answer(spot, value),
                Some(Err(failure)) => {
                    let attempt = parked.call.as_ref().map_or(1, |call| call.attempt);
                    return self.call_failed(spot, attempt, failure);
                }
                None => Ok(()),
            },
            Waiting::Timer { .. } | Waiting::Retry { .. } => Ok(()),
        };
        if let Err(failure) = woken {
            self.fail(spot, failure);
        }
    }

    /// The first signal that somebody waits for: of that name, and of that very key if the wait has one.
    pub(super) fn matching_signal(&self, waiting: &Waiting) -> Option<usize> {
        let Waiting::Signal { name, key } = waiting else { return None };
        let is_meant =
            |(sent, of, _): &(String, Option<Value>, Value)| sent == name && (key.is_none() || of == key);
        self.signals.iter().position(is_meant)
    }

    /// Asks for an approval.
    pub(super) fn ask(&mut self, spot: Spot, approval: &Approval) -> Result<(), Failure> {
        let node = &Arc::clone(&self.frames[&spot.0].block).nodes[spot.1];
        let deadline = self.deadline(spot).or_else(|| Some(self.now + node.timeout?));
        let waiting = Waiting::Approval {
            title: self.evaluate(spot, &approval.title)?,
            fields: approval.fields.clone(),
            by: self.evaluate(spot, &approval.by)?,
            // The node's own time ends it, too, and comes first where both are over at once.
            until: approval.timeout.map(|timeout| self.now + timeout).into_iter().chain(deadline).min(),
        };
        self.emit_at(spot, Fact::Waiting(waiting));
        Ok(())
    }

    fn decide(&mut self, spot: Spot, decision: Decision) -> Result<(), Failure> {
        let block = Arc::clone(&self.frames[&spot.0].block);
        let Action::Approval(approval) = &block.nodes[spot.1].action else { return Ok(()) };
        let value = decision.to_value(self.now);
        match decision.is_approved {
            true => self.finish(spot, value, Exit::NextAnd(0)),
            false if approval.has_else => self.finish(spot, value, Exit::Branch(1)),
            false => {
                let comment = decision.comment.map(|comment| format!(": {comment}")).unwrap_or_default();
                Err(Failure::new("REJECTED", format!("{} rejected it{comment}", decision.by)))
            }
        }
    }

    fn approval_timed_out(&mut self, spot: Spot) -> Result<(), Failure> {
        let block = Arc::clone(&self.frames[&spot.0].block);
        let Action::Approval(approval) = &block.nodes[spot.1].action else { return Ok(()) };
        let is_approved = match approval.on_timeout {
            OnTimeout::Fail => return Err(Failure::new("TIMEOUT", "nobody decided in time")),
            OnTimeout::Approve => true,
            OnTimeout::Reject => false,
        };
        let comment = Some("nobody decided in time".to_owned());
        self.decide(spot, Decision { is_approved, by: "timeout".to_owned(), comment, data: Value::Null })
    }

    fn run_deadline(&self) -> Option<DateTime<Utc>> {
        Some(self.begun_at? + self.flow.timeout?)
    }

    /// When something happens by itself next.
    pub fn due_at(&self) -> Option<DateTime<Utc>> {
        let own = |spot: &Spot| {
            let until = match self.state(*spot) {
                Some(State::Parked(parked)) => parked.reason.until(),
                _ => None,
            };
            // A pause holds retries back; the end of the pause wakes them.
            let is_held = self.is_paused && until.is_some_and(|until| until <= self.now);
            until.filter(|_| !is_held).into_iter().chain(self.deadline(*spot))
        };
        self.active.iter().flat_map(own).chain(self.run_deadline()).min()
    }

    /// What the run waits for, for those who take it up again.
    #[must_use]
    pub fn parking(&self) -> Parking {
        let waiting = self.active.iter().filter_map(|spot| match self.state(*spot) {
            Some(State::Parked(parked)) => Some((self.path(*spot), parked.reason.clone())),
            _ => None,
        });
        Parking { due_at: self.due_at(), waiting: waiting.collect() }
    }
}
