//! Streams that a browser's session opened: they end with it, on whichever replica it was signed out.

use super::token::Purpose;
use super::{Auth, BrowserSession};
use crate::Shared;
use axum::body::Body;
use axum::response::Response;
use futures::StreamExt as _;
use http::header::CONTENT_TYPE;
use std::time::Duration;

/// How often a stream looks whether another replica has signed its session out: as often as it says that it is alive.
const LOOK: Duration = Duration::from_secs(15);

/// Ends the response, where it is a stream of events, when the session of this token ends.
pub(super) fn until_ended(
    state: Shared,
    session: BrowserSession,
    token: String,
    response: Response,
) -> Response {
    let kind = response.headers().get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
    if !kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let rest = body.into_data_stream().take_until(ended(state, session, token));
    Response::from_parts(parts, Body::from_stream(rest))
}

/// Waits until the session was signed out, has run out, or its key or user may not come in any more.
async fn ended(state: Shared, session: BrowserSession, token: String) {
    let (mut accounts, mut sign_outs) = (state.auth.changes.subscribe(), state.auth.sign_outs.subscribe());
    loop {
        let must_ask = tokio::select! {
            _ = accounts.changed() => false,
            _ = sign_outs.changed() => true,
            () = tokio::time::sleep(LOOK) => true,
        };
        // A store that does not answer signs nobody out: what is asked for anew meets it, too.
        if state.auth.browser(Purpose::Session, &token).is_none()
            || must_ask && session.was_ended(&state).await.unwrap_or_default()
        {
            return;
        }
    }
}

impl Auth {
    /// Wakes the streams of this process: a session has just been signed out.
    pub(super) fn tell_signed_out(&self) {
        self.sign_outs.send_modify(|count| *count += 1);
    }
}
