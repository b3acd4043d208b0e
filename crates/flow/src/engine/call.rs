//! Calls: what they are made with, what comes of them, and when they are made again.

use super::Machine;
use super::frame::{Calling, Spot, State};
use super::ports::{Answer, Call};
use super::record::{Fact, Failure, Waiting};
use crate::document::{self, Action, Node, RetryOn, Target, weight};
use crate::limits;
use crate::settle::Exit;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Machine {
    pub(super) fn begin_call(
        &mut self,
        spot: Spot,
        node: &Node,
        call: &document::Call,
    ) -> Result<(), Failure> {
        let target = match (&call.target, &call.in_place) {
            (Target(Ok(uri)), Some(in_place)) => in_place.definition(uri),
            (Target(Ok(uri)), None) => Value::String(uri.to_string()),
            (Target(Err(reason)), _) => return Err(Failure::new("INVALID_URI", reason)),
        };
        if call.is_handoff && self.handoffs >= limits::HANDOFFS {
            let message = format!("a run hands off at most {} times", limits::HANDOFFS);
            return Err(Failure::new("LIMIT", message));
        }
        let arguments = self.arguments(spot, node, call)?;
        self.emit_at(spot, Fact::Called { target, arguments });
        Ok(())
    }

    /// What the author wrote, and what publishing bound by name.
    fn arguments(
        &self,
        spot: Spot,
        node: &Node,
        call: &document::Call,
    ) -> Result<Map<String, Value>, Failure> {
        let Value::Object(mut arguments) = self.evaluate(spot, &call.args)? else {
            let message = format!("{}: 'args' gave no object", node.path);
            return Err(Failure::new("EXPRESSION", message));
        };
        let names = self.names(spot);
        for bound in self.bound.iter().filter(|bound| bound.node == node.path) {
            let value = expression::Scope::find(&names, &bound.name).filter(|value| !value.is_null());
            if let Some(value) = value.filter(|_| !arguments.contains_key(&bound.parameter)) {
                arguments.insert(bound.parameter.clone(), value.clone());
            }
        }
        arguments.values().try_for_each(check_value)?;
        Ok(arguments)
    }

    /// The calls that are to be under way now.
    pub fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        self.active.iter().filter_map(|spot| match self.state(*spot) {
            Some(State::Calling(calling)) => Some(self.call(*spot, calling)),
            _ => None,
        })
    }

    /// Paths and attempts of the calls that are to be under way now.
    pub(super) fn call_ids(&self) -> impl Iterator<Item = (String, u32)> + '_ {
        self.active.iter().filter_map(|spot| match self.state(*spot) {
            Some(State::Calling(calling)) => Some((self.path(*spot), calling.attempt)),
            _ => None,
        })
    }

    fn call(&self, spot: Spot, calling: &Calling) -> Call {
        let path = self.path(spot);
        Call {
            key: format!("{}:{path}", self.run),
            path,
            target: calling.target.clone(),
            arguments: calling.arguments.clone(),
            attempt: calling.attempt,
            is_at_most_once: self.frames[&spot.0].block.nodes[spot.1].is_at_most_once,
            deadline: self.deadline(spot),
            cancel: CancellationToken::new(),
        }
    }

    /// Takes what came of a call; what nobody waits for any more is dropped.
    pub fn answer(&mut self, path: &str, attempt: u32, result: Result<Answer, Failure>, now: DateTime<Utc>) {
        self.now = now;
        let Some(spot) = self.spot(path) else { return };
        if !matches!(self.state(spot), Some(State::Calling(calling)) if calling.attempt == attempt) {
            return;
        }
        match result {
            Ok(Answer::Value(value)) => self.take_answer(spot, value),
            Ok(Answer::Child(run)) => {
                self.emit(path.to_owned(), attempt, Fact::Waiting(Waiting::Child { run }))
            }
            // It is as it was.
            Ok(Answer::Later) => {}
            Err(failure) => self.call_failed(spot, attempt, failure),
        }
    }

    pub(super) fn take_answer(&mut self, spot: Spot, value: Value) {
        let block = Arc::clone(&self.frames[&spot.0].block);
        let taken = check_value(&value).and_then(|()| match &block.nodes[spot.1].action {
            Action::Approval(approval) => self.ask(spot, approval),
            Action::Guard(guard) => self.take_verdict(spot, guard, value),
            _ => self.finish(spot, value, Exit::Next),
        });
        if let Err(failure) = taken {
            self.fail(spot, failure);
        }
    }

    /// Tries again later, or gives up.
    pub(super) fn call_failed(&mut self, spot: Spot, attempt: u32, mut failure: Failure) {
        let block = Arc::clone(&self.frames[&spot.0].block);
        let retry = &block.nodes[spot.1].retry;
        let is_meant = match &retry.on {
            RetryOn::Retryable => {
                failure.is_retryable || !block.nodes[spot.1].is_at_most_once && failure.may_pass()
            }
            RetryOn::Any => true,
            RetryOn::Codes(codes) => codes.contains(&failure.code),
        };
        // A flow inside names a node of its own.
        failure.node = None;
        let until = self.now + retry.pause(attempt);
        let has_time = self.deadline(spot).is_none_or(|deadline| until < deadline);
        failure.attempts = Some(attempt);
        if is_meant && attempt < retry.attempts && has_time {
            let waiting = Waiting::Retry { until, error: failure };
            self.emit(self.path(spot), attempt, Fact::Waiting(waiting));
        } else {
            self.fail(spot, failure);
        }
    }

    /// When a node must have ended, all attempts together.
    pub(super) fn deadline(&self, (frame, node): Spot) -> Option<DateTime<Utc>> {
        let frame = self.frames.get(&frame)?;
        Some(frame.since[node]? + frame.block.nodes[node].timeout?)
    }

    /// Calls that were under way when a process ended, and may not be made twice.
    pub(super) fn unrepeatable(&self) -> Vec<Spot> {
        let is_unrepeatable = |spot: &&Spot| {
            let node = &self.frames[&spot.0].block.nodes[spot.1];
            node.is_at_most_once && matches!(self.state(**spot), Some(State::Calling(_)))
        };
        self.active.iter().filter(is_unrepeatable).copied().collect()
    }
}

/// A value is not larger than values may be, nor deeper.
///
/// # Errors
/// `LIMIT`, which says what the bound is.
pub fn check_value(value: &Value) -> Result<(), Failure> {
    if !expression::is_within(value, limits::VALUE_LEVELS) {
        return Err(Failure::new("LIMIT", expression::too_deep()));
    }
    if weight(value) <= limits::VALUE_BYTES {
        return Ok(());
    }
    Err(Failure::new("LIMIT", format!("a value has at most {} bytes", limits::VALUE_BYTES)))
}
