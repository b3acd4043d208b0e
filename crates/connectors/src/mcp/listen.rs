//! Hearing what a server says unasked, in the way of its era.

use super::client::{ReconnectingClient, Repeat};
use super::session::Session;
use super::watched::Watched;
use mcp::Era;
use mcp::client::About;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tool::{Context, Error, Result};
use tracing::debug;

/// How long a server may take to note a subscription.
const PATIENCE: Duration = Duration::from_secs(10);
/// A stream of notifications is opened anew after that long at the latest.
const STREAM: Duration = Duration::from_secs(24 * 3600);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(60);

/// Subscribes to what is watched, as long as the session lasts. Never ends by itself.
pub(super) async fn listen(client: &ReconnectingClient, session: &Session, watched: &Watched) {
    match session.client.version().era() {
        Era::Legacy => subscribe_again(client, session, watched).await,
        Era::Modern => follow_stream(client, session, watched).await,
    }
    std::future::pending().await
}

/// A new session knows nothing of what the old one had subscribed to.
async fn subscribe_again(client: &ReconnectingClient, session: &Session, watched: &Watched) {
    for uri in watched.all() {
        let cx = client.context(PATIENCE);
        let Some(_turn) = turn(&cx, client, &uri).await else { continue };
        if watched.is_subscribed(&uri) {
            continue;
        }
        match session.client.request(&cx, "resources/subscribe", Some(&of(&uri))).await {
            Ok(_) => watched.subscribed(&uri),
            Err(failure) => {
                debug!(server = client.name(), uri, %failure, "a resource is not watched any more");
            }
        }
    }
}

/// Tells the server that somebody wants to hear of a resource, unless it knows.
pub(super) async fn subscribe(cx: &Context, client: &Arc<ReconnectingClient>, uri: &str) -> Result<()> {
    let Some(_turn) = turn(cx, client, uri).await else {
        return Err(Error::timeout("the server takes too long over what it was asked before"));
    };
    if !client.watched().is_subscribed(uri) {
        let about = About::default();
        client.request(cx, "resources/subscribe", about, Some(&of(uri)), Repeat::Always).await?;
        client.watched().subscribed(uri);
    }
    Ok(())
}

/// Waits until the stream of notifications tells of a resource; a server that does not say so in time may still do it.
pub(super) async fn wait_for_stream(cx: &Context, client: &ReconnectingClient, uri: &str) -> Result<()> {
    let acknowledged = tokio::time::timeout(PATIENCE, client.watched().wait_for_stream(uri));
    let in_time = client.within(cx, acknowledged).await?;
    if in_time.is_err() {
        debug!(server = client.name(), uri, "the server does not say whether it tells of a resource");
    }
    Ok(())
}

/// One at a time tells the server about a resource: a subscription must not be overtaken by the end of the one before.
async fn turn(cx: &Context, client: &ReconnectingClient, uri: &str) -> Option<OwnedSemaphorePermit> {
    let turn = client.watched().turn(uri)?;
    client.within(cx, turn.acquire_owned()).await.ok()?.ok()
}

/// Keeps the one stream of notifications open, with what is watched now.
async fn follow_stream(client: &ReconnectingClient, session: &Session, watched: &Watched) {
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
        let cx = client.context(STREAM);
        let began = tokio::time::Instant::now();
        tokio::select! {
            ended = session.client.request(&cx, "subscriptions/listen", Some(&params)) => {
                if let Err(failure) = ended {
                    debug!(server = client.name(), %failure, "the stream of notifications has ended");
                    watched.stream_is_down();
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
pub(super) async fn tell_roots(client: &ReconnectingClient, session: &Session) {
    if session.client.version().era() == Era::Legacy && session.client.has_asked_for_roots() {
        let cx = client.context(PATIENCE);
        // A server that does not take it has ended, which is seen elsewhere.
        let _ = session.client.notify(&cx, "notifications/roots/list_changed", None).await;
    }
}

/// Tells the server that nobody wants to hear of a resource any more, unless somebody does again.
pub(super) async fn unsubscribe(client: &ReconnectingClient, session: &Session, uri: &str) {
    if session.client.version().era() == Era::Modern {
        return;
    }
    let cx = client.context(PATIENCE);
    let Some(_turn) = turn(&cx, client, uri).await else { return };
    if client.watched().has(uri) || !client.watched().is_subscribed(uri) {
        return;
    }
    // A server that forgets it by itself does no harm.
    let _ = session.client.request(&cx, "resources/unsubscribe", Some(&of(uri))).await;
    client.watched().unsubscribed(uri);
}

fn of(uri: &str) -> String {
    json!({ "uri": uri }).to_string()
}
