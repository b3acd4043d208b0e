//! `GET` at the MCP door: notifications of a session that belong to none of its requests.

use super::headers::{Headers, check_accept, check_origin};
use super::{owner_of, response};
use crate::Shared;
use crate::error::{Problem, Result};
use crate::mcp::door_access::DoorAccess;
use crate::mcp::notifications::Listener;
use crate::mcp::request::Filter;
use axum::extract::State;
use axum::response::Response;
use futures::stream;
use http::{HeaderMap, StatusCode};
use mcp::modern::Meta;
use tool::{Context, Door as DoorKind};

/// `GET /mcp`: until the client goes, its key ends, or the server stops.
pub(crate) async fn get(
    State(state): State<Shared>,
    DoorAccess { signed_in, access, instance, service, tool_search }: DoorAccess,
    headers: HeaderMap,
) -> Result<Response> {
    check_origin(&state, &headers)?;
    let owner = owner_of(&signed_in, instance.as_ref(), service.as_deref());
    let told = Headers { state: &state, headers: &headers };
    if let Err(error) = told.check_version(&Meta::default()) {
        return Ok(response::refused(&error.into()));
    }
    if told.are_modern(None) {
        let problem = Problem::bad_request("streams are opened with 'subscriptions/listen' in this version");
        return Err(problem.with_status(StatusCode::METHOD_NOT_ALLOWED));
    }
    check_accept(&headers, &["text/event-stream"])?;
    let session = match told.session(&owner) {
        Ok(session) => session,
        Err(refusal) => return Ok(response::refused(&refusal)),
    };
    let place = state.stream_place()?;
    let cx = Context::new(signed_in.tenant, signed_in.caller, DoorKind::Mcp, state.options.call_timeout);
    let cx = Context { instance, service, tool_search, ..cx };
    let door = state.door.clone();
    let (gateway, closing) = (door.gateway.clone(), door.closing.clone());
    let listener = Listener::new(gateway, cx, Filter::all_lists(), closing, &access);
    let messages = stream::unfold((listener, place), move |(mut listener, place)| {
        let (door, session) = (door.clone(), session.clone());
        async move {
            let is_watched = |uri: &str| door.subscriptions.has(&session.token, uri);
            let message = listener.next(is_watched, || Some(session.log_level())).await?;
            Some((message, (listener, place)))
        }
    });
    Ok(response::events(messages))
}
