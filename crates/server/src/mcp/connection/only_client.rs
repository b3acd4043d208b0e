//! How services reach the only client of a process while none of its calls runs.

use super::Connection;
use crate::mcp::client::{CallingClient, Capabilities, ForClient};
use std::sync::atomic::Ordering;

impl Connection {
    /// Hands on what a client tells, as far as it is of interest to services.
    pub(in crate::mcp) fn notified(&self, method: &str) {
        let Some(client) = &self.identity.only_client else { return };
        match method {
            // From now on it may be asked something.
            "notifications/initialized" => self.can_be_asked(),
            "notifications/roots/list_changed" => client.change_roots(),
            _ => {}
        }
    }

    fn can_be_asked(&self) {
        let Some(client) = &self.identity.only_client else { return };
        if !self.is_initialized.load(Ordering::Relaxed) {
            return;
        }
        let open = self.session();
        let Some(capabilities) = Capabilities::read(open.session.capabilities.as_deref()) else {
            return client.disconnected();
        };
        let requests = &self.door.server_requests;
        let (asked, mut rx) =
            CallingClient::open(capabilities, open.session.version, "", &self.door.id, requests);
        client.connected(asked);
        let (closing, tx) = (self.door.closing.clone(), self.tx.clone());
        // It ends with the client, or with its next hello.
        tokio::spawn(closing.run_until_cancelled_owned(async move {
            while let Some(asked) = rx.recv().await {
                if let ForClient::Message(message) = asked {
                    let _ = tx.send(message).await;
                }
            }
        }));
    }

    /// A client without a handshake hears questions as the outcome of its calls and not otherwise.
    pub(in crate::mcp) fn has_no_handshake(&self) {
        if let Some(client) = self.identity.only_client.as_ref().filter(|client| client.is_awaited()) {
            client.disconnected();
        }
    }
}
