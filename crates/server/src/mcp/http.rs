//! The doors over Streamable HTTP: clients with a handshake and without one, on the same address.

use super::asked::{Asked, Filter};
use super::conversation::{Asker, Conversation, Wishes};
use super::headers::{check_accept, check_origin, check_version};
use super::held::Resumed;
use super::instance::Visitor;
use super::program::manner_of;
use super::reply::{self, answered, json, refused};
use super::sessions::Opened;
use super::stream::{Listener, end_of_listening};
use super::{Answered, Door, batch};
use crate::Shared;
use crate::auth::{SignedIn, caller_headers};
use crate::body::{self, Unread};
use crate::edge::{RequestId, TraceId};
use crate::error::{Code, Problem, Result};
use axum::Extension;
use axum::extract::{Request, State};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream;
use http::header::AsHeaderName;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use mcp::envelope::{self, Kind};
use mcp::modern::{Headers, Meta};
use mcp::session::Session;
use mcp::{Era, HeaderParams, Message, RpcError, Version};
use serde_json::value::RawValue;
use std::convert::Infallible;
use std::sync::Arc;
use tool::{Arguments, Context, Door as DoorKind, InstanceId};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Longer declarations of a client's abilities are left out of its session, whose token they fill.
const MAX_CAPABILITIES_BYTES: usize = 1024;

/// A client's request on its way in.
pub(super) struct Visit {
    pub(super) state: Shared,
    pub(super) headers: Arc<HeaderMap>,
    pub(super) cx: Context,
    /// Whose sessions, questions and held requests these are.
    pub(super) owner: String,
}

/// `POST /mcp`: the tenant's door; `POST /mcp/{api_key}`: an instance's; `POST /servers/{service}/mcp`: a service's.
pub(crate) async fn post(
    State(state): State<Shared>,
    Visitor { signed_in, instance, service }: Visitor,
    Extension(RequestId(request_id)): Extension<RequestId>,
    Extension(TraceId(trace_id)): Extension<TraceId>,
    mut request: Request,
) -> Result<Response> {
    let headers = Arc::new(std::mem::take(request.headers_mut()));
    check_origin(&state, &headers)?;
    check_accept(&headers, &["application/json", "text/event-stream"])?;
    let body = match body::read(request).await {
        Ok(body) => body,
        Err(Unread::TooLarge) => return Ok(too_large(state.options.max_body_bytes)),
        Err(unread) => return Err(unread.into()),
    };
    let owner = owner_of(&signed_in, instance.as_ref(), service.as_deref());
    let (SignedIn { tenant, caller, .. }, time) = (signed_in, state.options.call_timeout);
    let cx = Context::for_request(request_id, tenant, caller, DoorKind::Mcp, time);
    let cx = Context { trace_id, headers: caller_headers(headers.clone()), instance, service, ..cx };
    let visit = Visit { state, headers, cx, owner };
    if batch::is_batch(&body) {
        return Ok(batch::answer(visit, &body).await);
    }
    let message = match Message::parse(&body) {
        Ok(message) => message,
        Err(error) => return Ok(refused(StatusCode::BAD_REQUEST, None, &error)),
    };
    let kind = match message.kind() {
        Ok(kind) => kind,
        Err(error) => return Ok(refused(StatusCode::BAD_REQUEST, None, &error)),
    };
    visit.answer(&message, kind).await
}

fn too_large(most: usize) -> Response {
    let message = format!("the message is too large: at most {most} bytes are taken (--max-body-bytes)");
    refused(StatusCode::PAYLOAD_TOO_LARGE, None, &RpcError::invalid_request(message))
}

/// Who a session, a question or a held request belongs to.
fn owner_of(signed_in: &SignedIn, instance: Option<&InstanceId>, service: Option<&str>) -> String {
    let instance = instance.map_or("", InstanceId::as_str);
    let (tenant, caller) = (signed_in.tenant.as_str(), signed_in.caller.identity.id());
    [tenant, "/", caller, "/", instance, "/", service.unwrap_or_default()].concat()
}

