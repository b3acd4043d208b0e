//! An MCP server over Streamable HTTP that can be told to fail in every way a real one may.

use super::wide::Wide;
use super::{answer, complete, initialized, reply};
use crate::oauth::Guard;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How a server behaves.
#[derive(Debug, Clone, Default)]
pub struct Behaviour {
    /// `Authorization` or `X-API-Key` must be this, else 401.
    pub key: Option<String>,
    /// Wants a token of somebody who hands out such.
    pub guard: Option<Guard>,
    /// Answers with a stream of events instead of JSON.
    pub is_streaming: bool,
    /// Speaks 2026-07-28 and nothing else.
    pub is_modern: bool,
    /// Speaks this version with a handshake, whatever is offered.
    pub version: Option<&'static str>,
    /// Answers every POST with this status.
    pub status: Option<u16>,
    /// Answers every POST with a redirect to there.
    pub redirect: Option<String>,
    /// Answers calls with this body instead of a message.
    pub garbage: Option<String>,
    /// Ends the stream of a call before its answer, which is to be fetched with a GET.
    pub is_resuming: bool,
    /// Where a stream of the older kind sends the messages to.
    pub endpoint: Option<String>,
    /// What is said unasked on the stream that a GET opens.
    pub told: Option<String>,
    /// Offers these tools instead of the usual ones.
    pub tools: Option<Vec<Value>>,
    /// Is a [`Wide`] server, with this between the words of what it says.
    pub wide: Option<&'static str>,
}

/// A running server; it stops when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    behaviour: Behaviour,
    sessions: HashSet<String>,
    next_session: usize,
    /// The answer that waits for the one who takes up its stream.
    kept: Option<String>,
    seen: Vec<String>,
}

impl Server {
    /// Starts on a free port.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(Mutex::new(State { behaviour, ..State::default() }));
        let task = tokio::spawn(accept(listener, state.clone()));
        Self { address, state, task }
    }

    /// Where the server listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Behaves differently from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        lock(&self.state).behaviour = behaviour;
    }

    /// As after a restart: no session is known any more.
    pub fn forget_sessions(&self) {
        lock(&self.state).sessions.clear();
    }

    /// How many sessions are open.
    #[must_use]
    pub fn sessions(&self) -> usize {
        lock(&self.state).sessions.len()
    }

    /// The HTTP and MCP methods of what came, e.g. `POST tools/call`, and `GONE tools/call` when the
    /// client hung up before its answer.
    #[must_use]
    pub fn seen(&self) -> Vec<String> {
        lock(&self.state).seen.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request| serve(request, state.clone()));
            // A client that goes away is none of our business.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

type Answer = Response<Full<Bytes>>;

/// Notes a request whose client did not wait for the answer: hyper drops its future then.
struct Waiting {
    state: Arc<Mutex<State>>,
    method: String,
    is_answered: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if !self.is_answered {
            lock(&self.state).seen.push(format!("GONE {}", self.method));
        }
    }
}

async fn serve(request: Request<Incoming>, state: Arc<Mutex<State>>) -> Result<Answer, hyper::Error> {
    let (head, body) = request.into_parts();
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = body.collect().await?.to_bytes();
    let line = String::from_utf8_lossy(&body).into_owned();
    let message: Value = serde_json::from_str(&line).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let behaviour = {
        let mut state = lock(&state);
        state.seen.push(format!("{} {method}", head.method).trim_end().to_owned());
        state.behaviour.clone()
    };
    if let Some(refusal) = refuse(&state, &behaviour, &message, &header) {
        return Ok(refusal);
    }
    let session = header("mcp-session-id");
    match head.method {
        Method::DELETE => {
            lock(&state).sessions.remove(&session.unwrap_or_default());
            return Ok(plain(StatusCode::NO_CONTENT, ""));
        }
        Method::GET => return Ok(stream(&state, &behaviour, header("last-event-id").as_deref())),
        Method::POST => {}
        _ => return Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "")),
    }
    let mut waiting = Waiting { state: state.clone(), method: method.clone(), is_answered: false };
    wait(&message).await;
    waiting.is_answered = true;
    if let Some(space) = behaviour.wide {
        return Ok(wide(&line, space, behaviour.is_streaming));
    }
    if behaviour.is_modern {
        return Ok(modern(&message, &line, &method, &header));
    }
    let mut opened = None;
    if method == "initialize" {
        opened = Some(open_session(&state));
    } else if !session.is_some_and(|session| lock(&state).sessions.contains(&session)) {
        return Ok(plain(StatusCode::NOT_FOUND, "no such session"));
    } else if header("mcp-protocol-version").is_none() {
        return Ok(plain(StatusCode::BAD_REQUEST, "no version"));
    }
    if message["id"].is_null() {
        return Ok(plain(StatusCode::ACCEPTED, ""));
    }
    if let Some(garbage) = behaviour.garbage.as_ref().filter(|_| method == "tools/call") {
        return Ok(typed(StatusCode::OK, "application/json", garbage.clone()));
    }
    wait(&message).await;
    let mut response = respond(&state, &behaviour, &message, &line);
    if let Some(id) = opened {
        response.headers_mut().insert("mcp-session-id", id.parse().expect("a header value"));
    }
    Ok(response)
}

