//! The stream that a client opens with GET, to be told of what it did not ask for.

use super::LIST_CHANGED;
use crate::Shared;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tool::Context;

/// Often enough for the proxies on the way.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A stream of notifications, until the client goes or the server stops.
pub(super) fn open(state: Shared, cx: Context, place: OwnedSemaphorePermit) -> Response {
    let told = state.gateway.fingerprint(&cx);
    let swaps = state.gateway.catalog().changes();
    let listener = Listener { state, cx, swaps, told, _place: place };
    let notifications = stream::unfold(listener, async |mut listener| {
        listener.next_change().await?;
        Some((Ok::<_, Infallible>(Event::default().event("message").data(LIST_CHANGED)), listener))
    });
    Sse::new(notifications).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}

struct Listener {
    state: Shared,
    cx: Context,
    swaps: watch::Receiver<u64>,
    /// The list as the client knows it.
    told: u64,
    /// One of the streams there may be; free again when the client goes.
    _place: OwnedSemaphorePermit,
}

impl Listener {
    /// Waits until the caller's list is another; `None` when the server stops.
    async fn next_change(&mut self) -> Option<()> {
        loop {
            tokio::select! {
                () = self.state.stopping.cancelled() => return None,
                changed = self.swaps.changed() => changed.ok()?,
            }
            let now = self.state.gateway.fingerprint(&self.cx);
            if std::mem::replace(&mut self.told, now) != now {
                return Some(());
            }
        }
    }
}
