//! An MCP server on a WebSocket, and the raw end of a client.

use super::wide::Wide;
use super::{answer, reply};
use futures::{SinkExt, StreamExt};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

/// A running server; it stops when dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    key: Option<String>,
    /// Is a [`Wide`] server, with this between the words of what it says.
    wide: Option<&'static str>,
    connections: Mutex<usize>,
    open: Mutex<JoinSet<()>>,
}

impl Server {
    /// Starts on a free port; with a key, `X-API-Key` must be it.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn start(key: Option<&str>) -> Self {
        Self::start_with(State { key: key.map(str::to_owned), ..State::default() }).await
    }

    /// Starts a [`Wide`] server on a free port, with this between the words of what it says.
    pub async fn start_wide(space: &'static str) -> Self {
        Self::start_with(State { wide: Some(space), ..State::default() }).await
    }

    async fn start_with(state: State) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(state);
        let task = tokio::spawn(accept(listener, state.clone()));
        Self { address, state, task }
    }

    /// Where the server listens.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ws://{}/mcp", self.address)
    }

    /// How many connections there were.
    #[must_use]
    pub fn connections(&self) -> usize {
        *self.state.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts every open connection.
    pub async fn cut(&self) {
        let mut open = std::mem::take(&mut *self.state.open.lock().unwrap_or_else(PoisonError::into_inner));
        open.shutdown().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        let work = serve(stream, state.clone());
        state.open.lock().unwrap_or_else(PoisonError::into_inner).spawn(work);
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    #[expect(clippy::result_large_err, reason = "the library's signature")]
    let check = |request: &Request, mut response: Response| {
        let headers = request.headers();
        let is_known =
            state.key.as_ref().is_none_or(|key| headers.get("x-api-key").is_some_and(|k| k == key));
        if !is_known {
            let mut refused = ErrorResponse::new(None);
            *refused.status_mut() = hyper::StatusCode::UNAUTHORIZED;
            return Err(refused);
        }
        if headers.get("sec-websocket-protocol").is_none_or(|protocol| protocol != "mcp") {
            let mut refused = ErrorResponse::new(None);
            *refused.status_mut() = hyper::StatusCode::BAD_REQUEST;
            return Err(refused);
        }
        response.headers_mut().insert("sec-websocket-protocol", "mcp".parse().expect("a header value"));
        Ok(response)
    };
    let Ok(socket) = tokio_tungstenite::accept_hdr_async(stream, check).await else { return };
    *state.connections.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    let (sink, mut messages) = socket.split();
    let sink = Arc::new(tokio::sync::Mutex::new(sink));
    let mut answers = JoinSet::new();
    let mut wide = state.wide.map(Wide::new);
    while let Some(Ok(message)) = messages.next().await {
        let Message::Text(line) = message else { continue };
        if let Some(wide) = &mut wide {
            for message in wide.take(&line) {
                let _ = sink.lock().await.send(Message::text(message)).await;
            }
            continue;
        }
        let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
        if request["id"].is_null() {
            continue;
        }
        let sink = sink.clone();
        answers.spawn(async move {
            if request["params"]["name"] == "slow" {
                let pause = request["params"]["arguments"]["ms"].as_u64().unwrap_or(8_000);
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            let text = reply(&request["id"], &answer(&request, &line));
            let _ = sink.lock().await.send(Message::text(text)).await;
        });
    }
}

/// A client's end of a WebSocket: texts as they are, both ways.
#[derive(Debug)]
pub struct Client(WebSocketStream<TcpStream>);

impl Client {
    /// Connects to `url`, signed in by an API key.
    ///
    /// # Panics
    /// When nobody is there, or the key is not taken.
    pub async fn connect(url: &str, key: &str) -> Self {
        let mut request = url.into_client_request().expect("an address of a WebSocket");
        let authority = request.uri().authority().expect("an address with a host").to_string();
        request.headers_mut().insert("x-api-key", key.parse().expect("a header value"));
        let stream = TcpStream::connect(authority).await.expect("a server that listens");
        Self(tokio_tungstenite::client_async(request, stream).await.expect("a WebSocket").0)
    }

    /// Sends a text.
    ///
    /// # Panics
    /// When the connection has ended.
    pub async fn send(&mut self, text: String) {
        self.0.send(Message::text(text)).await.expect("an open connection");
    }

    /// Waits until the other side ends the connection, and says why, if it does.
    pub async fn ended(mut self) -> Option<String> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.reason.to_string()),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// The next text.
    ///
    /// # Panics
    /// When the connection has ended.
    pub async fn next(&mut self) -> String {
        loop {
            let message = self.0.next().await.expect("an open connection").expect("a whole frame");
            if let Message::Text(text) = message {
                return text.to_string();
            }
        }
    }
}
