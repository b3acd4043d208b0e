//! Streamable HTTP: a POST for each message, answered with JSON or with a stream of events.

use super::super::failure::Failure;
use super::super::inbox::Inbox;
use super::http_stream::{self, Position, deliver, refusal};
use super::{Outgoing, Owned};
use crate::{Era, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use fetch::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use fetch::http::{Method, StatusCode};
use fetch::{Request, Response, Url};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tracing::debug;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// How long a message may take that nobody waits for.
const POST_TIMEOUT: Duration = Duration::from_secs(10);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Messages under way that nobody waits for; more are dropped.
const POSTS: usize = 64;
/// How often a stream that ends too early is taken up again without getting anywhere.
const RESUMPTIONS: u32 = 5;
/// How long a server may take to open the stream for what it says unasked.
const OPENING: Duration = Duration::from_millis(500);
const RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(30);

/// A server's address, and what every request to it carries.
#[derive(Debug, Clone)]
pub struct Address {
    /// The one URL of the server.
    pub url: Url,
    /// Headers of every request; mark secret values as sensitive.
    pub headers: HeaderMap,
    /// The value of `Authorization`, where it changes while the connection lasts.
    pub authorization: Option<watch::Receiver<Option<HeaderValue>>>,
    /// Decides about names, addresses and certificates.
    pub client: fetch::Client,
}

impl Address {
    /// All headers as they are now.
    pub(super) fn current_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        self.authorize(&mut headers);
        headers
    }

    fn authorize(&self, headers: &mut HeaderMap) {
        if let Some(value) = self.authorization.as_ref().and_then(|value| value.borrow().clone()) {
            headers.insert(AUTHORIZATION, value);
        }
    }
}

pub(in super::super) struct Http {
    endpoint: Arc<Endpoint>,
    listener: Mutex<Option<Owned>>,
}

impl Http {
    pub(super) fn new(address: &Address, inbox: &Arc<Inbox>, limit: usize) -> Self {
        let endpoint = Endpoint {
            address: address.clone(),
            inbox: inbox.clone(),
            limit,
            session: Mutex::default(),
            version: OnceLock::new(),
            settled: OnceLock::new(),
            posts: Posts::default(),
        };
        Self { endpoint: Arc::new(endpoint), listener: Mutex::default() }
    }

    pub(super) async fn send(&self, message: Outgoing<'_>) -> Result<(), Failure> {
        self.endpoint.exchange(message).await
    }

    pub(super) fn post(&self, text: String) {
        self.endpoint.post(text);
    }

    pub(in super::super) fn has_session(&self) -> bool {
        self.endpoint.session().is_some()
    }

    pub(super) fn agree(&self, version: Version) {
        // Agreed once per connection.
        let _ = self.endpoint.version.set(version);
    }

    /// Opens the stream for what the server says unasked. A server need not have one.
    pub(super) async fn listen(&self) {
        if self.endpoint.version.get().is_none_or(|version| version.era() != Era::Legacy) {
            return;
        }
        let (is_open, opened) = oneshot::channel();
        let task = Owned::spawn(self.endpoint.clone().listen(is_open));
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        // What a server says there before the stream is open is lost, so no call overtakes it. A
        // server may answer only when it has something to say.
        let _ = tokio::time::timeout(OPENING, opened).await;
    }

    pub(super) async fn close(&self) {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if self.endpoint.session().is_some() {
            // Servers may refuse that, or be gone; we are leaving anyway.
            let goodbye = self.endpoint.send(Method::DELETE, self.endpoint.headers(), String::new());
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, goodbye).await;
        }
        self.endpoint.inbox.close(&Failure::cut_off("the connection is closed"));
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.endpoint.posts.abort();
    }
}

struct Endpoint {
    address: Address,
    inbox: Arc<Inbox>,
    limit: usize,
    session: Mutex<Option<HeaderValue>>,
    version: OnceLock<Version>,
    /// The headers of every POST, once they are settled.
    settled: OnceLock<HeaderMap>,
    posts: Posts,
}

impl Endpoint {
    fn session(&self) -> MutexGuard<'_, Option<HeaderValue>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What every request carries.
    fn headers(&self) -> HeaderMap {
        let mut headers = self.address.current_headers();
        if let Some(session) = &*self.session() {
            headers.insert(SESSION, session.clone());
        }
        if let Some(version) = self.version.get() {
            headers.insert(VERSION, HeaderValue::from_static(version.as_str()));
        }
        headers
    }

    fn post_headers(&self) -> HeaderMap {
        let is_settled = match self.version.get().map(|version| version.era()) {
            Some(Era::Modern) => true,
            Some(Era::Legacy) => self.session().is_some(),
            None => false,
        };
        if !is_settled {
            return self.new_post_headers();
        }
        let mut headers = self.settled.get_or_init(|| self.new_post_headers()).clone();
        self.address.authorize(&mut headers);
        headers
    }

    fn new_post_headers(&self) -> HeaderMap {
        let mut headers = self.headers();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // An address that cannot be asked is refused when it is.
        let _ = fetch::complete_headers(&mut headers, &self.address.url);
        headers
    }

    async fn send(&self, method: Method, headers: HeaderMap, text: String) -> Result<Response, Failure> {
        let Address { url, client, .. } = &self.address;
        let request = Request { method, url: url.clone(), headers, body: Bytes::from(text) };
        client.send(request).await.map_err(|error| Failure::of_http(&error))
    }

