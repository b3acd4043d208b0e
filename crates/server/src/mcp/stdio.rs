//! The door over stdio: one client, one process, one message a line.

use super::{Door, LIST_CHANGED};
use gateway::Gateway;
use mcp::envelope::{self, Kind};
use mcp::{Message, RpcError, Version};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tool::{Caller, Context, Door as DoorKind, Event, Events, TenantId};

/// The longest message; a longer one is refused and passed over.
const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;
/// Answers and notifications that may wait for a client that does not read.
const QUEUE: usize = 256;
/// Requests of one client under way at the same time; more wait in the pipe.
const MAX_IN_FLIGHT: usize = 1024;

/// How the door behaves.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The first list of tools waits this long for services that are still starting.
    pub start_wait: Duration,
    /// How long a call may take.
    pub call_timeout: Duration,
}

/// Serves one client until it says `exit` or closes its end.
///
/// `is_loaded` turns true when every service has said what it offers, or has had its time.
pub async fn serve(
    gateway: Arc<Gateway>,
    is_loaded: watch::Receiver<bool>,
    options: Options,
    input: impl AsyncBufRead + Unpin + Send,
    output: impl AsyncWrite + Unpin + Send + 'static,
) {
    let (tx, rx) = mpsc::channel(QUEUE);
    let writer = tokio::spawn(write_lines(rx, output));
    let client = Arc::new(Client {
        door: Door { gateway, calls: TaskTracker::new(), tells_changes: true },
        is_loaded,
        options,
        tx,
        version: Mutex::new(None),
        in_flight: Mutex::default(),
        gone: CancellationToken::new(),
    });
    let requests = TaskTracker::new();
    requests.spawn(client.clone().tell_changes());
    read_messages(&client, &requests, input).await;
    client.gone.cancel();
    requests.close();
    requests.wait().await;
    client.door.calls.close();
    client.door.calls.wait().await;
    drop(client);
    // What was answered is written; a client that does not read any more is not waited for long.
    let _ = tokio::time::timeout(Duration::from_secs(2), writer).await;
}

struct Client {
    door: Door,
    is_loaded: watch::Receiver<bool>,
    options: Options,
    tx: mpsc::Sender<String>,
    /// Agreed on in the handshake.
    version: Mutex<Option<Version>>,
    /// By id as the client spelled it.
    in_flight: Mutex<HashMap<String, CancellationToken>>,
    /// Fires when the client has gone.
    gone: CancellationToken,
}

/// What a message asks of us.
enum Read {
    /// An answer under this id.
    Request(Box<RawValue>),
    Nothing,
    Exit,
}

