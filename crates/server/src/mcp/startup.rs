//! Requests that come while services are still starting: what waits for them, and how long.

use super::request::{Request, ServiceRequest};
use gateway::Gateway;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tool::Context;

/// How long a hello waits for services that are still starting.
const HELLO: Duration = Duration::from_secs(2);

/// Whether services have had their time to start.
pub(super) struct Startup {
    /// Lists may be given.
    is_over: watch::Sender<bool>,
}

impl Startup {
    pub(super) fn new() -> Self {
        Self { is_over: watch::Sender::new(false) }
    }

    /// From now on nobody waits.
    pub(super) fn end(&self) {
        self.is_over.send_replace(true);
    }

    /// What services say about their use is said once, with the hello; it is not worth a long wait.
    pub(super) async fn wait_for_hello(&self, gone: &CancellationToken) {
        let mut is_over = self.is_over.subscribe();
        let over = tokio::time::timeout(HELLO, is_over.wait_for(|is_over| *is_over));
        let _ = gone.run_until_cancelled(async { over.await.is_ok() }).await;
    }

    /// Waits for services that are still starting, if the request needs them.
    pub(super) async fn wait(
        &self,
        gateway: &Gateway,
        cx: &Context,
        request: &Request,
        gone: &CancellationToken,
    ) {
        if *self.is_over.borrow() {
            return;
        }
        match request {
            Request::Ping => {}
            Request::Discover => self.wait_for_hello(gone).await,
            request => self.wait_for_route(gateway, cx, request, gone).await,
        }
    }

    /// A call needs only the service that has its tool.
    async fn wait_for_route(
        &self,
        gateway: &Gateway,
        cx: &Context,
        request: &Request,
        gone: &CancellationToken,
    ) {
        let mut is_over = self.is_over.subscribe();
        let mut changes = gateway.catalog().changes();
        let is_there = || match request {
            Request::Service(ServiceRequest::CallTool(call)) => gateway.route(cx, &call.meant()).is_some(),
            _ => false,
        };
        while !is_there() && !*is_over.borrow_and_update() {
            tokio::select! {
                () = gone.cancelled() => return,
                ended = is_over.changed() => if ended.is_err() { return },
                ended = changes.changed() => if ended.is_err() { return },
            }
        }
    }
}
