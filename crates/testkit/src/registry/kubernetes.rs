//! The part of Kubernetes' API that knows EndpointSlices: lists in pages, watches with bookmarks, versions that expire.

mod discovery;

use super::{Answer, Listening, Question, json, lock};
use bytes::Bytes;
use discovery::discovery;
use futures::StreamExt;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// Who has no time of its own watches so long.
const DEFAULT_WATCH: u64 = 1800;

/// A running API; it stops when dropped.
#[derive(Debug)]
pub struct Kubernetes {
    state: Arc<State>,
    listening: Listening,
}

/// How a watch is told that its version is too old; servers do both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// As the status of the answer.
    Status,
    /// As an event of an answer that is fine.
    Event,
}

#[derive(Debug)]
struct State {
    known: Mutex<Known>,
    /// Ticks when there is an event, or when watches are cut.
    news: watch::Sender<News>,
}

#[derive(Debug, Clone, Copy, Default)]
struct News {
    version: u64,
    /// How often all watches were cut.
    cuts: u64,
}

#[derive(Debug)]
struct Known {
    token: Option<String>,
    version: u64,
    /// By namespace and name.
    slices: BTreeMap<(String, String), Value>,
    events: Vec<Event>,
    /// Versions before this one are forgotten.
    oldest: u64,
    expiry: Expiry,
    lists: usize,
    watches: Vec<String>,
}

#[derive(Debug, Clone)]
struct Event {
    version: u64,
    kind: &'static str,
    namespace: String,
    object: Value,
}

impl Kubernetes {
    /// Starts an API without slices.
    pub async fn start() -> Self {
        let known = Known {
            token: None,
            version: 100,
            slices: BTreeMap::new(),
            events: Vec::new(),
            oldest: 0,
            expiry: Expiry::Event,
            lists: 0,
            watches: Vec::new(),
        };
        let state = Arc::new(State { known: Mutex::new(known), news: watch::channel(News::default()).0 });
        let shared = state.clone();
        let handler = move |question| {
            let state = shared.clone();
            Box::pin(async move { answer(&state, &question) }) as _
        };
        Self { state, listening: Listening::start(Arc::new(handler)).await }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> std::net::SocketAddr {
        self.listening.address
    }

    /// `http://127.0.0.1:port`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Only whoever has this token may ask.
    pub fn require_token(&self, token: &str) {
        lock(&self.state.known).token = Some(token.to_owned());
    }

    /// Makes or replaces a slice of a service in the namespace `default`, with the port `http`.
    pub fn put(&self, name: &str, service: &str, endpoints: &Value, port: u16) {
        let slice = json!({
            "metadata": { "name": name, "namespace": "default", "labels": { "kubernetes.io/service-name": service } },
            "addressType": "IPv4", "endpoints": endpoints,
            "ports": [{ "name": "http", "port": port, "protocol": "TCP" }]
        });
        self.state.put("default", slice);
    }

    /// Takes a slice out.
    pub fn delete(&self, name: &str) {
        self.state.delete("default", name);
    }

    /// Tells every watch the version of the moment, and nothing else.
    pub fn bookmark(&self) {
        let mut known = lock(&self.state.known);
        known.version += 1;
        let version = known.version;
        let object = json!({
            "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1", "endpoints": null, "ports": null,
            "addressType": "", "metadata": { "resourceVersion": version.to_string(), "creationTimestamp": null }
        });
        known.events.push(Event { version, kind: "BOOKMARK", namespace: String::new(), object });
        drop(known);
        self.state.tell();
    }

    /// Forgets all versions but the one of the moment.
    pub fn expire(&self, expiry: Expiry) {
        let mut known = lock(&self.state.known);
        known.version += 1;
        known.oldest = known.version;
        known.expiry = expiry;
        known.events.clear();
    }

    /// Breaks the connections of all watches.
    pub fn cut(&self) {
        self.state.news.send_modify(|news| news.cuts += 1);
    }

    /// How often a list began.
    #[must_use]
    pub fn lists(&self) -> usize {
        lock(&self.state.known).lists
    }

    /// The versions that watches began behind.
    #[must_use]
    pub fn watches(&self) -> Vec<String> {
        lock(&self.state.known).watches.clone()
    }
}

impl State {
    fn tell(&self) {
        let version = lock(&self.known).version;
        self.news.send_modify(|news| news.version = version);
    }

