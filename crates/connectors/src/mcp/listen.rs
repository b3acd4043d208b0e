//! Hearing what a server says unasked, in the way of its era.

use super::client::Link;
use super::library::Watched;
use super::session::Session;
use mcp::Era;
use serde_json::json;
use std::time::Duration;
use tokio::sync::watch;
use tracing::debug;

/// How long a server may take to note a subscription.
const PATIENCE: Duration = Duration::from_secs(10);
/// A stream of notifications is opened anew after that long at the latest.
const STREAM: Duration = Duration::from_secs(24 * 3600);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(60);

/// Subscribes to what is watched, as long as the session lasts. Never ends by itself.
pub(super) async fn listen(link: &Link, session: &Session, watched: &Watched) {
    match session.client.version().era() {
        Era::Legacy => subscribe_again(link, session, watched).await,
        Era::Modern => follow_stream(link, session, watched).await,
    }
    std::future::pending().await
}

/// A new session knows nothing of what the old one had subscribed to.
async fn subscribe_again(link: &Link, session: &Session, watched: &Watched) {
    for uri in watched.all() {
        let cx = link.context(PATIENCE);
        if let Err(failure) = session.client.request(&cx, "resources/subscribe", Some(&of(&uri))).await {
            debug!(server = link.name(), uri, %failure, "a resource is not watched any more");
        }
    }
}

/// Keeps the one stream of notifications open, with what is watched now.
async fn follow_stream(link: &Link, session: &Session, watched: &Watched) {
    let mut changes = watched.changes();
    let mut pause = FIRST_PAUSE;
    loop {
        changes.mark_unchanged();
        let filter = json!({ "notifications": {
            "toolsListChanged": true,
            "promptsListChanged": true,
            "resourcesListChanged": true,
            "resourceSubscriptions": watched.all(),
        } });
        let params = filter.to_string();
        let cx = link.context(STREAM);
        let began = tokio::time::Instant::now();
        tokio::select! {
            ended = session.client.request(&cx, "subscriptions/listen", Some(&params)) => {
                if let Err(failure) = ended {
                    debug!(server = link.name(), %failure, "the stream of notifications has ended");
                    if matches!(failure, mcp::client::Failure::Rpc(_)) {
                        // It has none, and need not have one.
                        return;
                    }
                }
            }
            Ok(()) = changes.changed() => continue,
        }
        pause = if began.elapsed() > LAST_PAUSE { FIRST_PAUSE } else { (pause * 2).min(LAST_PAUSE) };
        tokio::time::sleep(pause).await;
    }
}

/// Waits until the client's roots are others; for ever where there is no such client.
pub(super) async fn next_roots(roots: &mut Option<watch::Receiver<u64>>) {
    if let Some(changes) = roots {
        if changes.changed().await.is_ok() {
            return;
        }
        *roots = None;
    }
    std::future::pending().await
}

/// A server that has asked for the client's roots asks again when they are others.
pub(super) async fn tell_roots(link: &Link, session: &Session) {
    if session.client.version().era() == Era::Legacy && session.client.has_asked_for_roots() {
        let cx = link.context(PATIENCE);
        // A server that does not take it has ended, which is seen elsewhere.
        let _ = session.client.notify(&cx, "notifications/roots/list_changed", None).await;
    }
}

pub(super) async fn unsubscribe(link: &Link, session: &Session, uri: &str) {
    if session.client.version().era() == Era::Legacy {
        let cx = link.context(PATIENCE);
        // A server that forgets it by itself does no harm.
        let _ = session.client.request(&cx, "resources/unsubscribe", Some(&of(uri))).await;
    }
}

fn of(uri: &str) -> String {
    json!({ "uri": uri }).to_string()
}
