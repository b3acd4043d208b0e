//! What a call looked like on the wire, for those who try a tool out.

use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// Takes down what was sent and what came back. In ordinary calls nobody looks, and nothing is kept.
#[derive(Debug, Clone, Default)]
pub struct Inspection(Option<Arc<Mutex<Exchange>>>);

/// What was exchange of a call.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    /// The request as it was sent, secrets masked.
    pub request: Option<Value>,
    /// The status of the answer, where the service has one.
    pub status: Option<u16>,
    /// The answer before it was shaped, as JSON.
    pub raw: Option<String>,
}

impl Inspection {
    /// Somebody looks.
    #[must_use]
    pub fn on() -> Self {
        Self(Some(Arc::default()))
    }

    /// Takes something down, if somebody looks; otherwise `note` does not run.
    pub fn note(&self, note: impl FnOnce(&mut Exchange)) {
        if let Some(exchange) = &self.0 {
            note(&mut exchange.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// What was exchange so far.
    #[must_use]
    pub fn exchange(&self) -> Exchange {
        let mut copy = Exchange::default();
        self.note(|exchange| copy = exchange.clone());
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_nothing_unless_somebody_looks() {
        let off = Inspection::default();
        off.note(|_| unreachable!("nobody looks"));
        let on = Inspection::on();
        let copy = on.clone();
        copy.note(|exchange| exchange.status = Some(204));
        drop(copy);
        assert_eq!((off.exchange().status, on.exchange().status), (None, Some(204)));
    }
}
