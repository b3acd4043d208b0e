//! For those who run us: alive, ready, and in numbers.

use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::keyless::{check_host, check_origin};
use crate::{MAX_STREAMS, Shared};
use axum::Json;
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::response::IntoResponse;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::{Value, json};
use std::net::SocketAddr;

/// The process runs.
pub(crate) async fn alive() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// The process can serve: its database answers. Calls already configured go on without it.
pub(crate) async fn ready(State(state): State<Shared>) -> Result<Json<Value>> {
    if state.is_stopping() {
        return Err(Problem::new(Code::Unavailable, "the server is shutting down"));
    }
    store::within(state.options.store_timeout, state.store.ping()).await?;
    Ok(Json(json!({ "status": "ready" })))
}

/// Numbers for Prometheus. They name tenants and services, so that only programs on this machine need no admin key.
pub(crate) async fn metrics(State(state): State<Shared>, request: Request) -> Result<impl IntoResponse> {
    let (mut parts, _) = request.into_parts();
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    let is_near = peer.is_some_and(|ConnectInfo(peer)| peer.ip().is_loopback());
    let checked = check_origin(&state, &parts.headers).and_then(|()| check_host(&state, &parts));
    let has_key = parts.headers.contains_key(AUTHORIZATION) || parts.headers.contains_key("x-api-key");
    if is_near && !has_key {
        checked?;
    } else if !is_near || checked.is_err() {
        SignedIn::from_request_parts(&mut parts, &state).await?.may_administer()?;
    }
    // A number that only grows is a leak.
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (open, most, refused) = state.connections.numbers();
    let streams = MAX_STREAMS - state.streams.available_permits();
    let mut text = state.metrics.render() + &state.gateway.service_metrics();
    for (name, kind, value) in [
        ("alive_tasks", "gauge", tasks as u64),
        ("connections", "gauge", open as u64),
        ("connections_max", "gauge", most as u64),
        ("connections_refused_total", "counter", refused),
        ("listening_streams", "gauge", streams as u64),
    ] {
        text += &format!("# TYPE mcp_all_in_one_{name} {kind}\nmcp_all_in_one_{name} {value}\n");
    }
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4")], text))
}
