//! The programs whose calls a server works on: it may ask one of them only while there is no other.

use super::{Pending, PendingRequest};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tool::{Context, Door, Identity};

/// How long a server may still work on a request that nobody waits for any more, and ask about it.
const AFTERMATH: Duration = Duration::from_secs(60);
/// So many are several, and no more need to be remembered to know that.
const MAX_GIVEN_UP: usize = 1024;

/// Who calls, and the session that it calls in, where it has one in which it can be asked.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Program {
    identity: Identity,
    session: Option<String>,
}

impl Program {
    /// `None` for what we ask on our own account, which is nobody's call.
    fn of(cx: &Context) -> Option<Self> {
        (cx.door != Door::System).then(|| Self {
            identity: cx.caller.identity.clone(),
            session: cx.client.as_ref().map(|client| client.session().to_owned()),
        })
    }
}

/// Programs that have given up a request, and when they last did.
#[derive(Default)]
pub(super) struct GivenUp(HashMap<Program, Instant>);

impl GivenUp {
    pub(super) fn note(&mut self, cx: &Context) {
        self.0.retain(|_, since| since.elapsed() < AFTERMATH);
        if let Some(program) = Program::of(cx).filter(|_| self.0.len() < MAX_GIVEN_UP) {
            self.0.insert(program, Instant::now());
        }
    }

    fn has_other_than(&self, program: &Program) -> bool {
        self.0.iter().any(|(other, since)| other != program && since.elapsed() < AFTERMATH)
    }
}

/// Whose question it is that comes without saying so.
pub(super) enum Asking<'a> {
    /// Every call under way is this program's; this is its latest, as older ones are likelier to wait already.
    One(&'a PendingRequest),
    /// Several programs call.
    Several,
    /// No call is under way.
    Nobody,
}

impl Pending {
    /// The program that a question is for which does not say to which call it belongs: nobody is asked on behalf of
    /// another, not even where the other cannot be asked.
    pub(super) fn asking(&self) -> Asking<'_> {
        let calls = || {
            let calls = self.requests.iter();
            calls.filter_map(|(id, request)| Some((id, request, Program::of(&request.cx)?)))
        };
        let Some((_, latest, program)) = calls().max_by_key(|(id, ..)| **id) else { return Asking::Nobody };
        let is_alone =
            calls().all(|(_, _, other)| other == program) && !self.given_up.has_other_than(&program);
        if is_alone { Asking::One(latest) } else { Asking::Several }
    }
}
