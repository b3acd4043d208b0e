//! The door on a WebSocket: one message per text frame, both ways.

use super::connection::{Connection, Identity};
use super::door_access::DoorAccess;
use super::http::headers::check_origin;
use super::http::response::KEEP_ALIVE;
use super::http::too_large;
use crate::Shared;
use crate::error::{Problem, Result};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use futures::future::BoxFuture;
use futures::stream::{SplitSink, SplitStream};
use futures::{FutureExt, SinkExt, StreamExt};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::borrow::Cow;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// The subprotocol that clients of MCP ask for.
const PROTOCOL: &str = "mcp";
/// A client that says nothing is asked whether it is there, and after four questions without an answer it has gone.
const PACE: Pace = Pace { ping: KEEP_ALIVE, silence: Duration::from_secs(4 * KEEP_ALIVE.as_secs()) };
/// How long a client may take to read what is sent to it.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// What a client is told whose right to be here has ended.
const ENDED: &str = "the key or token that opened this connection is not valid any more";

/// How often a client is pinged, and how long it may say nothing at all.
#[derive(Clone, Copy)]
struct Pace {
    ping: Duration,
    silence: Duration,
}

/// `GET /ws`, `GET /servers/{service}/ws`, `GET /mcp/{api_key}/ws`: becomes a WebSocket.
pub(crate) async fn get(
    State(state): State<Shared>,
    door_access: DoorAccess,
    mut request: Request,
) -> Result<Response> {
    check_origin(&state, request.headers())?;
    let response = accepted(request.headers())?;
    let place = state.stream_place()?;
    let upgrade = hyper::upgrade::on(&mut request);
    let identity = Identity::of(door_access, std::mem::take(request.headers_mut()));
    let calls = state.calls.clone();
    calls.spawn(serve(state, identity, upgrade, place));
    Ok(response)
}

/// What a request for a WebSocket is answered with.
fn accepted(headers: &HeaderMap) -> Result<Response> {
    let names = |header: &HeaderName, word: &str| {
        words(headers, header).any(|named| named.eq_ignore_ascii_case(word))
    };
    if !names(&UPGRADE, "websocket") || !names(&CONNECTION, "upgrade") {
        let detail = "this door takes WebSockets alone; for HTTP use /mcp";
        return Err(Problem::bad_request(detail).with_status(StatusCode::UPGRADE_REQUIRED));
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|_| names(&SEC_WEBSOCKET_VERSION, "13"));
    let key =
        key.ok_or_else(|| Problem::bad_request("a WebSocket begins with version 13 and a key (RFC 6455)"))?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let answer = response.headers_mut();
    if headers.contains_key(SEC_WEBSOCKET_PROTOCOL) {
        if !names(&SEC_WEBSOCKET_PROTOCOL, PROTOCOL) {
            return Err(Problem::bad_request("the subprotocol of this WebSocket is 'mcp'"));
        }
        answer.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    }
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    answer.insert(SEC_WEBSOCKET_ACCEPT, accept.map_err(|_| Problem::bad_request("the key is unusable"))?);
    answer.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    answer.insert(UPGRADE, HeaderValue::from_static("websocket"));
    Ok(response)
}

fn words<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',').map(str::trim))
}

async fn serve(state: Shared, identity: Identity, upgrade: OnUpgrade, _place: OwnedSemaphorePermit) {
    let opened = tokio::select! {
        opened = timeout(PATIENCE, upgrade) => opened,
        () = state.stopping.cancelled() => return,
    };
    let Ok(Ok(stream)) = opened else { return };
    let most = Some(state.options.max_body_bytes);
    let config = WebSocketConfig::default().max_message_size(most).max_frame_size(most);
    let stream = TokioIo::new(stream);
    let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let (connection, lines) = Connection::over_http(&state, identity);
    let receiver = connection.clone();
    let take = move |text| {
        let connection = receiver.clone();
        async move { connection.receive(text).await }.boxed()
    };
    let conversation = converse(socket, PACE, lines, take, connection.ended());
    state.stopping.run_until_cancelled(conversation).await;
    connection.close().await;
}