async fn read_messages(
    client: &Arc<Client>,
    requests: &TaskTracker,
    mut input: impl AsyncBufRead + Unpin + Send,
) {
    loop {
        let line = match read_line(&mut input).await {
            Ok(Some(Ok(line))) => line,
            Ok(Some(Err(size))) => {
                let error = RpcError::invalid_request(format!("a message of {size} bytes is too large"));
                client.send(envelope::error(None, &error)).await;
                continue;
            }
            Ok(None) | Err(_) => return,
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        if !client.take(requests, line).await {
            return;
        }
    }
}

impl Client {
    /// Takes one message; false ends the conversation.
    async fn take(self: &Arc<Self>, requests: &TaskTracker, line: Vec<u8>) -> bool {
        let read = Message::parse(&line).and_then(|message| self.read(&message));
        match read {
            Ok(Read::Request(id)) => self.begin(requests, id, line).await,
            Ok(Read::Nothing) => {}
            Ok(Read::Exit) => return false,
            Err(error) => self.send(envelope::error(None, &error)).await,
        }
        true
    }

    /// What a message asks of us. Notifications and replies get no answer.
    fn read(&self, message: &Message<'_>) -> Result<Read, RpcError> {
        Ok(match message.kind()? {
            Kind::Request { id, .. } => Read::Request(id),
            Kind::Notification { method: "notifications/exit" | "exit" } => Read::Exit,
            Kind::Notification { method: "notifications/cancelled" } => {
                self.cancel(message);
                Read::Nothing
            }
            Kind::Notification { .. } | Kind::Reply => Read::Nothing,
        })
    }

    async fn begin(self: &Arc<Self>, requests: &TaskTracker, id: Box<RawValue>, line: Vec<u8>) {
        while requests.len() > MAX_IN_FLIGHT {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let cancel = self.gone.child_token();
        let is_new = self.flights().insert(id.get().to_owned(), cancel.clone()).is_none();
        if !is_new {
            let error = RpcError::invalid_request(format!("a request with the id {} is under way", id.get()));
            return self.send(envelope::error(Some(&id), &error)).await;
        }
        let client = self.clone();
        let is_handshake = self.version.lock().unwrap_or_else(PoisonError::into_inner).is_none();
        let answering = async move {
            let answer = client.answer(&id, &line, &cancel).await;
            client.flights().remove(id.get());
            // A request that was taken back gets no answer.
            if !cancel.is_cancelled() {
                client.send(answer).await;
            }
        };
        // Until the version is agreed on, one request after the other.
        if is_handshake { answering.await } else { drop(requests.spawn(answering)) }
    }

    async fn answer(&self, id: &RawValue, line: &[u8], cancel: &CancellationToken) -> String {
        let answered = async {
            let message = Message::parse(line)?;
            let Kind::Request { method, .. } = message.kind()? else {
                return Err(RpcError::invalid_request("this is no request"));
            };
            if method == "shutdown" {
                return Ok("{}".to_owned());
            }
            if method.starts_with("tools/") {
                self.wait_until_loaded().await;
            }
            let cx = self.context(&message, cancel);
            let version =
                self.version.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(Version::LATEST_LEGACY);
            let answer = self.door.answer(&cx, version, method, &message).await?;
            if let Some(version) = answer.agreed {
                *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version);
            }
            Ok(answer.result)
        };
        match answered.await {
            Ok(result) => envelope::result(id, &result),
            Err(error) => envelope::error(Some(id), &error),
        }
    }

    fn context(&self, message: &Message<'_>, cancel: &CancellationToken) -> Context {
        let caller = Arc::new(Caller::local());
        let mut cx =
            Context::new(TenantId::default_tenant(), caller, DoorKind::Mcp, self.options.call_timeout);
        cx.cancel = cancel.clone();
        if let Some(token) = progress_token(message) {
            cx.events = self.progress(token);
        }
        cx
    }

    fn own_context(&self) -> Context {
        let caller = Arc::new(Caller::local());
        Context::new(TenantId::default_tenant(), caller, DoorKind::Mcp, self.options.call_timeout)
    }

    /// Events of a call as progress notifications under the client's own token.
    fn progress(&self, token: Box<RawValue>) -> Events {
        let (events, mut rx) = Events::channel(QUEUE);
        let tx = self.tx.clone();
        tokio::spawn(async move {
            while let Some(event) = rx.recv().await {
                let Event::Progress { progress, total, message } = event else { continue };
                let mut params = format!("{{\"progressToken\":{},\"progress\":{progress}", token.get());
                if let Some(total) = total {
                    params.push_str(&format!(",\"total\":{total}"));
                }
                if let Some(message) = message {
                    params.push_str(&format!(",\"message\":{}", serde_json::Value::from(message)));
                }
                let line = format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{params}}}}}"
                );
                // A client that does not read its progress misses some.
                let _ = tx.try_send(line);
            }
        });
        events
    }

    fn cancel(&self, message: &Message<'_>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled<'a> {
            #[serde(borrow)]
            request_id: &'a RawValue,
        }
        if let Ok(cancelled) = message.params::<Cancelled<'_>>()
            && let Some(cancel) = self.flights().get(cancelled.request_id.get())
        {
            cancel.cancel();
        }
    }

    async fn wait_until_loaded(&self) {
        let mut is_loaded = self.is_loaded.clone();
        let loaded = is_loaded.wait_for(|is_loaded| *is_loaded);
        let _ = tokio::time::timeout(self.options.start_wait, loaded).await;
    }

    /// Tells the client when its tools have changed, once it has said hello.
    async fn tell_changes(self: Arc<Self>) {
        let mut swaps = self.door.gateway.catalog().changes();
        let mut told = None;
        let cx = self.own_context();
        loop {
            let has_said_hello = self.version.lock().unwrap_or_else(PoisonError::into_inner).is_some();
            if has_said_hello && *self.is_loaded.borrow() {
                let now = self.door.gateway.fingerprint(&cx);
                if told.replace(now).is_some_and(|told| told != now) {
                    self.send(LIST_CHANGED.to_owned()).await;
                }
            }
            tokio::select! {
                () = self.gone.cancelled() => return,
                changed = swaps.changed() => if changed.is_err() { return },
            }
        }
    }

    async fn send(&self, line: String) {
        // The writer ends only with the client.
        let _ = self.tx.send(line).await;
    }

    fn flights(&self) -> std::sync::MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn progress_token(message: &Message<'_>) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Params {
        #[serde(rename = "_meta")]
        meta: Option<Meta>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        progress_token: Option<Box<RawValue>>,
    }
    message.params::<Params>().ok()?.meta?.progress_token
}

/// A line without its end, or the size of one that is too long; `None` at the end of the input.
async fn read_line(
    input: &mut (impl AsyncBufRead + Unpin),
) -> std::io::Result<Option<Result<Vec<u8>, usize>>> {
    let mut line = Vec::new();
    let mut size = 0;
    loop {
        let chunk = input.fill_buf().await?;
        if chunk.is_empty() {
            return Ok((size > 0).then_some(if size > MAX_LINE_BYTES { Err(size) } else { Ok(line) }));
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        size += part.len();
        if size <= MAX_LINE_BYTES {
            line.extend_from_slice(part);
        } else {
            line = Vec::new();
        }
        let taken = part.len() + usize::from(end.is_some());
        input.consume(taken);
        if end.is_some() {
            return Ok(Some(if size > MAX_LINE_BYTES { Err(size) } else { Ok(line) }));
        }
    }
}

async fn write_lines(mut rx: mpsc::Receiver<String>, mut output: impl AsyncWrite + Unpin) {
    while let Some(line) = rx.recv().await {
        let mut lines = line.into_bytes();
        lines.push(b'\n');
        while let Ok(more) = rx.try_recv() {
            lines.extend_from_slice(more.as_bytes());
            lines.push(b'\n');
        }
        if output.write_all(&lines).await.is_err() || output.flush().await.is_err() {
            rx.close();
            return;
        }
    }
}
