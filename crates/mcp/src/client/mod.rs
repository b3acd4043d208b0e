//! The client role: one connection to a server, many requests under way, payloads untouched.

mod diagnosis;
mod failure;
mod handshake;
mod inbox;
mod meta;
mod server_requests;
pub mod transport;
mod unreadable;

pub use diagnosis::Diagnosis;
pub use failure::Failure;
pub use handshake::Server;
pub use inbox::Notification;
pub use server_requests::{ability as ability_of, method as method_of};
pub use transport::Target;

use crate::{Era, Version};
use inbox::{Inbox, Response};
use serde_json::value::RawValue;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tool::{Context, OnlyClient};
use tracing::debug;
use transport::{Outgoing, Owned, Transport};

/// What a request is about, told in headers where the transport has such.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    /// The name of a tool or prompt, or the URI of a resource.
    pub name: Option<&'a str>,
    /// Arguments that the tool's schema wants in headers, by the header's name.
    pub params: &'a [(String, String)],
}

/// How long a server at a URL may take to say whether it wants a handshake.
const DISCOVERY: Duration = Duration::from_secs(5);

/// How a connection is to be made.
#[derive(Debug, Clone)]
pub struct Options {
    /// The longest message that is taken; a longer one ends the connection.
    pub max_message_bytes: usize,
    /// Where a child's other words are kept, also when the connection fails.
    pub diagnosis: Arc<Diagnosis>,
    /// How the server has begun before.
    pub known: Option<Era>,
    /// The version to begin with, where it is not left to the two sides.
    pub version: Option<Version>,
    /// Whom the server may ask while no call runs, where there is only one to ask.
    pub only_client: Option<Arc<OnlyClient>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_message_bytes: transport::MAX_MESSAGE_BYTES,
            diagnosis: Arc::default(),
            known: None,
            version: None,
            only_client: None,
        }
    }
}

