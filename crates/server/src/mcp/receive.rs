//! The loop of every transport, first half: what a client sends is read, and answered here unless it is a request.

use super::client::{Capabilities, question_mode_of};
use super::connection::Connection;
use super::http::Headers;
use super::received::{BatchEntry, Fault, Handled, Handshake, Received, Refusal};
use super::request::Request;
use super::respond::{Accepted, Requester};
use super::sessions::OpenSession;
use super::wanted::WantedNotifications;
use super::{Answered, Door};
use crate::auth::Access;
use mcp::envelope::{self, Kind};
use mcp::modern::Meta;
use mcp::{Era, Id, Message, RpcError, Version};
use serde_json::value::RawValue;
use std::sync::Arc;
use tool::Context;

/// Messages in one batch.
const MAX_MESSAGES: usize = 100;
const ONE_VERSION: &str = "batches are for clients of 2025-03-26; send one message at a time";
const NO_HANDSHAKE: &str = "'initialize' cannot be part of a batch";

/// The client that a text comes from, as its transport knows it.
#[derive(Clone)]
pub(super) struct Sender<'a> {
    pub(super) door: Arc<Door>,
    pub(super) cx: Context,
    /// By which the client is here, for what goes on.
    pub(super) access: Access,
    /// Whose responses are taken, and whose requests go on; empty on a connection, whose door has one client.
    pub(super) owner: String,
    pub(super) transport: Transport<'a>,
    /// The message is one of a batch.
    pub(super) is_batched: bool,
}

