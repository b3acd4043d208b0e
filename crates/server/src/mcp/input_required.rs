//! Requests whose result was `input_required`, until the client repeats them with its input.
//!
//! A service with a handshake asks while it works; a client without one takes the question as the
//! outcome of its request. Between the two, the work is kept here.

use super::client::InputRequest;
use super::running::RunningRequest;
use super::server_requests::has_room;
use super::{Answered, outcome};
use mcp::RpcError;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tool::{Error, Extras, Fields};

/// How many requests may wait at the same time.
const MAX_WAITING: usize = 1000;
/// What the state of a request begins with that waits here and not at a service.
const PREFIX: &str = "held-";
/// Under this name the client finds our question.
const NAME: &str = "question";

/// The requests that wait, by their state.
#[derive(Default)]
pub(super) struct InputRequired(Mutex<HashMap<String, Waiting>>);

struct Waiting {
    owner: String,
    running: RunningRequest,
    input: InputRequest,
}

impl InputRequired {
    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a request and what it needs; the result is what the client gets meanwhile.
    pub(super) fn keep(&self, owner: &str, running: RunningRequest, input: InputRequest) -> Answered<String> {
        let state = format!("{PREFIX}{}", uuid::Uuid::new_v4().simple());
        let result = ask(&state, &input);
        let mut waiting = self.waiting();
        // Work that has ended, by its deadline for example, is not waited for.
        waiting.retain(|_, waiting| !waiting.running.is_over());
        if !has_room(waiting.len(), MAX_WAITING, owner, || waiting.values().map(|waiting| &*waiting.owner)) {
            return Err(RpcError::new(-32603, "too many requests wait for answers; try again later"));
        }
        waiting.insert(state, Waiting { owner: owner.to_owned(), running, input });
        Ok(result)
    }

    /// No input can come any more, and the work need not wait for it.
    pub(super) fn clear(&self) {
        let waiting = std::mem::take(&mut *self.waiting());
        drop(waiting);
    }

    /// Takes a request up again that carries its input. `None`: it is not one of
    /// those that wait here.
    pub(super) fn resume(&self, owner: &str, subject: &str, extras: &mut Extras) -> Option<Resumed> {
        let state: String = serde_json::from_str(extras.get("requestState")?.get()).ok()?;
        if !state.starts_with(PREFIX) {
            return None;
        }
        let mut waiting = self.waiting();
        let is_theirs = |waiting: &Waiting| waiting.owner == owner && *waiting.running.subject == *subject;
        if !waiting.get(&state).is_some_and(is_theirs) {
            let message = "Invalid params: 'requestState' is unknown or too old; begin anew";
            return Some(Resumed::Refused(RpcError::invalid_params(message)));
        }
        let response = extras.get("inputResponses").and_then(|responses| {
            let fields: Fields<'_> = serde_json::from_str(responses.get()).ok()?;
            fields.get(NAME).map(RawValue::to_owned)
        });
        let Some(response) = response else {
            let again = waiting.get(&state).map(|waiting| ask(&state, &waiting.input));
            return again.map(Resumed::Again);
        };
        let Waiting { running, input, .. } = waiting.remove(&state)?;
        // Whoever asked may have given up; the end of its work says so.
        let _ = input.response.send(check(response));
        Some(Resumed::Running(Box::new(running)))
    }
}

/// What becomes of a request that was taken up again.
pub(super) enum Resumed {
    /// It goes on.
    Running(Box<RunningRequest>),
    /// The input is missing: it is asked for once more.
    Again(String),
    Refused(RpcError),
}

fn ask(state: &str, input: &InputRequest) -> String {
    let method = mcp::client::method_of(input.question.ability);
    outcome::input_required(method, input.question.params.as_deref(), NAME, state)
}

fn check(response: Box<RawValue>) -> tool::Result<Box<RawValue>> {
    if response.get().starts_with('{') {
        return Ok(response);
    }
    Err(Error::upstream("the client's answer is not an object"))
}
