//! A WebSocket with the subprotocol `mcp`: one message per text frame.

use super::super::failure::{Failure, chain};
use super::super::inbox::Inbox;
use super::http::Address;
use super::http_stream::refusal;
use super::{Outgoing, Owned};
use bytes::Bytes;
use fetch::Request;
use fetch::http::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use fetch::http::{Method, StatusCode};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

const QUEUE: usize = 256;
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

type Socket = WebSocketStream<fetch::Stream>;

struct Queued {
    text: String,
    id: Option<u64>,
}

pub(in super::super) struct Ws {
    queue: Mutex<Option<mpsc::Sender<Queued>>>,
    inbox: Arc<Inbox>,
    _tasks: [Owned; 2],
}

impl Ws {
    pub(super) async fn open(address: &Address, inbox: &Arc<Inbox>, limit: usize) -> Result<Self, Failure> {
        let socket = connect(address, limit).await?;
        let (sink, stream) = socket.split();
        let (queue, queued) = mpsc::channel(QUEUE);
        let tasks = [
            Owned::spawn(write(sink, queued, inbox.clone())),
            Owned::spawn(read(stream, queue.downgrade(), inbox.clone())),
        ];
        Ok(Self { queue: Mutex::new(Some(queue)), inbox: inbox.clone(), _tasks: tasks })
    }

    pub(super) async fn send(&self, message: Outgoing<'_>) -> Result<(), Failure> {
        let closed = || Failure::unreachable("the connection is closed");
        let queue = self.queue().ok_or_else(closed)?;
        queue.send(Queued { text: message.text, id: message.id }).await.map_err(|_| closed())
    }

    pub(super) fn post(&self, text: String) {
        if let Some(queue) = self.queue() {
            let _ = queue.try_send(Queued { text, id: None });
        }
    }

    pub(super) async fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.inbox.closed().cancelled()).await;
        self.inbox.close(&Failure::cut_off("the connection is closed"));
    }

    fn queue(&self) -> Option<mpsc::Sender<Queued>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Opens the socket with the HTTP client of the caller, which decides about names, addresses and
/// certificates; the library's own way would also write our keys to its log.
async fn connect(address: &Address, limit: usize) -> Result<Socket, Failure> {
    let mut url = address.url.clone();
    let scheme = if url.scheme() == "wss" { "https" } else { "http" };
    if url.set_scheme(scheme).is_err() {
        return Err(Failure::unreachable("no WebSocket can be opened at such an address"));
    }
    let key = generate_key();
    let mut headers = address.current_headers();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
    if let Ok(key) = HeaderValue::from_str(&key) {
        headers.insert(SEC_WEBSOCKET_KEY, key);
    }
    let request = Request { method: Method::GET, url: url.clone(), headers, body: Bytes::new() };
    let response = address.client.send(request).await.map_err(|error| Failure::of_http(&error))?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(refusal(&url, response, false).await);
    }
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    if accepted.is_none_or(|accepted| accepted.as_bytes() != derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(Failure::Protocol("the server did not accept the WebSocket as it should".into()));
    }
    let (stream, begun) = response.upgrade().await.map_err(|error| Failure::of_http(&error))?;
    let config = WebSocketConfig::default().max_message_size(Some(limit)).max_frame_size(Some(limit));
    Ok(WebSocketStream::from_partially_read(stream, begun.into(), Role::Client, Some(config)).await)
}

async fn write(mut sink: SplitSink<Socket, Message>, mut queued: mpsc::Receiver<Queued>, inbox: Arc<Inbox>) {
    while let Some(Queued { text, id }) = queued.recv().await {
        if let Err(error) = sink.send(Message::text(text)).await {
            let failure = Failure::unreachable(format!("the WebSocket broke: {}", chain(&error)));
            if let Some(id) = id {
                inbox.fail(id, failure.clone());
            }
            // Others may wait for answers to what was sent before.
            return inbox.close(&Failure::cut_off(failure.to_string()));
        }
    }
    let _ = sink.close().await;
}

async fn read(mut stream: SplitStream<Socket>, answers: mpsc::WeakSender<Queued>, inbox: Arc<Inbox>) {
    let failure = loop {
        let text = match stream.next().await {
            Some(Ok(Message::Text(text))) => text.as_bytes().to_vec(),
            Some(Ok(Message::Binary(bytes))) => bytes.to_vec(),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Ok(Message::Close(_))) | None => break Failure::cut_off("the server closed the WebSocket"),
            Some(Err(Error::Capacity(error))) => {
                break Failure::Protocol(format!("a message is too long: {error}"));
            }
            Some(Err(error)) => break Failure::cut_off(format!("the WebSocket broke: {}", chain(&error))),
        };
        let mut replies = Vec::new();
        // What is no message is ignored, as on stdout.
        let _ = inbox.deliver(&text, None, &mut replies);
        for text in replies {
            if let Some(queue) = answers.upgrade() {
                let _ = queue.try_send(Queued { text, id: None });
            }
        }
    };
    inbox.close(&failure);
}