/// How the text came.
#[derive(Clone, Copy)]
pub(super) enum Transport<'a> {
    /// In a request over HTTP, whose headers name the session and must say what the body says.
    Http(Headers<'a>),
    /// On a connection, which is the session.
    Connection(&'a Connection),
}

impl Sender<'_> {
    /// Reads one message, or several at once. Notifications and responses are dealt with at once, in the order in
    /// which they come.
    pub(super) fn receive(self, text: &[u8]) -> Received {
        let received = match envelope::is_batch(text) {
            false => self.receive_message(text).map(Received::Message),
            true => self.receive_batch(text).map(|entries| match entries {
                Some(entries) => Received::Batch(entries),
                None => Received::Message(Handled::Exit),
            }),
        };
        received.unwrap_or_else(Received::Refused)
    }

    fn receive_message(self, text: &[u8]) -> Result<Handled, Refusal> {
        let message = Message::parse(text)?;
        let kind = message.kind()?;
        let (era, meta) = match self.era(&message, &kind) {
            Ok(told) => told,
            Err(error) => {
                return Err(Refusal { id: kind.request_id().map(ToOwned::to_owned), ..error.into() });
            }
        };
        match kind {
            Kind::Request { id, method }
                if self.is_batched && (era == Era::Modern || method == "initialize") =>
            {
                let why = if era == Era::Modern { ONE_VERSION } else { NO_HANDSHAKE };
                Err(Refusal { id: Some(id), ..RpcError::invalid_request(why).into() })
            }
            Kind::Request { id, method: "initialize" } if era == Era::Legacy => match message.params() {
                Ok(initialize) => {
                    let Self { cx, owner, .. } = self;
                    Ok(Handled::Initialize(Handshake { id, initialize, cx, owner }))
                }
                Err(error) => Err(Refusal { fault: Fault::Request, id: Some(id), error }),
            },
            Kind::Request { id, method } => self.accept(id, era, &meta, method, &message),
            Kind::Notification { method } => self.notified(era, method, &message),
            Kind::Response { id } => {
                if self.session(era)?.is_some() {
                    self.door.server_requests.respond(&self.owner, id, &message);
                }
                Ok(Handled::Nothing)
            }
        }
    }

    /// The era that a message is written in, and what it says about itself.
    fn era<'m>(&self, message: &Message<'m>, kind: &Kind<'_>) -> Answered<(Era, Meta<'m>)> {
        let is_modern = |version: Option<&str>| match self.transport {
            Transport::Http(headers) => headers.are_modern(version),
            Transport::Connection(_) => version.is_some(),
        };
        let meta = match Meta::of(message.params) {
            Ok(meta) => meta,
            Err(error) => match (self.transport, kind) {
                (_, Kind::Request { .. }) => return Err(error),
                (Transport::Http(_), _) if is_modern(None) => return Err(error),
                // What stands there is not meant for us.
                _ => Meta::default(),
            },
        };
        if let Transport::Http(headers) = self.transport {
            headers.check_version(&meta)?;
        }
        let era = if is_modern(meta.version.as_deref()) { Era::Modern } else { Era::Legacy };
        Ok((era, meta))
    }

    /// The session of a message; over HTTP only clients with a handshake have one.
    fn session(&self, era: Era) -> Result<Option<Arc<OpenSession>>, Refusal> {
        match (self.transport, era) {
            (Transport::Connection(connection), _) => Ok(Some(connection.session())),
            (Transport::Http(headers), Era::Legacy) => headers.session(&self.owner).map(Some),
            (Transport::Http(_), Era::Modern) => Ok(None),
        }
    }

    fn notified(self, era: Era, method: &str, message: &Message<'_>) -> Result<Handled, Refusal> {
        let Some(session) = self.session(era)? else { return Ok(Handled::Nothing) };
        match (method, self.transport) {
            ("notifications/cancelled", _) => self.door.pending.cancel(&session.token, message),
            ("notifications/exit" | "exit", Transport::Connection(_)) => return Ok(Handled::Exit),
            (_, Transport::Connection(connection)) => connection.notified(method),
            (_, Transport::Http(_)) => {}
        }
        Ok(Handled::Nothing)
    }

    /// Takes a request on, which is pending from now on.
    fn accept(
        mut self,
        id: Id,
        era: Era,
        meta: &Meta<'_>,
        method: &str,
        message: &Message<'_>,
    ) -> Result<Handled, Refusal> {
        let (version, session, request) = match self.understand(era, meta, method, message) {
            Ok(understood) => understood,
            Err(refusal) => return Err(Refusal { id: Some(id), ..refusal }),
        };
        let pending =
            session.as_ref().map(|session| self.door.pending.begin(&session.token, &id, &self.cx.cancel));
        // Over HTTP each request has a response of its own, unless it is one of a batch.
        let is_told_by_id = self.is_batched || matches!(self.transport, Transport::Connection(_));
        if matches!(pending, Some(None)) && is_told_by_id {
            let message = format!("a request with the id {} is under way", id.get());
            return Err(Refusal { id: Some(id), ..RpcError::invalid_request(message).into() });
        }
        let log_level = session.as_ref().map_or(0, |session| session.log_level());
        self.cx.question_mode = Some(question_mode_of(version));
        // What a message says itself is nearer than what its request says.
        if let Some(trace) = meta.trace() {
            self.cx.trace = Some(Arc::new(trace));
        }
        let requester = Requester {
            wanted: WantedNotifications::of(era, meta, log_level),
            capabilities: capabilities(&request, era, meta, session.as_deref()),
            is_cancelled_when_gone: matches!((self.transport, era), (Transport::Http(_), Era::Modern)),
            pending: pending.flatten(),
            door: self.door,
            cx: self.cx,
            access: self.access,
            owner: self.owner,
            id,
            version,
            session,
        };
        Ok(Handled::Request(Accepted { request, requester }))
    }

    /// What is asked, in which version and session.
    fn understand(
        &self,
        era: Era,
        meta: &Meta<'_>,
        method: &str,
        message: &Message<'_>,
    ) -> Result<(Version, Option<Arc<OpenSession>>, Request), Refusal> {
        let session = self.session(era)?;
        let version = match (&session, era, self.transport) {
            (Some(session), Era::Legacy, _) => session.session.version,
            (_, _, Transport::Http(headers)) => headers.check(meta, method, message.params)?,
            (_, _, Transport::Connection(connection)) => {
                connection.has_no_handshake();
                meta.check()?
            }
        };
        if let ("shutdown", Transport::Connection(_)) = (method, self.transport) {
            return Ok((version, session, Request::Ping));
        }
        if let Transport::Http(_) = self.transport {
            tracing::info!(method, tenant = %self.cx.tenant, "mcp {method}");
        }
        let request = Request::read(version, method, message).map_err(|error| match (era, error.code) {
            (Era::Modern, -32601) => Refusal::new(Fault::Method, error),
            _ => Refusal::new(Fault::Request, error),
        })?;
        if let (Transport::Http(headers), Era::Modern) = (self.transport, era) {
            headers.check_params(&self.cx, &request)?;
        }
        if let (Some(session), Request::SetLevel(level)) = (&session, &request) {
            session.set_log_level(*level);
        }
        Ok((version, session, request))
    }

    /// Reads the messages of a batch, as 2025-03-26 allows them and no other version; `None` where one of them ends
    /// the connection.
    fn receive_batch(self, text: &[u8]) -> Result<Option<Vec<BatchEntry>>, Refusal> {
        let messages = envelope::batch(text)?;
        if let Transport::Http(headers) = self.transport {
            headers.check_version(&Meta::default())?;
            if headers.are_modern(None) {
                return Err(RpcError::invalid_request(ONE_VERSION).into());
            }
        }
        let session = self.session(Era::Legacy)?;
        if session.is_none_or(|session| session.session.version != Version::V2025_03_26) {
            return Err(RpcError::invalid_request(ONE_VERSION).into());
        }
        if messages.is_empty() || messages.len() > MAX_MESSAGES {
            let message = format!("a batch has 1 to {MAX_MESSAGES} messages");
            return Err(RpcError::invalid_request(message).into());
        }
        let mut entries = Vec::with_capacity(messages.len());
        for message in messages {
            match self.for_one().receive_message(message.get().as_bytes()) {
                Ok(Handled::Exit) => return Ok(None),
                Ok(Handled::Nothing | Handled::Initialize(_)) => {}
                Ok(Handled::Request(accepted)) => entries.push(BatchEntry::Request(accepted)),
                Err(refusal) => entries.push(BatchEntry::Refused(refusal)),
            }
        }
        Ok(Some(entries))
    }

    /// The same client for one message of a batch, which is cancelled by itself.
    fn for_one(&self) -> Self {
        let cx = match self.transport {
            Transport::Http(_) => Context { cancel: self.cx.cancel.child_token(), ..self.cx.clone() },
            Transport::Connection(connection) => connection.context_of(self.cx.caller.clone()),
        };
        Self { cx, is_batched: true, ..self.clone() }
    }
}

/// What the client has declared, where a service may ask for it: with each request, or in the handshake.
fn capabilities(
    request: &Request,
    era: Era,
    meta: &Meta<'_>,
    session: Option<&OpenSession>,
) -> Option<Capabilities> {
    let declared: Option<&RawValue> = match (request, era) {
        (Request::Service(_) | Request::Task(_), Era::Modern) => meta.capabilities,
        (Request::Service(_) | Request::Task(_), Era::Legacy) => {
            session.and_then(|session| session.session.capabilities.as_deref())
        }
        _ => None,
    };
    Capabilities::read(declared)
}