    async fn exchange(self: &Arc<Self>, message: Outgoing<'_>) -> Result<(), Failure> {
        let mut headers = self.post_headers();
        // Before the version is known, the server may be one that wants the method in a header.
        headers.insert(METHOD, header_text(message.method)?);
        if self.version.get().is_some_and(|version| version.era() == Era::Modern) {
            if let Some(name) = message.about.name {
                headers.insert(NAME, header_text(name)?);
            }
            for (name, value) in message.about.params {
                let name = HeaderName::try_from(format!("mcp-param-{name}"));
                let name = name.map_err(|_| Failure::unreachable("a parameter's name is no legal header"))?;
                headers.insert(name, header_text(value)?);
            }
        }
        let response = self.send(Method::POST, headers, message.text).await?;
        if !response.status().is_success() {
            let has_session = self.session().is_some();
            // Boxed, as what is rare must not make the future of every call large.
            return Err(Box::pin(refusal(&self.address.url, response, has_session)).await);
        }
        if message.method == "initialize"
            && let Some(session) = response.headers().get(SESSION)
        {
            *self.session() = Some(session.clone());
        }
        match message.id {
            Some(id) => self.answer(response, id).await,
            None => Ok(()),
        }
    }

    /// Reads the answer to `id`, and whatever the server says before it.
    async fn answer(self: &Arc<Self>, response: Response, id: u64) -> Result<(), Failure> {
        if response.status() == StatusCode::ACCEPTED {
            return Err(Failure::Protocol("the server accepted a request without answering it".into()));
        }
        if http_stream::is_stream(&response) {
            return Box::pin(self.follow(response, id)).await;
        }
        let body = http_stream::body(response, self.limit).await?;
        let endpoint = self.clone();
        if deliver(&self.inbox, &body, Some(id), move |text| endpoint.post(text)).is_err() {
            let start = http_stream::one_line(&body);
            return Err(Failure::Protocol(format!("the server's answer is no message: {start}")));
        }
        if self.inbox.is_waiting(id) {
            return Err(Failure::Protocol("the server answered something else than was asked".into()));
        }
        Ok(())
    }

    /// Reads a stream up to the answer to `id`, and takes it up again where the server lets us.
    async fn follow(self: &Arc<Self>, mut response: Response, id: u64) -> Result<(), Failure> {
        let mut position = Position::default();
        let mut attempts = 0;
        loop {
            let before = position.last_id.clone();
            let ended = self.read(response, &mut position, Some(id)).await;
            if !self.inbox.is_waiting(id) {
                return Ok(());
            }
            ended?;
            attempts = if position.last_id == before { attempts + 1 } else { 0 };
            if position.last_id.is_none() || attempts > RESUMPTIONS {
                return Err(Failure::cut_off("the server's stream ended before its answer"));
            }
            tokio::time::sleep(position.retry.unwrap_or(RETRY).min(MAX_RETRY)).await;
            response = self.stream(&position).await?;
            if !response.status().is_success() {
                return Err(Failure::cut_off("the server's stream ended and could not be taken up again"));
            }
        }
    }

    async fn read(
        self: &Arc<Self>,
        response: Response,
        position: &mut Position,
        id: Option<u64>,
    ) -> Result<(), Failure> {
        let inbox = self.inbox.clone();
        let is_done = || id.is_some_and(|id| !inbox.is_waiting(id));
        let take = |data: &str| {
            let endpoint = self.clone();
            if deliver(&self.inbox, data.as_bytes(), id, move |text| endpoint.post(text)).is_err() {
                debug!("an event of an MCP server that is no message was ignored");
            }
        };
        http_stream::read(response, position, self.limit, is_done, take).await
    }

    async fn stream(&self, position: &Position) -> Result<Response, Failure> {
        let mut headers = self.headers();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(id) = &position.last_id {
            headers.insert(LAST_EVENT, header_text(id)?);
        }
        self.send(Method::GET, headers, String::new()).await
    }

    async fn listen(self: Arc<Self>, is_open: oneshot::Sender<()>) {
        let mut position = Position::default();
        let mut failures = 0_u32;
        let mut is_open = Some(is_open);
        while failures < RESUMPTIONS {
            let answered = self.stream(&position).await;
            drop(is_open.take());
            match answered {
                Ok(response) if response.status().is_success() && http_stream::is_stream(&response) => {
                    failures = 0;
                    let _ = self.read(response, &mut position, None).await;
                }
                // There is none; that is allowed.
                Ok(response) if response.status().is_client_error() => return,
                Ok(_) | Err(_) => failures += 1,
            }
            let pause = position.retry.unwrap_or(RETRY) * 2_u32.pow(failures);
            tokio::time::sleep(pause.clamp(Duration::from_millis(50), MAX_RETRY)).await;
        }
    }

    fn post(self: &Arc<Self>, text: String) {
        let endpoint = self.clone();
        self.posts.send(async move {
            let _ = endpoint.send(Method::POST, endpoint.post_headers(), text).await;
        });
    }
}

/// Messages that nobody waits for.
#[derive(Default)]
pub(super) struct Posts(Mutex<JoinSet<()>>);

impl Posts {
    pub(super) fn send(&self, post: impl Future<Output = ()> + Send + 'static) {
        let mut posts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while posts.try_join_next().is_some() {}
        if posts.len() < POSTS && tokio::runtime::Handle::try_current().is_ok() {
            posts.spawn(async move {
                let _ = tokio::time::timeout(POST_TIMEOUT, post).await;
            });
        }
    }

    fn abort(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

/// Text that a header can carry; other text goes as base64, as 2026-07-28 wants it.
fn header_text(text: &str) -> Result<HeaderValue, Failure> {
    let is_plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && text.trim() == text;
    let value = match is_plain {
        true => HeaderValue::from_str(text),
        false => HeaderValue::from_str(&format!("=?base64?{}?=", STANDARD.encode(text))),
    };
    value.map_err(|error| Failure::unreachable(error.to_string()))
}