    fn put(&self, namespace: &str, mut slice: Value) -> Value {
        let mut known = lock(&self.known);
        known.version += 1;
        let version = known.version;
        let name = slice["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        slice["apiVersion"] = "discovery.k8s.io/v1".into();
        slice["kind"] = "EndpointSlice".into();
        slice["metadata"]["namespace"] = namespace.into();
        slice["metadata"]["resourceVersion"] = version.to_string().into();
        let before = known.slices.insert((namespace.to_owned(), name), slice.clone());
        let kind = if before.is_some() { "MODIFIED" } else { "ADDED" };
        known.events.push(Event { version, kind, namespace: namespace.to_owned(), object: slice.clone() });
        drop(known);
        self.tell();
        slice
    }

    fn get(&self, namespace: &str, name: &str) -> Option<Value> {
        lock(&self.known).slices.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }

    fn delete(&self, namespace: &str, name: &str) -> bool {
        let mut known = lock(&self.known);
        let Some(mut object) = known.slices.remove(&(namespace.to_owned(), name.to_owned())) else {
            return false;
        };
        known.version += 1;
        let version = known.version;
        object["metadata"]["resourceVersion"] = version.to_string().into();
        known.events.push(Event { version, kind: "DELETED", namespace: namespace.to_owned(), object });
        drop(known);
        self.tell();
        true
    }
}

fn answer(state: &Arc<State>, question: &Question) -> Answer {
    let token = lock(&state.known).token.clone();
    let bearer = question.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
    if token.is_some() && bearer != token.as_deref() {
        return status(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized");
    }
    let path = question.path();
    if let Some(found) = discovery(question.method.as_str(), path.as_slice()) {
        return json(StatusCode::OK, &found);
    }
    let ["apis", "discovery.k8s.io", "v1", "namespaces", namespace, "endpointslices", rest @ ..] =
        path.as_slice()
    else {
        return status(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource");
    };
    match (question.method.as_str(), rest) {
        ("GET", []) if question.query("watch").is_some_and(|watch| watch.eq_ignore_ascii_case("true")) => {
            watch_slices(state, namespace, question)
        }
        ("GET", []) => list(state, namespace, question),
        ("GET", [name]) => match state.get(namespace, name) {
            Some(slice) => json(StatusCode::OK, &slice),
            None => status(StatusCode::NOT_FOUND, "NotFound", "not found"),
        },
        ("POST", []) => json(StatusCode::CREATED, &state.put(namespace, question.json())),
        ("PUT", [_]) => json(StatusCode::OK, &state.put(namespace, question.json())),
        ("DELETE", [name]) if state.delete(namespace, name) => {
            json(StatusCode::OK, &json!({ "kind": "Status", "apiVersion": "v1", "status": "Success" }))
        }
        _ => status(StatusCode::NOT_FOUND, "NotFound", "not found"),
    }
}

/// Whether a label of the slice is the one that is asked for, as `name=value`.
fn has_label(object: &Value, selector: &str) -> bool {
    let Some((name, value)) = selector.split_once('=') else { return true };
    object["metadata"]["labels"][name] == value
}

/// One page; the token for the next says where it begins and of which version it is.
fn list(state: &State, namespace: &str, question: &Question) -> Answer {
    let mut known = lock(&state.known);
    let token = question.query("continue").filter(|token| !token.is_empty());
    let (from, version) = match token.map(|token| token.split_once('@').unwrap_or((token, ""))) {
        Some((from, version)) => (from.to_owned(), version.parse().unwrap_or_default()),
        None => (String::new(), known.version),
    };
    if version < known.oldest {
        return expired();
    }
    if token.is_none() {
        known.lists += 1;
    }
    let selector = question.query("labelSelector").unwrap_or_default();
    let limit = question.query("limit").and_then(|limit| limit.parse().ok()).filter(|limit| *limit > 0);
    let of_namespace = known.slices.iter().filter(|((place, name), _)| place == namespace && *name >= from);
    let mut matching = of_namespace.filter(|(_, slice)| has_label(slice, selector));
    let items: Vec<_> =
        matching.by_ref().take(limit.unwrap_or(usize::MAX)).map(|(_, slice)| slice.clone()).collect();
    let next = matching.next().map(|((_, name), _)| format!("{name}@{version}"));
    let list = json!({
        "kind": "EndpointSliceList", "apiVersion": "discovery.k8s.io/v1",
        "metadata": { "resourceVersion": version.to_string(), "continue": next.unwrap_or_default() },
        "items": items
    });
    json(StatusCode::OK, &list)
}

fn watch_slices(state: &Arc<State>, namespace: &str, question: &Question) -> Answer {
    let from = question.query("resourceVersion").unwrap_or_default().to_owned();
    let mut known = lock(&state.known);
    known.watches.push(from.clone());
    let selector = question.query("labelSelector").unwrap_or_default().to_owned();
    // Without a version, what there is comes as if it had just been made.
    let (seen, first) = match from.parse().unwrap_or_default() {
        0 => {
            let slices = known.slices.iter().filter(|((place, _), _)| place == namespace);
            let slices = slices.filter(|(_, slice)| has_label(slice, &selector));
            (known.version, slices.map(|(_, slice)| line("ADDED", slice)).collect())
        }
        seen if seen < known.oldest && known.expiry == Expiry::Status => return expired(),
        seen if seen < known.oldest => {
            let gone = line("ERROR", &gone());
            return stream(futures::stream::iter([Ok(gone)]));
        }
        seen => (seen, Vec::new()),
    };
    drop(known);
    let seconds = question.query("timeoutSeconds").and_then(|seconds| seconds.parse().ok());
    let follower = Follower {
        state: state.clone(),
        news: state.news.subscribe(),
        cuts: state.news.borrow().cuts,
        seen,
        namespace: namespace.to_owned(),
        selector,
        wants_bookmarks: question
            .query("allowWatchBookmarks")
            .is_some_and(|wants| wants.eq_ignore_ascii_case("true")),
    };
    let events = futures::stream::unfold(Some(follower), |follower| async {
        let mut follower = follower?;
        match follower.next().await {
            Ok(events) => Some((Ok(events), Some(follower))),
            Err(cut) => Some((Err(cut), None)),
        }
    });
    let end = tokio::time::sleep(Duration::from_secs(seconds.unwrap_or(DEFAULT_WATCH)));
    let first = futures::stream::iter(first.into_iter().map(Ok));
    stream(first.chain(events).take_until(end))
}

/// One watch.
struct Follower {
    state: Arc<State>,
    news: watch::Receiver<News>,
    cuts: u64,
    seen: u64,
    namespace: String,
    selector: String,
    wants_bookmarks: bool,
}

impl Follower {
    /// The events behind those that were seen, when there are any.
    async fn next(&mut self) -> io::Result<Bytes> {
        loop {
            if self.news.borrow_and_update().cuts != self.cuts {
                return Err(io::Error::other("cut on request"));
            }
            let lines = self.behind();
            if !lines.is_empty() {
                return Ok(lines.into());
            }
            self.news.changed().await.map_err(io::Error::other)?;
        }
    }

    fn behind(&mut self) -> Vec<u8> {
        let known = lock(&self.state.known);
        let is_wanted = |event: &&Event| match event.kind {
            "BOOKMARK" => self.wants_bookmarks,
            _ => event.namespace == self.namespace && has_label(&event.object, &self.selector),
        };
        let events = known.events.iter().filter(|event| event.version > self.seen).filter(is_wanted);
        let lines = events.flat_map(|event| line(event.kind, &event.object)).collect();
        self.seen = self.seen.max(known.version);
        lines
    }
}

fn line(kind: &str, object: &Value) -> Bytes {
    format!("{}\n", json!({ "type": kind, "object": object })).into()
}

fn stream(events: impl futures::Stream<Item = io::Result<Bytes>> + Send + 'static) -> Answer {
    let mut answer =
        Response::new(StreamBody::new(events.map(|event| event.map(Frame::data))).boxed_unsync());
    answer.headers_mut().insert("content-type", "application/json".parse().expect("a legal header"));
    answer
}

fn expired() -> Answer {
    json(StatusCode::GONE, &gone())
}

fn gone() -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Expired",
        "message": "too old resource version", "code": 410
    })
}

fn status(status: StatusCode, reason: &str, message: &str) -> Answer {
    let code = status.as_u16();
    json(
        status,
        &json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "reason": reason, "message": message, "code": code
        }),
    )
}