/// A connection to a server. Dropping it ends the connection at once; `close` does it politely.
pub struct Client {
    inbox: Arc<Inbox>,
    transport: Arc<Transport>,
    server: Server,
    /// Ends with the connection.
    _answering: Owned,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Client {
    /// Connects and agrees on a version. What the server tells unasked comes out of the channel.
    ///
    /// # Errors
    /// When nobody is there, or who is there does not speak MCP.
    pub async fn connect(
        cx: &Context,
        target: &Target,
        options: &Options,
    ) -> Result<(Self, mpsc::Receiver<Notification>), Failure> {
        let connected = Self::agree(cx, target, options).await?;
        options.diagnosis.calls_begin();
        Ok(connected)
    }

    async fn agree(
        cx: &Context,
        target: &Target,
        options: &Options,
    ) -> Result<(Self, mpsc::Receiver<Notification>), Failure> {
        let is_modern = match options.version {
            Some(version) => version.era() == Era::Modern,
            // A server on stdio that is asked in the wrong way costs a process.
            None => matches!(target, Target::Stdio(_)) && options.known == Some(Era::Modern),
        };
        if is_modern {
            return Self::connect_modern(cx, target, options).await;
        }
        let may_be_modern = matches!(target, Target::Http(_) | Target::Stdio(_)) && options.version.is_none();
        // Over HTTP each request stands for itself, so that asking costs nothing but a round trip.
        let is_asked_first =
            may_be_modern && matches!(target, Target::Http(_)) && options.known != Some(Era::Legacy);
        if is_asked_first {
            let time = Duration::min(cx.remaining(), DISCOVERY);
            let asking = Context { deadline: Instant::now() + time, ..cx.clone() };
            match Self::connect_modern(&asking, target, options).await {
                Err(failure) if handshake::may_be_legacy(&failure) => {
                    debug!(%failure, "the MCP server wants a handshake");
                }
                result => return result,
            }
        }
        let (mut client, notifications) = Self::open(cx, target, options).await?;
        match client.initialize(cx, options.version.unwrap_or(Version::LATEST_LEGACY)).await {
            Ok(server) => client.server = server,
            Err(failure) if may_be_modern && !is_asked_first && handshake::may_be_modern(&failure) => {
                debug!(%failure, "the MCP server has no handshake; asking as of 2026-07-28");
                // A server on stdio keeps to the era of the first message it sees: another process.
                drop(client);
                return Self::connect_modern(cx, target, options).await.map_err(|_| failure);
            }
            Err(failure) => return Err(failure),
        }
        Ok((client, notifications))
    }

    async fn open(
        cx: &Context,
        target: &Target,
        options: &Options,
    ) -> Result<(Self, mpsc::Receiver<Notification>), Failure> {
        let (inbox, receivers) = Inbox::new(options.only_client.clone());
        let inbox = Arc::new(inbox);
        let opening = Transport::open(target, &inbox, &options.diagnosis, options.max_message_bytes);
        let transport = Arc::new(until_ended(cx, opening).await?);
        let answering =
            Owned::spawn(server_requests::answer_all(receivers.server_requests, transport.clone()));
        let client = Self { inbox, transport, server: Server::unknown(), _answering: answering };
        Ok((client, receivers.notifications))
    }

    /// Asks without a handshake.
    async fn connect_modern(
        cx: &Context,
        target: &Target,
        options: &Options,
    ) -> Result<(Self, mpsc::Receiver<Notification>), Failure> {
        let (mut client, notifications) = Self::open(cx, target, options).await?;
        client.server = match client.discover(cx).await {
            // It says that it does speak what we have asked in.
            Err(Failure::Rpc(refused)) if handshake::is_invitation(&refused) => client.discover(cx).await?,
            discovered => discovered?,
        };
        Ok((client, notifications))
    }

    /// Sends a request and waits for its answer, as long as `cx` allows. `params` is the JSON text of an
    /// object. Progress goes to `cx.events`; the server is told when nobody waits any more.
    ///
    /// # Errors
    /// When the server refuses, the connection breaks, or `cx` ends the wait.
    pub async fn request(
        &self,
        cx: &Context,
        method: &str,
        params: Option<&str>,
    ) -> Result<Box<RawValue>, Failure> {
        self.request_about(cx, method, About::default(), params).await
    }

    /// The same for a request about something with a name: a tool, a prompt, a resource.
    ///
    /// # Errors
    /// As for `request`.
    pub async fn request_about(
        &self,
        cx: &Context,
        method: &str,
        about: About<'_>,
        params: Option<&str>,
    ) -> Result<Box<RawValue>, Failure> {
        let id = self.inbox.next_id();
        let mut number = itoa::Buffer::new();
        let head =
            [r#"{"jsonrpc":"2.0","id":"#, number.format(id), r#","method":""#, method, r#"","params":"#];
        let mut text = String::with_capacity(256 + params.map_or(0, str::len));
        text.extend(head);
        self.write_params(cx, id, params, &mut text)?;
        text.push('}');
        self.ask(cx, Outgoing { text, id: Some(id), method, about }, id).await
    }

    fn write_params(
        &self,
        cx: &Context,
        id: u64,
        params: Option<&str>,
        text: &mut String,
    ) -> Result<(), Failure> {
        match self.server.version.era() {
            Era::Legacy => {
                let mut ours = r#""progressToken":"#.to_owned();
                ours.push_str(itoa::Buffer::new().format(id));
                meta::write_with_meta(params, &ours, &handshake::REPLACED, text)
            }
            Era::Modern => handshake::write_modern_params(cx, id, params, text),
        }
    }

    async fn ask(&self, cx: &Context, message: Outgoing<'_>, id: u64) -> Response {
        let is_cancellable = message.method != "initialize";
        let response = self.inbox.expect(id, cx)?;
        let mut wait = Wait { client: self, id, is_cancellable };
        // Futures that are moved about by value are copied about by value.
        let sending = pin!(self.transport.send(message));
        let exchange = pin!(exchange(sending, response));
        let result = until_ended(cx, exchange).await;
        wait.is_cancellable &= matches!(result, Err(Failure::Timeout | Failure::Cancelled));
        result
    }

    /// Asks for a sign of life, in the words of the server's era.
    ///
    /// # Errors
    /// As for `request`; a refusal is a sign of life, too.
    pub async fn ping(&self, cx: &Context) -> Result<(), Failure> {
        let method = match self.server.version.era() {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        };
        self.request(cx, method, None).await.map(drop)
    }

    /// Tells the server something; no answer comes.
    ///
    /// # Errors
    /// When the connection is broken.
    pub async fn notify(&self, cx: &Context, method: &str, params: Option<&str>) -> Result<(), Failure> {
        let params = params.map_or_else(String::new, |params| format!(r#","params":{params}"#));
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params}}}"#);
        until_ended(cx, self.transport.send(Outgoing { text, id: None, method, about: About::default() }))
            .await
    }

    /// What the server said about itself.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The version both sides speak.
    #[must_use]
    pub fn version(&self) -> Version {
        self.server.version
    }

    /// The server knows this connection again: over HTTP it has named a session, elsewhere there is the connection itself.
    #[must_use]
    pub fn has_session(&self) -> bool {
        match &*self.transport {
            Transport::Http(http) => http.has_session(),
            Transport::Stdio(_) | Transport::Sse(_) | Transport::Ws(_) => true,
        }
    }

    /// Ticks when the server says that a list of it has changed; no storm makes it miss one.
    #[must_use]
    pub fn lists_changed(&self) -> watch::Receiver<u64> {
        self.inbox.lists_changed()
    }

    /// The server has asked for roots, so that it wants to hear when they are others.
    #[must_use]
    pub fn has_asked_for_roots(&self) -> bool {
        self.inbox.has_asked_for_roots()
    }

    /// How many notifications found no room in the channel.
    #[must_use]
    pub fn dropped_notifications(&self) -> u64 {
        self.inbox.dropped()
    }

    /// Fires when the connection has ended.
    #[must_use]
    pub fn closed(&self) -> &CancellationToken {
        self.inbox.closed()
    }

    /// Why the connection has ended, if it has.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.inbox.failure()
    }

