//! How services reach the only client of a process while none of its calls runs.

use super::{OWNER, Peer};
use crate::mcp::conversation::{Asker, Wishes};
use crate::mcp::program::{Heard, Program};
use tokio::sync::mpsc;

/// Questions that may wait for a client that does not read.
const QUEUE: usize = 16;

impl Peer {
    /// What a client tells without asking, as far as it is of interest to services.
    pub(super) fn hear(&self, method: &str) {
        let Some(client) = &self.who.only_client else { return };
        match method {
            // From now on it may be asked something.
            "notifications/initialized" => self.can_be_asked(),
            "notifications/roots/list_changed" => client.change_roots(),
            _ => {}
        }
    }

    fn can_be_asked(&self) {
        let Some(client) = &self.who.only_client else { return };
        let Some((version, capabilities)) = self.agreed().clone() else { return };
        let Some(abilities) = Program::abilities(capabilities.as_deref()) else { return client.is_away() };
        let asker = Asker {
            version,
            owner: OWNER,
            capabilities: capabilities.as_deref(),
            questions: &self.questions,
            wishes: Wishes::default(),
            is_cancelled_when_gone: false,
        };
        let (tx, mut heard) = mpsc::channel(QUEUE);
        client.is_here(Program::client(&abilities, &asker, tx));
        let (gone, lines) = (self.gone.clone(), self.tx.clone());
        // It ends with the client, or with its next hello.
        tokio::spawn(gone.run_until_cancelled_owned(async move {
            while let Some(heard) = heard.recv().await {
                if let Heard::Line(line) = heard {
                    let _ = lines.send(line).await;
                }
            }
        }));
    }

    /// A client without a handshake hears questions as the outcome of its calls and not otherwise.
    pub(super) fn cannot_be_asked(&self) {
        if let Some(client) = self.who.only_client.as_ref().filter(|client| client.is_awaited()) {
            client.is_away();
        }
    }
}