/// Passes messages on, both ways, until one side has had enough or the client has gone.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    socket: WebSocketStream<S>,
    pace: Pace,
    lines: mpsc::Receiver<String>,
    take: impl Fn(Vec<u8>) -> BoxFuture<'static, bool>,
    ended: impl Future<Output = ()>,
) {
    let most = socket.get_config().max_message_size.unwrap_or(usize::MAX);
    let (mut sink, mut stream) = socket.split();
    let heard = watch::Sender::new(Instant::now());
    let end = tokio::select! {
        end = read(&mut stream, most, take, &heard) => end,
        end = write(&mut sink, pace, lines, heard.subscribe()) => end,
        () = ended => Some((CloseCode::Policy, ENDED.into())),
    };
    if let (Some((code, reason)), Ok(socket)) = (end, sink.reunite(stream)) {
        let frame = CloseFrame { code, reason: (&*reason).into() };
        let _ = timeout(GOODBYE, say_goodbye(socket, frame)).await;
    }
}

/// Says why the conversation ends and waits for the client to hang up. A line that is cut with something of the
/// client's unread, a pong or the rest of its message, may take the goodbye along.
async fn say_goodbye<S: AsyncRead + AsyncWrite + Unpin>(
    mut socket: WebSocketStream<S>,
    frame: CloseFrame,
) -> Result<(), Error> {
    socket.send(Message::Close(Some(frame))).await?;
    let line = socket.get_mut();
    line.shutdown().await?;
    tokio::io::copy(line, &mut tokio::io::sink()).await?;
    Ok(())
}

/// How a conversation ends, if the client is still there to be told.
type End = Option<(CloseCode, Cow<'static, str>)>;

/// Reads until the client or its conversation ends. One that asks too much at once is read more slowly.
async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut SplitStream<WebSocketStream<S>>,
    most: usize,
    take: impl Fn(Vec<u8>) -> BoxFuture<'static, bool>,
    heard: &watch::Sender<Instant>,
) -> End {
    loop {
        let message = stream.next().await;
        heard.send_replace(Instant::now());
        let text = match message {
            Some(Ok(Message::Text(text))) => text.as_bytes().to_vec(),
            // The library answers pings.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
            Some(Ok(Message::Binary(_))) => {
                return Some((CloseCode::Unsupported, "messages are text frames".into()));
            }
            Some(Err(Error::Capacity(_))) => {
                return Some((CloseCode::Size, too_large(most).into()));
            }
            Some(Err(Error::Utf8(_))) => return Some((CloseCode::Invalid, "the text is not UTF-8".into())),
            Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
        };
        if !take(text).await {
            return Some((CloseCode::Normal, "".into()));
        }
    }
}

