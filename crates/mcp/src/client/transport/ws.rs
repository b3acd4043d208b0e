//! A WebSocket with the subprotocol `mcp`: one message per text frame.

use super::super::failure::{Failure, chain};
use super::super::inbox::Inbox;
use super::{Outgoing, Owned};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use rustls_platform_verifier::BuilderVerifierExt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};

const QUEUE: usize = 256;
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Where a WebSocket is.
#[derive(Debug, Clone)]
pub struct Address {
    /// `ws` or `wss`.
    pub url: Url,
    /// Headers of the handshake; mark secret values as sensitive.
    pub headers: HeaderMap,
    /// Where the URL's host is; looked up, and found acceptable, by the caller.
    pub addresses: Vec<SocketAddr>,
}

/// What a socket can be made of: TCP, or TLS over it.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}
type Socket = WebSocketStream<Box<dyn Stream>>;

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
        self.inbox.close(&Failure::unreachable("the connection is closed"));
    }

    fn queue(&self) -> Option<mpsc::Sender<Queued>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn connect(address: &Address, limit: usize) -> Result<Socket, Failure> {
    let mut request = address
        .url
        .as_str()
        .into_client_request()
        .map_err(|error| Failure::unreachable(format!("no WebSocket can be opened there: {error}")))?;
    request.headers_mut().extend(address.headers.clone());
    request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
    let tcp = TcpStream::connect(&address.addresses[..])
        .await
        .map_err(|error| Failure::unreachable(format!("the connection failed: {error}")))?;
    let _ = tcp.set_nodelay(true);
    let stream: Box<dyn Stream> = match address.url.scheme() {
        "wss" => Box::new(encrypt(tcp, &address.url).await?),
        _ => Box::new(tcp),
    };
    let config = WebSocketConfig::default().max_message_size(Some(limit)).max_frame_size(Some(limit));
    let opened = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
    opened.map(|(socket, _)| socket).map_err(not_opened)
}

async fn encrypt(tcp: TcpStream, url: &Url) -> Result<tokio_rustls::client::TlsStream<TcpStream>, Failure> {
    let failed =
        |error: &dyn std::error::Error| Failure::unreachable(format!("TLS failed: {}", chain(error)));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| failed(&error))?
        .with_no_client_auth();
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let name = rustls::pki_types::ServerName::try_from(host).map_err(|error| failed(&error))?;
    TlsConnector::from(Arc::new(config)).connect(name, tcp).await.map_err(|error| failed(&error))
}

fn not_opened(error: Error) -> Failure {
    let Error::Http(response) = error else {
        return Failure::unreachable(format!("the WebSocket could not be opened: {}", chain(&error)));
    };
    match response.status().as_u16() {
        status @ (401 | 403) => Failure::Unauthorized { status },
        status @ 300..=399 => Failure::Refused(format!(
            "the server redirects (HTTP status {status}), and redirects are not followed"
        )),
        status => Failure::Status { status, body: String::new() },
    }
}

async fn write(mut sink: SplitSink<Socket, Message>, mut queued: mpsc::Receiver<Queued>, inbox: Arc<Inbox>) {
    while let Some(Queued { text, id }) = queued.recv().await {
        if let Err(error) = sink.send(Message::text(text)).await {
            let failure = Failure::unreachable(format!("the WebSocket broke: {}", chain(&error)));
            if let Some(id) = id {
                inbox.fail(id, failure.clone());
            }
            return inbox.close(&failure);
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
        let _ = inbox.deliver(&text, &mut replies);
        for text in replies {
            if let Some(queue) = answers.upgrade() {
                let _ = queue.try_send(Queued { text, id: None });
            }
        }
    };
    inbox.close(&failure);
}