    /// After this failure of a request the connection is of no use to others either.
    #[must_use]
    pub fn is_ended_by(&self, failure: &Failure) -> bool {
        // Over HTTP each exchange stands for itself.
        let is_one_of_many = matches!(*self.transport, Transport::Http(_));
        match failure {
            Failure::Stale => true,
            Failure::Broken { .. } if !is_one_of_many => true,
            _ => self.closed().is_cancelled(),
        }
    }

    /// Ends the connection politely: a child may finish and is then made to, a session is deleted.
    pub async fn close(&self) {
        self.transport.close().await;
    }
}

/// Ends a wait however it ends, also when the future is dropped.
struct Wait<'a> {
    client: &'a Client,
    id: u64,
    /// The server is to know that nobody waits any more.
    is_cancellable: bool,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        // Over HTTP in the modern era, closing the response is the cancel, and has happened.
        let is_told = self.client.server.version.era() == Era::Legacy
            || !matches!(*self.client.transport, Transport::Http(_));
        if self.client.inbox.forget(self.id) && self.is_cancellable && is_told {
            let id = self.id;
            self.client.transport.post(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"the caller stopped waiting"}}}}"#
            ));
        }
    }
}

/// Sends and waits for the response, which may come before sending has ended.
async fn exchange(
    sending: impl Future<Output = Result<(), Failure>>,
    mut response: oneshot::Receiver<Response>,
) -> Response {
    let gone = |_| Err(Failure::cut_off("the connection is closed"));
    tokio::select! {
        biased;
        response = &mut response => return response.unwrap_or_else(gone),
        sent = sending => sent?,
    }
    response.await.unwrap_or_else(gone)
}

/// Waits as long as `cx` allows.
async fn until_ended<T>(cx: &Context, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    cx.within(work).await?
}
