//! A language model on loopback that answers as a script says, in the dialect and the way it is asked in, or badly.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// A running model; it stops when dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
    given_up: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The path with its query.
    pub path: String,
    /// The head, in lower case.
    pub head: String,
    /// The body; `null` where there is none.
    pub body: Value,
    /// The body as it was written.
    pub text: String,
}

/// What is answered.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A text, and calls of tools as name and arguments; 10 tokens read, 5 written.
    Says(String, Vec<(String, String)>),
    /// The same, cut off at the most tokens.
    SaysHalf(String, Vec<(String, String)>),
    /// A status with headers and a body.
    Raw(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// The beginning of a streamed answer, then the connection ends.
    Cut(String),
    /// These bytes without end.
    Endless(Vec<u8>),
    /// Nothing, for so long, and then the other reply.
    Late(Duration, Box<Reply>),
}

impl Reply {
    /// A text.
    #[must_use]
    pub fn says(text: &str) -> Self {
        Self::Says(text.to_owned(), Vec::new())
    }

    /// Calls of tools.
    #[must_use]
    pub fn calls(calls: &[(&str, Value)]) -> Self {
        let calls = calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.to_string()));
        Self::Says(String::new(), calls.collect())
    }

    /// An error of the provider.
    #[must_use]
    pub fn error(status: u16, message: &str) -> Self {
        Self::Raw(status, Vec::new(), json!({ "error": { "message": message } }).to_string().into_bytes())
    }
}

type Script = dyn Fn(usize, &ReceivedRequest) -> Reply + Send + Sync;

impl Model {
    /// Starts on a free port of 127.0.0.1. The script gets the number of the request, from 0, and the request.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn start(script: impl Fn(usize, &ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (requests, given_up) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let task = tokio::spawn(accept(listener, Arc::new(script), requests.clone(), given_up.clone()));
        Self { address, requests, given_up, task }
    }

    /// One reply after another; the last one for ever.
    ///
    /// # Panics
    /// When there is no reply.
    pub async fn replies(replies: Vec<Reply>) -> Self {
        Self::start(move |number, _| replies[number.min(replies.len() - 1)].clone()).await
    }

    /// `http://127.0.0.1:port`
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was asked so far, in order.
    #[must_use]
    pub fn asked(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many have gone away while they were to wait for a late reply.
    #[must_use]
    pub fn given_up(&self) -> usize {
        self.given_up.load(Ordering::Relaxed)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    listener: TcpListener,
    script: Arc<Script>,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
    given_up: Arc<AtomicUsize>,
) {
    // Dropped with this task, which ends the connections too.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (script, requests, given_up) = (script.clone(), requests.clone(), given_up.clone());
        connections.spawn(async move {
            // A connection that ends badly is what some tests ask for.
            let _ = serve(stream, &*script, &requests, &given_up).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(
    mut stream: TcpStream,
    script: &Script,
    requests: &Mutex<Vec<ReceivedRequest>>,
    given_up: &AtomicUsize,
) -> std::io::Result<()> {
    let asked = read(&mut stream).await?;
    let number = {
        let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(asked.clone());
        requests.len() - 1
    };
    let mut reply = script(number, &asked);
    while let Reply::Late(time, then) = reply {
        // Nothing more is sent to us, so that whatever can be read is the end of the connection.
        if tokio::time::timeout(time, stream.read(&mut [0])).await.is_ok() {
            given_up.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        reply = *then;
    }
    write(&mut stream, &asked, reply).await?;
    stream.shutdown().await
}

async fn read(stream: &mut TcpStream) -> std::io::Result<ReceivedRequest> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    while bytes.len() < end + length.unwrap_or(0) {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let text = String::from_utf8_lossy(&bytes[end..]).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    Ok(ReceivedRequest { path, head: lower, body: serde_json::from_str(&text).unwrap_or_default(), text })
}

async fn write(stream: &mut TcpStream, asked: &ReceivedRequest, reply: Reply) -> std::io::Result<()> {
    let is_streamed = asked.body["stream"] == true || asked.path.contains("streamGenerateContent");
    match reply {
        Reply::Says(text, calls) => say(stream, asked, is_streamed, &text, &calls, "stop").await?,
        Reply::SaysHalf(text, calls) => say(stream, asked, is_streamed, &text, &calls, "length").await?,
        Reply::Raw(status, headers, body) => {
            let headers: String =
                headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let head = format!(
                "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(&body).await?;
        }
        Reply::Cut(text) => {
            begin_stream(stream).await?;
            let chunk = json!({ "choices": [{ "delta": { "content": text } }] });
            chunked(stream, &format!("data: {chunk}\n\n")).await?;
        }
        Reply::Endless(bytes) => {
            begin_stream(stream).await?;
            loop {
                chunked(stream, &String::from_utf8_lossy(&bytes)).await?;
            }
        }
        Reply::Late(..) => {}
    }
    Ok(())
}

async fn begin_stream(stream: &mut TcpStream) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await
}

async fn chunked(stream: &mut TcpStream, text: &str) -> std::io::Result<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await
}

async fn say(
    stream: &mut TcpStream,
    asked: &ReceivedRequest,
    is_streamed: bool,
    text: &str,
    calls: &[(String, String)],
    stop: &str,
) -> std::io::Result<()> {
    let events = match asked.path.as_str() {
        path if path.contains("/messages") => anthropic(text, calls, stop),
        path if path.contains("enerateContent") => gemini(text, calls, stop),
        _ => openai(text, calls, stop),
    };
    if !is_streamed {
        let body = events.whole.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        return stream.write_all(body.as_bytes()).await;
    }
    begin_stream(stream).await?;
    for event in events.streamed {
        chunked(stream, &format!("data: {event}\n\n")).await?;
    }
    stream.write_all(b"0\r\n\r\n").await
}

/// One answer in one dialect, whole and in events.
struct Written {
    whole: Value,
    streamed: Vec<String>,
}

fn halves(text: &str) -> [&str; 2] {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    [&text[..middle], &text[middle..]]
}

fn openai(text: &str, calls: &[(String, String)], stop: &str) -> Written {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5 });
    let call = |(at, (name, arguments)): (usize, &(String, String))| {
        json!({ "index": at, "id": format!("c{at}"), "type": "function",
            "function": { "name": name, "arguments": arguments } })
    };
    let all: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let content = if text.is_empty() { Value::Null } else { text.into() };
    let whole = json!({ "choices": [{ "index": 0, "finish_reason": stop,
        "message": { "role": "assistant", "content": content, "tool_calls": all } }], "usage": usage });
    let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] }).to_string();
    let mut streamed: Vec<_> =
        halves(text).into_iter().map(|half| delta(json!({ "content": half }))).collect();
    for (at, (name, arguments)) in calls.iter().enumerate() {
        let [first, second] = halves(arguments);
        streamed.push(delta(json!({ "tool_calls": [{ "index": at, "id": format!("c{at}"),
            "function": { "name": name, "arguments": first } }] })));
        streamed.push(delta(json!({ "tool_calls": [{ "index": at, "function": { "arguments": second } }] })));
    }
    streamed.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": stop }] }).to_string());
    streamed.push(json!({ "choices": [], "usage": usage }).to_string());
    streamed.push("[DONE]".to_owned());
    Written { whole, streamed }
}

