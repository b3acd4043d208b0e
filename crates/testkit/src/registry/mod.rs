//! Stand-ins for registries of services, as faithful as the clients of others that check them can tell.
//!
//! Neither Consul nor Kubernetes can be installed from a package registry; `tests/it/registry.rs` has their Python
//! clients work with these. To let one die and come back, put a [`TcpProxy`](crate::tcp_proxy::TcpProxy) before it.

mod consul;
mod kubernetes;
mod nacos;

pub use consul::{Consul, ConsulService};
pub use kubernetes::{Expiry, Kubernetes};
pub use nacos::{Nacos, NacosVersion};

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

type Answer = Response<UnsyncBoxBody<Bytes, io::Error>>;
type Handler = Arc<dyn Fn(Question) -> BoxFuture<'static, Answer> + Send + Sync>;

/// A request, taken apart.
#[derive(Debug, Clone)]
struct Question {
    method: String,
    /// The path in segments, without escapes.
    path: Vec<String>,
    query: HashMap<String, String>,
    headers: HashMap<String, String>,
    body: Bytes,
}

impl Question {
    fn path(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A server on a free port of 127.0.0.1; it stops when dropped.
struct Listening {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listening {
    async fn start(handler: Handler) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let task = tokio::spawn(async move {
            // Dropped with this task, which ends the connections too.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let handler = handler.clone();
                connections.spawn(async move {
                    let service = hyper::service::service_fn(|request| answer(request, handler.clone()));
                    let builder = hyper::server::conn::http1::Builder::new();
                    // A connection that is cut is what some tests ask for.
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Self { address, task }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listening({})", self.address)
    }
}

async fn answer(request: Request<Incoming>, handler: Handler) -> io::Result<Answer> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let segments = head.uri.path().split('/').filter(|segment| !segment.is_empty());
    let headers = head.headers.iter();
    let question = Question {
        method: head.method.as_str().to_owned(),
        path: segments.map(decoded).collect(),
        query: pairs(head.uri.query().unwrap_or_default()),
        headers: headers.map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect(),
        body,
    };
    Ok(handler(question).await)
}

/// The names and values of a query or a form.
fn pairs(query: &str) -> HashMap<String, String> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
    };
    parts.map(pair).collect()
}

fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(status: StatusCode, value: &Value) -> Answer {
    let body = Full::new(Bytes::from(value.to_string())).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert("content-type", "application/json".parse().expect("a legal header"));
    answer
}

fn plain(status: StatusCode, message: &str) -> Answer {
    let body = Full::new(Bytes::from(message.to_owned())).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    answer
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