/// Writes what comes up, and pings when nothing does.
async fn write<S: AsyncRead + AsyncWrite + Unpin>(
    sink: &mut SplitSink<WebSocketStream<S>, Message>,
    pace: Pace,
    mut lines: mpsc::Receiver<String>,
    heard: watch::Receiver<Instant>,
) -> End {
    let mut pings = tokio::time::interval(pace.ping);
    pings.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            line = lines.recv() => Message::text(line?),
            _ = pings.tick() => {
                if heard.borrow().elapsed() > pace.silence {
                    let why = "nothing was heard from the client for a long time";
                    return Some((CloseCode::Policy, why.into()));
                }
                Message::Ping(Default::default())
            }
        };
        if !matches!(timeout(PATIENCE, sink.send(message)).await, Ok(Ok(()))) {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::{pending, ready};
    use tokio::io::{AsyncReadExt as _, DuplexStream};

    const SMALL: usize = 64;

    type Client = WebSocketStream<DuplexStream>;

    async fn pair(
        take: impl Fn(Vec<u8>) -> BoxFuture<'static, bool>,
    ) -> (impl Future<Output = ()>, Client, mpsc::Sender<String>) {
        let (ours, theirs) = tokio::io::duplex(1024);
        let config = WebSocketConfig::default().max_message_size(Some(SMALL)).max_frame_size(Some(SMALL));
        let socket = WebSocketStream::from_raw_socket(ours, Role::Server, Some(config)).await;
        let client = WebSocketStream::from_raw_socket(theirs, Role::Client, None).await;
        let (tx, rx) = mpsc::channel(1);
        (converse(socket, PACE, rx, take, pending()), client, tx)
    }

    async fn end(mut client: Client) -> CloseCode {
        loop {
            match client.next().await {
                Some(Ok(Message::Close(Some(frame)))) => return frame.code,
                Some(Ok(_)) => {}
                other => panic!("no goodbye: {other:?}"),
            }
        }
    }

    #[tokio::test]
    async fn passes_messages_on_until_the_conversation_ends() {
        let (serving, mut client, tx) = pair(|text| ready(text != b"bye").boxed()).await;
        let talking = async {
            tx.send("{}".into()).await.unwrap();
            while !matches!(client.next().await, Some(Ok(Message::Text(text))) if text.as_str() == "{}") {}
            client.send(Message::text("bye")).await.unwrap();
            end(client).await
        };
        assert_eq!(tokio::join!(serving, talking).1, CloseCode::Normal);
    }

    #[tokio::test]
    async fn refuses_what_is_too_large_or_no_text() {
        let large = Message::text("x".repeat(SMALL + 1));
        for (message, code) in [(large, CloseCode::Size), (Message::binary("x"), CloseCode::Unsupported)] {
            let (serving, mut client, _tx) = pair(|_| ready(true).boxed()).await;
            let talking = async {
                client.send(message).await.unwrap();
                end(client).await
            };
            assert_eq!(tokio::join!(serving, talking).1, code);
        }
    }

    /// The first ping and the reading of the first message race: the client may still have to answer the one.
    #[tokio::test]
    async fn says_goodbye_to_a_client_that_is_answering_a_ping() {
        for _ in 0..50 {
            let (serving, mut client, _tx) = pair(|_| ready(true).boxed()).await;
            client.send(Message::binary("x")).await.unwrap();
            assert_eq!(tokio::join!(serving, end(client)).1, CloseCode::Unsupported);
        }
    }

    #[tokio::test]
    async fn gives_up_a_client_that_does_not_even_answer_pings() {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let socket = WebSocketStream::from_raw_socket(ours, Role::Server, None).await;
        let (_tx, rx) = mpsc::channel(1);
        let pace = Pace { ping: Duration::from_millis(5), silence: Duration::from_millis(20) };
        timeout(Duration::from_secs(30), converse(socket, pace, rx, |_| ready(true).boxed(), pending()))
            .await
            .unwrap();
        // Nobody has read meanwhile, so that all frames are there: pings, and the goodbye with its code.
        let mut frames = Vec::new();
        theirs.read_to_end(&mut frames).await.unwrap();
        let goodbye = frames.iter().position(|byte| *byte == 0x88).unwrap();
        assert_eq!(frames[goodbye + 2..goodbye + 4], u16::from(CloseCode::Policy).to_be_bytes());
    }

    #[tokio::test]
    async fn keeps_a_client_that_answers_pings_and_nothing_else() {
        let (ours, theirs) = tokio::io::duplex(1024);
        let socket = WebSocketStream::from_raw_socket(ours, Role::Server, None).await;
        let mut client = WebSocketStream::from_raw_socket(theirs, Role::Client, None).await;
        let (_tx, rx) = mpsc::channel(1);
        let pace = Pace { ping: Duration::from_millis(20), silence: Duration::from_secs(5) };
        let pings = async {
            for _ in 0..10 {
                assert!(matches!(client.next().await, Some(Ok(Message::Ping(_)))));
            }
        };
        tokio::select! {
            () = converse(socket, pace, rx, |_| ready(true).boxed(), pending()) => panic!("the client was given up"),
            () = pings => {}
        }
    }
}