/// What keeps a request from being looked at: its sender, or how the server is to behave.
fn refuse(
    state: &Mutex<State>,
    behaviour: &Behaviour,
    message: &Value,
    header: &dyn Fn(&str) -> Option<String>,
) -> Option<Answer> {
    if let Some(key) = &behaviour.key
        && header("authorization").as_ref() != Some(key)
        && header("x-api-key").as_ref() != Some(key)
    {
        return Some(plain(StatusCode::UNAUTHORIZED, "who are you?"));
    }
    if let Some(guard) = &behaviour.guard
        && let Err((status, challenge)) =
            guard.check(header("host").as_deref(), header("authorization").as_deref(), message)
    {
        lock(state).seen.push(status.as_u16().to_string());
        let mut response = plain(status, "who are you?");
        response.headers_mut().insert("www-authenticate", challenge.parse().expect("a header value"));
        return Some(response);
    }
    if let Some(status) = behaviour.status {
        return Some(plain(StatusCode::from_u16(status).expect("a status"), "no"));
    }
    let mut response = plain(StatusCode::TEMPORARY_REDIRECT, "");
    let target = behaviour.redirect.as_ref()?.parse().expect("a header value");
    response.headers_mut().insert("location", target);
    Some(response)
}

fn open_session(state: &Mutex<State>) -> String {
    let mut state = lock(state);
    state.next_session += 1;
    let id = format!("session-{}", state.next_session);
    state.sessions.insert(id.clone());
    id
}

/// The answer to a request, as JSON or in a stream of events.
fn respond(state: &Mutex<State>, behaviour: &Behaviour, message: &Value, line: &str) -> Answer {
    let method = message["method"].as_str().unwrap_or_default();
    let result = match (&behaviour.tools, behaviour.version) {
        (Some(tools), _) if method == "tools/list" => Ok(json!({ "tools": tools }).to_string()),
        (_, Some(version)) if method == "initialize" => Ok(initialized(message, Some(version))),
        _ => answer(message, line),
    };
    let text = reply(&message["id"], &result);
    if behaviour.is_resuming && method == "tools/call" {
        lock(state).kept = Some(text);
        return typed(StatusCode::OK, "text/event-stream", "retry: 50\nid: e1\ndata:\n\n".to_owned());
    }
    if !behaviour.is_streaming {
        return typed(StatusCode::OK, "application/json", text);
    }
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
    typed(StatusCode::OK, "text/event-stream", format!("data: {note}\n\nevent: message\ndata: {text}\n\n"))
}

/// What a GET opens: the rest of a stream that was ended early, or what is said unasked.
fn stream(state: &Mutex<State>, behaviour: &Behaviour, last_event: Option<&str>) -> Answer {
    if let Some(endpoint) = &behaviour.endpoint {
        let text = format!("event: endpoint\ndata: {endpoint}\n\n");
        return typed(StatusCode::OK, "text/event-stream", text);
    }
    let text = match last_event {
        Some("e1") => lock(state).kept.take(),
        Some(_) => None,
        None => behaviour.told.clone(),
    };
    match text {
        Some(text) => {
            typed(StatusCode::OK, "text/event-stream", format!("retry: 60000\nid: e2\ndata: {text}\n\n"))
        }
        None => plain(StatusCode::METHOD_NOT_ALLOWED, ""),
    }
}

/// What a wide server says to a message: JSON if it is one thing and streams are not asked for, else events.
fn wide(line: &str, space: &str, is_streaming: bool) -> Answer {
    let said = Wide::new(space).take(line);
    match said.as_slice() {
        [] => plain(StatusCode::ACCEPTED, ""),
        [one] if !is_streaming => typed(StatusCode::OK, "application/json", one.clone()),
        several => {
            let several: String = several.iter().map(|message| event(message)).collect();
            typed(StatusCode::OK, "text/event-stream", several)
        }
    }
}

/// A message as an event; every line of it is a field of its own.
fn event(message: &str) -> String {
    let lines = message.replace("\r\n", "\n").replace('\r', "\n");
    let lines: String = lines.split('\n').map(|line| format!("data: {line}\n")).collect();
    lines + "\n"
}

/// The header rules of 2026-07-28, and no handshake.
fn modern(message: &Value, line: &str, method: &str, header: &dyn Fn(&str) -> Option<String>) -> Answer {
    let id = &message["id"];
    let refuse = |status, code: i32, why: &str| {
        let error = json!({ "code": code, "message": why, "data": { "supported": ["2026-07-28"] } });
        typed(status, "application/json", reply(id, &Err(error.to_string())))
    };
    if method == "initialize" {
        return refuse(StatusCode::NOT_FOUND, -32601, "no method initialize");
    }
    let meta = &message["params"]["_meta"];
    if meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28"
        || !meta["io.modelcontextprotocol/clientCapabilities"].is_object()
    {
        return refuse(StatusCode::BAD_REQUEST, -32602, "no version in _meta");
    }
    let name = message["params"]["name"].as_str().map(str::to_owned);
    let is_told = header("mcp-protocol-version").as_deref() == Some("2026-07-28")
        && header("mcp-method").as_deref() == Some(method)
        && (method != "tools/call" || header("mcp-name") == name);
    if !is_told {
        return refuse(StatusCode::BAD_REQUEST, -32020, "headers and body differ");
    }
    let result = match method {
        "server/discover" => Ok(json!({
            "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} }
        })
        .to_string()),
        "ping" => Err(r#"{"code":-32601,"message":"no ping"}"#.to_owned()),
        _ => answer(message, line),
    };
    let result = result.map(|result| complete(method, &result));
    typed(StatusCode::OK, "application/json", reply(id, &result))
}

async fn wait(message: &Value) {
    if message["params"]["name"] == "slow" {
        let pause = message["params"]["arguments"]["ms"].as_u64().unwrap_or(8_000);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
}

fn plain(status: StatusCode, text: &str) -> Answer {
    typed(status, "text/plain", text.to_owned())
}

fn typed(status: StatusCode, content_type: &'static str, text: String) -> Answer {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static(content_type));
    response
}