impl Visit {
    async fn answer(self, message: &Message<'_>, kind: Kind<'_>) -> Result<Response> {
        let meta = match Meta::of(message.params) {
            Ok(meta) => meta,
            Err(error) if self.is_modern(None) => return Ok(refuse_kind(&kind, &error)),
            // What stands there is not meant for us.
            Err(_) => Meta::default(),
        };
        if let Err(error) = self.check_version(&meta) {
            return Ok(refuse_kind(&kind, &error));
        }
        if self.is_modern(meta.version.as_deref()) {
            return Ok(self.answer_modern(message, &kind, &meta).await);
        }
        self.answer_legacy(message, &kind, &meta).await
    }

    fn header(&self, name: impl AsHeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The version in the header is one that we speak, unless the body has its own to compare it with.
    pub(super) fn check_version(&self, meta: &Meta<'_>) -> Answered<()> {
        check_version(self.header(VERSION), meta.version.as_deref())
    }

    /// The request is one without a handshake, or means to be.
    fn is_modern(&self, version: Option<&str>) -> bool {
        let is_modern = |version: &str| Version::find(version).is_none();
        version.is_some() || self.header(VERSION).is_some_and(is_modern)
    }

    async fn answer_modern(self, message: &Message<'_>, kind: &Kind<'_>, meta: &Meta<'_>) -> Response {
        let Kind::Request { id, method } = kind else { return StatusCode::ACCEPTED.into_response() };
        let told =
            Headers { version: self.header(VERSION), method: self.header(METHOD), name: self.header(NAME) };
        let version = match told.check(meta, method, message.params).and_then(|()| meta.check()) {
            Ok(version) => version,
            Err(error) => return refused(StatusCode::BAD_REQUEST, Some(id), &error),
        };
        tracing::info!(method, tenant = %self.cx.tenant, "mcp {method}");
        match Asked::read(Era::Modern, method, message) {
            Ok(Asked::Listen(filter)) => self.listen(filter, id).await,
            Ok(asked) => match self.check_params(&asked) {
                Ok(()) => {
                    let wishes = Wishes::of(Era::Modern, meta, 0);
                    self.work(version, id, wishes, meta.capabilities, asked, "").await
                }
                Err(error) => refused(StatusCode::BAD_REQUEST, Some(id), &error),
            },
            Err(error) if error.code == -32601 => refused(StatusCode::NOT_FOUND, Some(id), &error),
            Err(error) => answered(id, Err(error)),
        }
    }

    /// Arguments that the tool's schema wants in headers must stand there as well.
    fn check_params(&self, asked: &Asked) -> Answered<()> {
        let Asked::Call(call) = asked else { return Ok(()) };
        let Some(route) = self.state.gateway.route(&self.cx, &call.name) else { return Ok(()) };
        let params = HeaderParams::of(route.tool.input_schema()).unwrap_or_default();
        if params.is_empty() {
            return Ok(());
        }
        let arguments = call.arguments.clone().map(Arguments::from_raw).transpose().ok().flatten();
        let arguments = arguments.unwrap_or_default();
        let Ok(arguments) = arguments.as_value() else { return Ok(()) };
        params.check(arguments, |name| self.header(name))
    }

    async fn answer_legacy(
        self,
        message: &Message<'_>,
        kind: &Kind<'_>,
        meta: &Meta<'_>,
    ) -> Result<Response> {
        if let Kind::Request { id, method: "initialize" } = kind {
            return self.initialize(message, id);
        }
        let (opened, token) = match self.session() {
            Ok(opened) => opened,
            Err((status, error)) => return Ok(refuse_kind_with(status, kind, &error)),
        };
        match kind {
            Kind::Request { id, method } => {
                tracing::info!(method, tenant = %self.cx.tenant, "mcp {method}");
                let asked = match Asked::read(Era::Legacy, method, message) {
                    Ok(asked) => asked,
                    Err(error) => return Ok(answered(id, Err(error))),
                };
                if let Asked::SetLevel(level) = asked {
                    opened.set_log_level(level);
                }
                let Session { version, capabilities, .. } = &opened.session;
                let wishes = Wishes::of(Era::Legacy, meta, opened.log_level());
                Ok(self.work(*version, id, wishes, capabilities.as_deref(), asked, &token).await)
            }
            Kind::Notification { method } => {
                if *method == "notifications/cancelled" {
                    self.state.memory.flights.cancel(&token, message);
                }
                Ok(StatusCode::ACCEPTED.into_response())
            }
            Kind::Reply { id } => {
                self.state.memory.questions.answer(&self.owner, id, message);
                Ok(StatusCode::ACCEPTED.into_response())
            }
        }
    }

    /// Works on a request of any era.
    async fn work(
        mut self,
        version: Version,
        id: &RawValue,
        wishes: Wishes,
        capabilities: Option<&RawValue>,
        mut asked: Asked,
        session: &str,
    ) -> Response {
        self.cx.manner = manner_of(version);
        let door = Door { gateway: self.state.gateway.clone() };
        if let Some(answer) = door.answer_now(&self.cx, version.era(), &asked) {
            return answered(id, answer);
        }
        if let Some(answer) = self.watch(&asked, session).await {
            return answered(id, answer);
        }
        let Self { state, cx, owner, .. } = self;
        let (subject, memory) = (asked.subject(), &state.memory);
        let flight = memory.flights.begin(session, id, &cx.cancel);
        let resumed = asked.extras_mut().and_then(|extras| memory.held.resume(&owner, &subject, extras));
        let talk = match resumed {
            Some(Resumed::Again(result)) => return answered(id, Ok(result)),
            Some(Resumed::Refused(error)) => return answered(id, Err(error)),
            Some(Resumed::Goes(talk)) => *talk,
            None => {
                let asker = Asker {
                    version,
                    owner: &owner,
                    capabilities,
                    questions: &memory.questions,
                    wishes,
                    is_cancelled_when_gone: version.era() == Era::Modern,
                };
                Conversation::begin(&door, &state.calls, cx, asker, asked, subject)
            }
        };
        reply::reply(state, owner, id, talk, flight).await
    }

    /// Watches a resource for a session, or stops; `None` for other requests.
    async fn watch(&self, asked: &Asked, session: &str) -> Option<Answered<String>> {
        let watches = &self.state.memory.watches;
        match asked {
            Asked::Watch(uri) => Some(match self.state.gateway.watch(&self.cx, uri).await {
                Ok(watch) => watches.add(session, uri.clone(), watch).map(|()| "{}".to_owned()),
                Err(error) => Err(RpcError::invalid_params(error.in_words())),
            }),
            Asked::Unwatch(uri) => {
                watches.remove(session, uri);
                Some(Ok("{}".to_owned()))
            }
            _ => None,
        }
    }

    fn initialize(self, message: &Message<'_>, id: &RawValue) -> Result<Response> {
        let asked = match message.params() {
            Ok(asked) => asked,
            Err(error) => return Ok(answered(id, Err(error))),
        };
        let door = Door { gateway: self.state.gateway.clone() };
        let (version, result) = door.initialize(&self.cx, &asked);
        let capabilities = serde_json::value::to_raw_value(&asked.capabilities).ok();
        let capabilities = capabilities.filter(|text| text.get().len() <= MAX_CAPABILITIES_BYTES);
        let session = Session { version, owner: self.owner, capabilities };
        let token = self.state.sessions.seal(&session)?;
        let mut response = json(envelope::result(id, &result));
        if let Ok(token) = HeaderValue::from_str(&token) {
            response.headers_mut().insert(SESSION, token);
        }
        Ok(response)
    }

    /// The session a request belongs to: sealed by us or another replica, for this caller.
    pub(super) fn session(&self) -> std::result::Result<(Arc<Opened>, String), (StatusCode, RpcError)> {
        let Some(token) = self.header(SESSION) else {
            let message = "Mcp-Session-Id is missing; begin with 'initialize'";
            return Err((StatusCode::BAD_REQUEST, RpcError::invalid_request(message)));
        };
        let session = self.state.sessions.open(token).filter(|opened| opened.session.owner == self.owner);
        let unknown = RpcError::new(-32001, "Session not found; begin with 'initialize'");
        session.map(|session| (session, token.to_owned())).ok_or((StatusCode::NOT_FOUND, unknown))
    }

    /// A stream of notifications as the answer to a request.
    async fn listen(self, filter: Filter, id: &RawValue) -> Response {
        const MAX_RESOURCES: usize = 1000;
        if filter.resource_subscriptions.len() > MAX_RESOURCES {
            let message = format!("Invalid params: at most {MAX_RESOURCES} resources can be watched");
            return answered(id, Err(RpcError::invalid_params(message)));
        }
        let mut watches = Vec::new();
        let mut filter = filter;
        let mut watched = Vec::new();
        for uri in std::mem::take(&mut filter.resource_subscriptions) {
            // One that is not there is not acknowledged.
            if let Ok(watch) = self.state.gateway.watch(&self.cx, &uri).await {
                watches.push(watch);
                watched.push(uri);
            }
        }
        filter.resource_subscriptions = watched;
        let Ok(place) = self.state.streams.clone().try_acquire_owned() else {
            return answered(id, Err(RpcError::new(-32603, "too many streams are open; try again later")));
        };
        let stopping = self.state.stopping.clone();
        let listener = Listener::new(self.state.gateway.clone(), self.cx, filter, stopping).answering(id);
        let end = end_of_listening(id);
        notifications(listener, (watches, place), |_| false, || None, Some(end))
    }
}

/// `GET /mcp`: the stream of notifications of a session.
pub(crate) async fn get(
    State(state): State<Shared>,
    Visitor { signed_in, instance, service }: Visitor,
    headers: HeaderMap,
) -> Result<Response> {
    check_origin(&state, &headers)?;
    let owner = owner_of(&signed_in, instance.as_ref(), service.as_deref());
    let cx = Context::new(signed_in.tenant, signed_in.caller, DoorKind::Mcp, state.options.call_timeout);
    let cx = Context { instance, service, ..cx };
    let visit = Visit { state, headers: Arc::new(headers), cx, owner };
    if let Err(error) = visit.check_version(&Meta::default()) {
        return Ok(refused(StatusCode::BAD_REQUEST, None, &error));
    }
    if visit.is_modern(None) {
        let problem = Problem::bad_request("streams are opened with 'subscriptions/listen' in this version");
        return Err(problem.with_status(StatusCode::METHOD_NOT_ALLOWED));
    }
    check_accept(&visit.headers, &["text/event-stream"])?;
    let (opened, token) = match visit.session() {
        Ok(opened) => opened,
        Err((status, error)) => return Ok(refused(status, None, &error)),
    };
    let place = visit.state.streams.clone().try_acquire_owned();
    let place =
        place.map_err(|_| Problem::new(Code::Unavailable, "too many streams are open; try again later"))?;
    let state = visit.state;
    let stopping = state.stopping.clone();
    let listener = Listener::new(state.gateway.clone(), visit.cx, Filter::all_lists(), stopping);
    let is_watched = move |uri: &str| state.memory.watches.has(&token, uri);
    Ok(notifications(listener, place, is_watched, move || Some(opened.log_level()), None))
}

/// A stream of notifications, until the client goes or the server stops; `kept` is dropped with it.
fn notifications<K: Send + 'static>(
    listener: Listener,
    kept: K,
    is_watched: impl Fn(&str) -> bool + Send + Sync + 'static,
    log_level: impl Fn() -> Option<usize> + Send + Sync + 'static,
    end: Option<String>,
) -> Response {
    let state = (listener, kept, (is_watched, log_level), end);
    let lines = stream::unfold(state, async |(mut listener, kept, wishes, mut end)| {
        let line = match listener.next(&wishes.0, &wishes.1).await {
            Some(line) => line,
            None => end.take()?,
        };
        Some((Ok::<_, Infallible>(reply::event(line)), (listener, kept, wishes, end)))
    });
    Sse::new(lines).keep_alive(KeepAlive::new().interval(reply::KEEP_ALIVE)).into_response()
}

fn refuse_kind(kind: &Kind<'_>, error: &RpcError) -> Response {
    refuse_kind_with(StatusCode::BAD_REQUEST, kind, error)
}

fn refuse_kind_with(status: StatusCode, kind: &Kind<'_>, error: &RpcError) -> Response {
    match kind {
        Kind::Request { id, .. } => refused(status, Some(id), error),
        Kind::Notification { .. } | Kind::Reply { .. } => refused(status, None, error),
    }
}
