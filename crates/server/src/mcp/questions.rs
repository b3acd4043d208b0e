//! Questions that were sent to clients as requests, until their answers arrive.

use mcp::Message;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use tool::{Error, Result};

/// All questions of a server together.
const MAX_WAITING: usize = 10_000;

/// Who waits for which answer.
#[derive(Default)]
pub(crate) struct Questions {
    waiting: Mutex<HashMap<String, Waiting>>,
    /// Nobody answers any more.
    is_closed: AtomicBool,
}

struct Waiting {
    /// Nobody else's answer counts.
    owner: String,
    reply: oneshot::Sender<Result<Box<RawValue>>>,
}

/// Ends the wait when dropped.
pub(super) struct Forget {
    questions: Arc<Questions>,
    id: String,
}

impl Drop for Forget {
    fn drop(&mut self) {
        self.questions.waiting().remove(&self.id);
    }
}

type Expected = (String, oneshot::Receiver<Result<Box<RawValue>>>, Forget);

impl Questions {
    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An id for a new question, and where its answer will arrive.
    pub(super) fn expect(self: &Arc<Self>, owner: &str) -> Result<Expected> {
        let id = uuid::Uuid::new_v4().to_string();
        let (reply, answer) = oneshot::channel();
        let mut waiting = self.waiting();
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(Error::unavailable("the calling program has closed its end, and answers nothing"));
        }
        if waiting.len() >= MAX_WAITING {
            return Err(Error::rate_limited("too many questions wait for answers"));
        }
        waiting.insert(id.clone(), Waiting { owner: owner.to_owned(), reply });
        let forget = Forget { questions: self.clone(), id: id.clone() };
        Ok((id, answer, forget))
    }

    /// No answer will come: whoever waits for one, or comes to wait, is told.
    pub(super) fn close(&self) {
        let mut waiting = self.waiting();
        self.is_closed.store(true, Ordering::Relaxed);
        waiting.clear();
    }

    /// Takes an answer. One that nobody waits for is ignored, and so is another client's.
    pub(super) fn answer(&self, owner: &str, id: &RawValue, message: &Message<'_>) {
        let Ok(id) = serde_json::from_str::<String>(id.get()) else { return };
        let mut waiting = self.waiting();
        if waiting.get(&id).is_none_or(|waiting| waiting.owner != owner) {
            return;
        }
        let Some(answered) = waiting.remove(&id) else { return };
        let answer = match (message.result, message.error) {
            (Some(result), _) => Ok(result.to_owned()),
            (None, Some(error)) => {
                let text = mcp::RpcError::from_raw(error).message;
                Err(Error::upstream(format!("the calling program refused: {text}"))
                    .relaying(error.to_owned()))
            }
            (None, None) => Err(Error::upstream("the calling program answered nothing")),
        };
        // Whoever has stopped waiting does not need it.
        let _ = answered.reply.send(answer);
    }
}
