//! The loop of every transport, second half: a request becomes messages, and then its response.

use super::batch::Batch;
use super::client::{CallingClient, Capabilities, InputRequest};
use super::input_required::Resumed;
use super::listen::Listening;
use super::outcome::GoesOn;
use super::pending::PendingRequest;
use super::request::{Request, ServiceRequest};
use super::running::{Next, RunningRequest};
use super::sessions::OpenSession;
use super::wanted::WantedNotifications;
use super::{Answered, Door};
use crate::auth::Access;
use crate::finish::finish;
use mcp::{Era, Id, Version, envelope};
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tool::Context;

/// A request that was understood, and is to be worked on.
pub(super) struct Accepted {
    pub(super) request: Request,
    pub(super) requester: Requester,
}

/// Who waits for the response, and how it is told things meanwhile.
pub(super) struct Requester {
    pub(super) id: Id,
    pub(super) version: Version,
    pub(super) cx: Context,
    pub(super) access: Access,
    pub(super) door: Arc<Door>,
    pub(super) owner: String,
    pub(super) session: Option<Arc<OpenSession>>,
    /// Where a service may ask the client something.
    pub(super) capabilities: Option<Capabilities>,
    pub(super) wanted: WantedNotifications,
    /// Until its response goes out, the client can cancel it.
    pub(super) pending: Option<PendingRequest>,
    /// A client that goes away has cancelled its request.
    pub(super) is_cancelled_when_gone: bool,
}

/// What goes out for a request, one after the other.
pub(super) enum Output {
    /// A message before the response.
    Message(String),
    /// The response, which is the last; with the code of the error, if it is one.
    Response(String, Option<i32>),
    /// The client has cancelled its request, and gets no response.
    Cancelled,
}

/// The responses to what was sent at once.
pub(super) enum Responses {
    One(Response),
    Batch(Batch),
}

impl Responses {
    /// What goes out next; nothing after the end.
    pub(super) async fn next(&mut self) -> Option<Output> {
        match self {
            Self::One(response) => response.next().await,
            Self::Batch(batch) => batch.next().await,
        }
    }

    /// The id of the request, if it is a subscription, which does not end by itself.
    pub(super) fn subscription(&self) -> Option<&RawValue> {
        match self {
            Self::One(Response { state: State::Listening(_), id, .. }) => Some(id),
            Self::One(_) | Self::Batch(_) => None,
        }
    }
}

/// The response to one request, and what goes out before it.
pub(super) struct Response {
    id: Id,
    door: Arc<Door>,
    owner: String,
    cancel: CancellationToken,
    pending: Option<PendingRequest>,
    state: State,
}

enum State {
    /// Until it has gone out.
    Ready(Option<Answered<String>>),
    Running(RunningRequest),
    Listening(Box<Listening>),
}

impl From<Answered<String>> for State {
    fn from(answer: Answered<String>) -> Self {
        Self::Ready(Some(answer))
    }
}

impl Accepted {
    /// Answers what needs no service, and begins to work on the rest.
    pub(super) async fn respond(self) -> Response {
        let Self { request, requester } = self;
        let (door, cx, era) = (&requester.door, &requester.cx, requester.version.era());
        let token = requester.session.as_ref().map_or("", |session| &session.token);
        if let Some(startup) = &door.startup {
            startup.wait(&door.gateway, cx, &request, &door.closing).await;
        }
        let answer = match request {
            Request::Ping | Request::SetLevel(_) => Ok("{}".to_owned()),
            Request::Discover => Ok(door.discover(cx, era)),
            Request::ListTools { cursor } => door.list_tools(cx, era, cursor.as_deref()),
            Request::List { kind, cursor } => door.list(cx, era, kind, cursor.as_deref()),
            Request::Subscribe(uri) => door.subscribe(cx, token, uri).await,
            Request::Unsubscribe(uri) => door.unsubscribe(token, &uri),
            Request::Listen(filter) => {
                match Listening::begin(door, cx.clone(), &requester.access, &requester.id, filter).await {
                    Ok(listening) => return requester.response(State::Listening(Box::new(listening))),
                    Err(error) => Err(error),
                }
            }
            Request::Task(request) => {
                door.task(cx, requester.version, requester.capabilities.as_ref(), request).await
            }
            Request::Service(request) => return requester.run(request),
        };
        requester.response(answer.into())
    }
}

