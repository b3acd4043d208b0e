//! The ways to a server: one file each, the same four verbs.

pub mod http;
mod http_stream;
mod process;
mod sse;
pub mod stdio;
mod ws;

use super::About;
use super::diagnosis::Diagnosis;
use super::failure::Failure;
use super::inbox::Inbox;
use crate::Version;
use std::sync::Arc;
use tokio::task::JoinHandle;

/// The longest message we take unless told otherwise.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// Where a server is, and how to talk to it.
#[derive(Debug, Clone)]
pub enum Target {
    /// A child process, on its stdin and stdout.
    Stdio(stdio::Command),
    /// Streamable HTTP.
    Http(http::Address),
    /// HTTP with a stream of events, as of 2024-11-05.
    Sse(http::Address),
    /// A WebSocket, at `ws` or `wss`.
    Ws(http::Address),
}

/// A message on its way out.
pub(super) struct Outgoing<'a> {
    pub(super) text: String,
    /// Of a request, which is to be answered.
    pub(super) id: Option<u64>,
    pub(super) method: &'a str,
    pub(super) about: About<'a>,
}

/// An open way to a server.
pub(super) enum Transport {
    Stdio(stdio::Stdio),
    Http(http::Http),
    Sse(sse::Sse),
    Ws(ws::Ws),
}

impl Transport {
    pub(super) async fn open(
        target: &Target,
        inbox: &Arc<Inbox>,
        diagnosis: &Arc<Diagnosis>,
        max_message_bytes: usize,
    ) -> Result<Self, Failure> {
        Ok(match target {
            Target::Stdio(command) => {
                Self::Stdio(stdio::Stdio::start(command, inbox, diagnosis, max_message_bytes)?)
            }
            Target::Http(address) => Self::Http(http::Http::new(address, inbox, max_message_bytes)),
            Target::Sse(address) => Self::Sse(sse::Sse::open(address, inbox, max_message_bytes).await?),
            Target::Ws(address) => Self::Ws(ws::Ws::open(address, inbox, max_message_bytes).await?),
        })
    }

    /// Sends a message. Over HTTP this ends when its answer has been delivered to the inbox.
    pub(super) async fn send(&self, message: Outgoing<'_>) -> Result<(), Failure> {
        match self {
            Self::Stdio(stdio) => stdio.send(message).await,
            Self::Http(http) => http.send(message).await,
            // Boxed, so that the future is no larger than the others need.
            Self::Sse(sse) => Box::pin(sse.send(message)).await,
            Self::Ws(ws) => Box::pin(ws.send(message)).await,
        }
    }

    /// Sends a message that nobody waits for, if there is room.
    pub(super) fn post(&self, text: String) {
        match self {
            Self::Stdio(stdio) => stdio.post(text),
            Self::Http(http) => http.post(text),
            Self::Sse(sse) => sse.post(text),
            Self::Ws(ws) => ws.post(text),
        }
    }

    /// Both sides have agreed on a version.
    pub(super) fn agree(&self, version: Version) {
        if let Self::Http(http) = self {
            http.agree(version);
        }
    }

    /// The handshake is done: messages may come unasked.
    pub(super) async fn listen(&self) {
        if let Self::Http(http) = self {
            http.listen().await;
        }
    }

    /// Ends the connection politely, and by force where that does not help.
    pub(super) async fn close(&self) {
        match self {
            Self::Stdio(stdio) => stdio.close().await,
            Self::Http(http) => http.close().await,
            Self::Sse(_) => {}
            Self::Ws(ws) => ws.close().await,
        }
    }
}

/// A task that ends with its owner.
#[derive(Debug)]
pub(super) struct Owned(JoinHandle<()>);

impl Owned {
    pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.abort();
    }
}