fn anthropic(text: &str, calls: &[(String, String)], stop: &str) -> Written {
    let stop = if stop == "length" { "max_tokens" } else { "end_turn" };
    let input = |arguments: &str| serde_json::from_str::<Value>(arguments).unwrap_or_default();
    let mut content: Vec<Value> = Vec::new();
    if !text.is_empty() {
        content.push(json!({ "type": "text", "text": text }));
    }
    for (at, (name, arguments)) in calls.iter().enumerate() {
        content.push(
            json!({ "type": "tool_use", "id": format!("c{at}"), "name": name, "input": input(arguments) }),
        );
    }
    let whole = json!({ "type": "message", "content": content, "stop_reason": stop,
        "usage": { "input_tokens": 10, "output_tokens": 5 } });
    let mut streamed = vec![json!({ "type": "message_start",
        "message": { "usage": { "input_tokens": 10, "output_tokens": 1 } } })];
    for (index, block) in content.iter().enumerate() {
        let mut begun = block.clone();
        let (field, parts) = match block["type"].as_str() {
            Some("text") => ("text", text.to_owned()),
            _ => ("partial_json", block["input"].to_string()),
        };
        begun[if field == "text" { "text" } else { "input" }] =
            if field == "text" { "".into() } else { json!({}) };
        streamed.push(json!({ "type": "content_block_start", "index": index, "content_block": begun }));
        for half in halves(&parts) {
            let delta = json!({ "type": format!("{field}_delta"), field: half });
            streamed.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        streamed.push(json!({ "type": "content_block_stop", "index": index }));
    }
    streamed.push(
        json!({ "type": "message_delta", "delta": { "stop_reason": stop }, "usage": { "output_tokens": 5 } }),
    );
    streamed.push(json!({ "type": "message_stop" }));
    Written { whole, streamed: streamed.iter().map(Value::to_string).collect() }
}

fn gemini(text: &str, calls: &[(String, String)], stop: &str) -> Written {
    let stop = if stop == "length" { "MAX_TOKENS" } else { "STOP" };
    let args = |arguments: &str| serde_json::from_str::<Value>(arguments).unwrap_or_default();
    let call = |(name, arguments): &(String, String)| json!({ "functionCall": { "name": name, "args": args(arguments) } });
    let usage = json!({ "promptTokenCount": 10, "candidatesTokenCount": 5 });
    let said = |parts: Vec<Value>| json!({ "role": "model", "parts": parts });
    let mut parts: Vec<Value> = Vec::new();
    if !text.is_empty() {
        parts.push(json!({ "text": text }));
    }
    parts.extend(calls.iter().map(call));
    let whole =
        json!({ "candidates": [{ "content": said(parts), "finishReason": stop }], "usageMetadata": usage });
    let mut streamed: Vec<Value> = Vec::new();
    for half in halves(text).into_iter().filter(|half| !half.is_empty()) {
        streamed.push(json!({ "candidates": [{ "content": said(vec![json!({ "text": half })]) }] }));
    }
    streamed.push(
        json!({ "candidates": [{ "content": said(calls.iter().map(call).collect()), "finishReason": stop }],
        "usageMetadata": usage }),
    );
    Written { whole, streamed: streamed.iter().map(Value::to_string).collect() }
}
