//! The door of 2024-11-05: a stream of events for what goes out, POSTs for what comes in.
//!
//! Off unless asked for: its sessions live on one replica, and later versions do without.

use super::connection::{Connection, Identity};
use super::door_access::DoorAccess;
use super::http::headers::check_origin;
use super::http::response::{event, keep_alive};
use super::http::too_large;
use crate::Shared;
use crate::auth::SignedIn;
use crate::body::{self, BodyError};
use crate::error::{Code, Problem, Result};
use axum::extract::{Query, Request, State};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// The clients whose streams are open, by the name of their session.
#[derive(Default)]
pub(crate) struct SseConnections(papaya::HashMap<String, Entry>);

struct Entry {
    owner: String,
    connection: Arc<Connection>,
}

impl SseConnections {
    /// The connection of a session, for whom it belongs to.
    fn find(&self, session: &str, owner: &str) -> Option<Arc<Connection>> {
        let connections = self.0.pin();
        let entry = connections.get(session).filter(|entry| entry.owner == owner);
        entry.map(|entry| entry.connection.clone())
    }
}

#[derive(Deserialize)]
pub(crate) struct MessageQuery {
    session: String,
}

/// `GET /sse` and `GET /servers/{service}/sse`: opens a session; its first event says where messages go.
pub(crate) async fn get(
    State(state): State<Shared>,
    door_access: DoorAccess,
    headers: HeaderMap,
) -> Result<Response> {
    check_origin(&state, &headers)?;
    let place = state.stream_place()?;
    let owner = owner_of(&door_access.signed_in);
    let (connection, rx) = Connection::over_http(&state, Identity::of(door_access, headers));
    let session = uuid::Uuid::new_v4().simple().to_string();
    let entry = Entry { owner, connection: connection.clone() };
    state.sse_connections.0.pin().insert(session.clone(), entry);
    let endpoint = Event::default()
        .event("endpoint")
        .data(format!("{}/messages?session={session}", state.options.base_path));
    let open = Open { state, session, connection, rx, _place: place };
    let lines = stream::unfold(open, async |mut open| {
        let line = open.next().await?;
        Some((event(line), open))
    });
    let lines = stream::iter([endpoint]).chain(lines).map(Ok::<_, Infallible>);
    Ok(Sse::new(lines).keep_alive(keep_alive()).into_response())
}

/// `POST /messages`: a message of a session; what it leads to comes on the stream.
pub(crate) async fn post(
    State(state): State<Shared>,
    DoorAccess { signed_in, .. }: DoorAccess,
    Query(MessageQuery { session }): Query<MessageQuery>,
    request: Request,
) -> Result<Response> {
    check_origin(&state, request.headers())?;
    let connection = state.sse_connections.find(&session, &owner_of(&signed_in));
    let connection =
        connection.ok_or_else(|| Problem::new(Code::NotFound, "there is no such session; open /sse anew"))?;
    let body = body::read(request).await.map_err(|error| match error {
        BodyError::TooLarge(_) => {
            let detail = too_large(state.options.max_body_bytes);
            Problem::bad_request(detail).with_status(StatusCode::PAYLOAD_TOO_LARGE)
        }
        other => other.into(),
    })?;
    // `exit` is for processes; here the client closes its stream.
    connection.receive(body.to_vec()).await;
    Ok((StatusCode::ACCEPTED, "Accepted").into_response())
}

fn owner_of(signed_in: &SignedIn) -> String {
    format!("{}/{}", signed_in.tenant, signed_in.caller.identity.id())
}

/// An open stream; the session ends with it.
struct Open {
    state: Shared,
    session: String,
    connection: Arc<Connection>,
    rx: mpsc::Receiver<String>,
    _place: OwnedSemaphorePermit,
}

impl Open {
    async fn next(&mut self) -> Option<String> {
        tokio::select! {
            line = self.rx.recv() => line,
            () = self.state.stopping.cancelled() => None,
            () = self.connection.ended() => None,
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.state.sse_connections.0.pin().remove(&self.session);
        let connection = self.connection.clone();
        self.state.calls.spawn(async move { connection.close().await });
    }
}
