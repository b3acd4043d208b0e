//! What a client on a way of its own waits for and hears unasked: services that start, lists that change.

use super::{OWNER, Peer};
use crate::mcp::asked::{Asked, Filter};
use crate::mcp::stream::Listener;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tool::Context;

/// How long a hello waits for services that are still starting.
const HELLO: Duration = Duration::from_secs(2);

impl Peer {
    /// Tells what a client without a handshake wants to hear of, until it takes the request back.
    pub(super) async fn listen(&self, cx: Context, id: &RawValue, filter: Filter) {
        let mut watches = Vec::new();
        for uri in filter.resource_subscriptions.iter().take(1000) {
            watches.extend(self.door.gateway.watch(&cx, uri).await.ok());
        }
        let (gateway, cancel) = (self.door.gateway.clone(), cx.cancel.clone());
        let mut listener = Listener::new(gateway, cx, filter, cancel).answering(id);
        while let Some(Some(line)) =
            self.asked_all.run_until_cancelled(listener.next(|_| false, || None)).await
        {
            self.send(line).await;
        }
    }

    /// Waits for services that are still starting, if the request needs them. A call needs only the one that has
    /// its tool.
    pub(super) async fn wait_for_services(&self, asked: &Asked) {
        if *self.is_ready.borrow() || matches!(asked, Asked::Ping) {
            return;
        }
        let mut is_ready = self.is_ready.subscribe();
        if let Asked::Initialize(_) | Asked::Discover = asked {
            // What services say about their use is said once, with the hello; it is not worth a long wait.
            let ready = tokio::time::timeout(HELLO, is_ready.wait_for(|is_ready| *is_ready));
            let _ = self.gone.run_until_cancelled(async { ready.await.is_ok() }).await;
            return;
        }
        let mut changes = self.door.gateway.catalog().changes();
        let cx = self.context();
        let is_there = || match asked {
            Asked::Call(call) => self.door.gateway.route(&cx, &call.name).is_some(),
            _ => false,
        };
        while !is_there() && !*is_ready.borrow_and_update() {
            tokio::select! {
                () = self.gone.cancelled() => return,
                ended = is_ready.changed() => if ended.is_err() { return },
                ended = changes.changed() => if ended.is_err() { return },
            }
        }
    }

    /// Tells a client with a handshake what has changed, once it has said hello. Lists are given after this has begun.
    pub(super) async fn tell_changes(self: Arc<Self>) {
        let mut is_loaded = self.is_loaded.clone();
        let loaded = async {
            let loaded = is_loaded.wait_for(|is_loaded| *is_loaded);
            let _ = tokio::time::timeout(self.options.start_wait, loaded).await;
        };
        if self.gone.run_until_cancelled(loaded).await.is_none() {
            return;
        }
        let (gateway, stopping) = (self.door.gateway.clone(), self.gone.clone());
        let mut listener = Listener::new(gateway, self.context(), Filter::all_lists(), stopping);
        self.is_ready.send_replace(true);
        let log_level = || Some(self.log_level.load(Ordering::Relaxed));
        while let Some(line) = listener.next(|uri| self.watches.has(OWNER, uri), log_level).await {
            if self.agreed().is_some() {
                self.send(line).await;
            }
        }
    }
}