impl Requester {
    fn response(self, state: State) -> Response {
        let Self { id, door, owner, cx, pending, .. } = self;
        Response { id, door, owner, cancel: cx.cancel, pending, state }
    }

    /// Has a service work on a request, or goes on with one that has got its input.
    fn run(self, mut request: ServiceRequest) -> Response {
        let Self { id, door, owner, mut cx, version, pending, wanted, .. } = self;
        let (subject, cancel) = (request.subject(), cx.cancel.clone());
        let state = match door.input_required.resume(&owner, &subject, request.extras_mut()) {
            Some(Resumed::Again(result)) => Ok(result).into(),
            Some(Resumed::Refused(error)) => Err(error).into(),
            Some(Resumed::Running(running)) => State::Running(running.taken_up(&cancel, wanted)),
            None => {
                let events = wanted.listen(&mut cx);
                let goes_on_as = match &self.capabilities {
                    Some(capabilities) if version.era() == Era::Modern && capabilities.speaks_of_tasks() => {
                        GoesOn::Task
                    }
                    _ => GoesOn::Run,
                };
                let for_client = self.capabilities.map(|capabilities| {
                    let session = self.session.as_ref().map(|open| &*open.token);
                    let session = session.filter(|token| !token.is_empty()).unwrap_or(&door.id);
                    let (client, rx) =
                        CallingClient::open(capabilities, version, &owner, session, &door.server_requests);
                    cx.client = Some(client);
                    rx
                });
                let gone = self.is_cancelled_when_gone.then(|| cancel.clone().drop_guard());
                let service = door.clone();
                let work =
                    finish(
                        &door.calls,
                        async move { service.answer(&cx, version, goes_on_as, request).await },
                    );
                let ended = None;
                let (cancel, taken_up_by) = (cancel.clone(), None);
                State::Running(RunningRequest {
                    work,
                    ended,
                    events,
                    for_client,
                    wanted,
                    subject: subject.into(),
                    cancel,
                    taken_up_by,
                    gone,
                })
            }
        };
        Response { id, door, owner, cancel, pending, state }
    }
}

impl Response {
    /// What goes out next; nothing after the end.
    pub(super) async fn next(&mut self) -> Option<Output> {
        let answer = loop {
            let message = match &mut self.state {
                State::Ready(answer) => break answer.take()?,
                State::Listening(listening) => match listening.next().await {
                    Some(message) => message,
                    None => break Ok(listening.result()),
                },
                State::Running(running) => match running.next().await {
                    Next::Message(message) => message,
                    Next::End(answer) => break answer,
                    Next::InputRequired(input) => break self.keep(input)?,
                },
            };
            // A client that has cancelled does not want to hear it.
            if !self.cancel.is_cancelled() {
                return Some(Output::Message(message));
            }
        };
        let is_cancelled = self.cancel.is_cancelled();
        self.state = State::Ready(None);
        // Before the response goes out: the client may use the id again at once.
        self.pending = None;
        let (text, code) = match answer {
            Ok(result) => (envelope::result(&self.id, &result), None),
            Err(error) => (envelope::error(Some(&self.id), &error), Some(error.code)),
        };
        Some(if is_cancelled { Output::Cancelled } else { Output::Response(text, code) })
    }

    /// Lets the work go on in a task of its own.
    pub(super) fn detach(&mut self) {
        if let State::Running(running) = &mut self.state {
            running.work.detach();
        }
    }

    /// Keeps the work until the client repeats its request with the input.
    fn keep(&mut self, input: InputRequest) -> Option<Answered<String>> {
        match std::mem::replace(&mut self.state, State::Ready(None)) {
            State::Running(running) => Some(self.door.input_required.keep(&self.owner, running, input)),
            State::Ready(_) | State::Listening(_) => None,
        }
    }
}
