//! A provider of embeddings with OpenAI's interface, in the process: near are texts of the same subject.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Words of each subject; a vector has one dimension for each subject, and one for everything else.
const SUBJECTS: [&[&str]; 3] = [
    &["refund", "money", "reimburse", "退款", "退钱"],
    &["ship", "deliver", "parcel", "courier", "快递"],
    &["animal", "cat", "dog", "kitten", "猫"],
];

/// How long its vectors are.
pub const DIMENSIONS: usize = SUBJECTS.len() + 1;

/// How it behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// As it should.
    Well,
    /// Every request fails with this status.
    Failing(u16),
    /// It takes this long to answer.
    Slow(Duration),
    /// Its vectors have one dimension too many.
    WrongLength,
}

/// A running provider; it stops when dropped.
#[derive(Debug)]
pub struct Provider {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct State {
    mood: Mood,
    texts: Vec<String>,
    authorization: Option<String>,
}

impl Provider {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(Mutex::new(State { mood: Mood::Well, texts: Vec::new(), authorization: None }));
        let shared = state.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = shared.clone();
                connections.spawn(async move {
                    let service = hyper::service::service_fn(|request| answer(request, state.clone()));
                    let connection = hyper::server::conn::http1::Builder::new();
                    // A client that goes away is none of our concern.
                    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, state, task }
    }

    /// What to give as the base URL.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Changes how it behaves.
    pub fn set(&self, mood: Mood) {
        self.lock().mood = mood;
    }

    /// Every text it made a vector for, in order.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.lock().texts.clone()
    }

    /// The `Authorization` header of the last request.
    #[must_use]
    pub fn authorization(&self) -> Option<String> {
        self.lock().authorization.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<Mutex<State>>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let authorization = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let authorization = authorization.map(str::to_owned);
    let is_right = request.uri().path() == "/v1/embeddings" && request.method() == "POST";
    let body = request.into_body().collect().await?.to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let texts: Vec<String> = body["input"]
        .as_array()
        .map(|texts| texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect())
        .unwrap_or_default();
    let mood = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.authorization = authorization;
        state.mood
    };
    match mood {
        Mood::Failing(status) => return Ok(reply(status, &json!({ "error": { "message": "as asked" } }))),
        Mood::Slow(time) => tokio::time::sleep(time).await,
        Mood::Well | Mood::WrongLength => {}
    }
    if !is_right || texts.is_empty() {
        return Ok(reply(400, &json!({ "error": { "message": "not an embeddings request" } })));
    }
    let length = if mood == Mood::WrongLength { DIMENSIONS + 1 } else { DIMENSIONS };
    let entry = |(index, text): (usize, &String)| json!({ "object": "embedding", "index": index, "embedding": vector(text, length) });
    let data: Vec<Value> = texts.iter().enumerate().map(entry).collect();
    state.lock().unwrap_or_else(PoisonError::into_inner).texts.extend(texts);
    Ok(reply(200, &json!({ "object": "list", "model": body["model"], "data": data })))
}

/// How much a text is about each subject.
fn vector(text: &str, length: usize) -> Vec<f64> {
    let text = text.to_lowercase();
    let about = |words: &&[&str]| words.iter().map(|word| text.matches(word).count()).sum::<usize>() as f64;
    let mut vector: Vec<f64> = SUBJECTS.iter().map(about).collect();
    vector.resize(length, 0.1);
    vector
}

fn reply(status: u16, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = hyper::StatusCode::from_u16(status).expect("a legal status");
    response
}
