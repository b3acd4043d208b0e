//! The door over Streamable HTTP: clients with a handshake and without one, on the same address.

pub(super) mod headers;
pub(super) mod response;
mod stream;

pub(super) use headers::Headers;
pub(crate) use stream::get;

use super::batch::Batch;
use super::client::Capabilities;
use super::door_access::DoorAccess;
use super::receive::{Sender, Transport};
use super::received::{Handled, Handshake, Received};
use super::respond::Responses;
use crate::Shared;
use crate::auth::{SignedIn, caller_headers};
use crate::body::{self, BodyError};
use crate::edge::{ClientTrace, RequestId};
use crate::error::Result;
use axum::Extension;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use headers::{SESSION, check_accept, check_origin};
use http::{HeaderValue, StatusCode};
use mcp::session::Session;
use mcp::{RpcError, envelope};
use response::json;
use std::sync::Arc;
use tool::{Context, Door as DoorKind, InstanceId};

/// `POST /mcp`: the tenant's door; `POST /mcp/{api_key}`: an instance's; `POST /servers/{service}/mcp`: a service's.
pub(crate) async fn post(
    State(state): State<Shared>,
    DoorAccess { signed_in, access, instance, service, tool_search }: DoorAccess,
    Extension(RequestId(request_id)): Extension<RequestId>,
    Extension(ClientTrace(trace)): Extension<ClientTrace>,
    mut request: Request,
) -> Result<Response> {
    let headers = Arc::new(std::mem::take(request.headers_mut()));
    check_origin(&state, &headers)?;
    check_accept(&headers, &["application/json", "text/event-stream"])?;
    let body = match body::read(request).await {
        Ok(body) => body,
        Err(BodyError::TooLarge(_)) => {
            let message = too_large(state.options.max_body_bytes);
            let error = envelope::error(None, &RpcError::invalid_request(message));
            return Ok((StatusCode::PAYLOAD_TOO_LARGE, json(error)).into_response());
        }
        Err(unread) => return Err(unread.into()),
    };
    let owner = owner_of(&signed_in, instance.as_ref(), service.as_deref());
    let (SignedIn { tenant, caller, .. }, time) = (signed_in, state.options.call_timeout);
    let cx = Context::for_request(request_id, tenant, caller, DoorKind::Mcp, time);
    let headers_of_caller = caller_headers(headers.clone());
    let cx = Context { trace, headers: headers_of_caller, instance, service, tool_search, ..cx };
    let transport = Transport::Http(Headers { state: &state, headers: &headers });
    let sender = Sender { door: state.door.clone(), cx, access, owner, transport, is_batched: false };
    let responses = match sender.receive(&body) {
        Received::Message(Handled::Request(accepted)) => Responses::One(accepted.respond().await),
        Received::Message(Handled::Initialize(handshake)) => return initialize(&state, handshake),
        Received::Message(Handled::Nothing | Handled::Exit) => {
            return Ok(StatusCode::ACCEPTED.into_response());
        }
        Received::Batch(entries) => Responses::Batch(Batch::new(entries)),
        Received::Refused(refusal) => return Ok(response::refused(&refusal)),
    };
    Ok(response::respond(&state, responses).await)
}

/// What a client is told whose message is too large, on whichever transport.
pub(super) fn too_large(most: usize) -> String {
    format!("the message is too large: at most {most} bytes are taken (--max-body-bytes)")
}

/// Who a session belongs to, and what is kept for its client between two requests.
fn owner_of(signed_in: &SignedIn, instance: Option<&InstanceId>, service: Option<&str>) -> String {
    let instance = instance.map_or("", InstanceId::as_str);
    let (tenant, caller) = (signed_in.tenant.as_str(), signed_in.caller.identity.id());
    [tenant, "/", caller, "/", instance, "/", service.unwrap_or_default()].concat()
}

/// Begins a session, which any replica can open by the token in a header.
fn initialize(state: &Shared, handshake: Handshake) -> Result<Response> {
    let Handshake { id, initialize, cx, owner } = handshake;
    let (version, result) = state.door.initialize(&cx, &initialize);
    let capabilities = Capabilities::kept(&initialize.capabilities);
    let token = state.sessions.seal(&Session { version, owner, capabilities })?;
    let mut response = json(envelope::result(&id, &result));
    if let Ok(token) = HeaderValue::from_str(&token) {
        response.headers_mut().insert(SESSION, token);
    }
    Ok(response)
}
