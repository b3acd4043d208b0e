//! One request while a service works on it: what comes up meanwhile, and how it ends.

use super::Answered;
use super::client::{ForClient, InputRequest};
use super::wanted::WantedNotifications;
use crate::finish::Finish;
use mcp::RpcError;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};
use tool::{Event, EventReceiver};

/// What comes next.
pub(super) enum Next {
    /// A message for the client.
    Message(String),
    /// The client is to give something before the work can go on.
    InputRequired(InputRequest),
    /// The result, or why there is none.
    End(Answered<String>),
}

/// A request that is being worked on. The work goes on whoever listens; as long as nothing comes up, it needs no
/// task of its own.
pub(super) struct RunningRequest {
    pub(super) work: Finish<Answered<String>>,
    pub(super) ended: Option<Answered<String>>,
    pub(super) events: Option<EventReceiver>,
    pub(super) for_client: Option<mpsc::Receiver<ForClient>>,
    pub(super) wanted: WantedNotifications,
    /// What is asked for, to be compared when it is asked again.
    pub(super) subject: Box<str>,
    /// Cancels the work.
    pub(super) cancel: CancellationToken,
    /// The request that has taken it up again: whoever cancels that means the work.
    pub(super) taken_up_by: Option<CancellationToken>,
    /// Cancels the work when nobody waits for its result any more.
    #[expect(dead_code, reason = "does its work when it is dropped")]
    pub(super) gone: Option<DropGuard>,
}

impl RunningRequest {
    /// Waits for what comes next. What was told before the end is told before it.
    pub(super) async fn next(&mut self) -> Next {
        let next = self.wait().await;
        if let Next::Message(_) | Next::InputRequired(_) = next {
            // The client may take its time to read or to answer.
            self.work.detach();
        }
        next
    }

    async fn wait(&mut self) -> Next {
        loop {
            if let Some(ended) = self.ended.take() {
                let left = self.events.as_mut().and_then(EventReceiver::take);
                let Some(event) = left else { return Next::End(ended) };
                self.ended = Some(ended);
                match self.wanted.notification(event) {
                    Some(message) => return Next::Message(message),
                    None => continue,
                }
            }
            tokio::select! {
                biased;
                event = next_event(&mut self.events) => {
                    if let Some(message) = self.wanted.notification(event) {
                        return Next::Message(message);
                    }
                }
                asked = next_asked(&mut self.for_client) => return match asked {
                    ForClient::Message(message) => Next::Message(message),
                    ForClient::Input(input) => Next::InputRequired(input),
                },
                () = cancelled(self.taken_up_by.as_ref()) => {
                    self.cancel.cancel();
                    self.taken_up_by = None;
                }
                ended = &mut self.work => {
                    let mistake = |_| Err(RpcError::new(-32603, "the call ended in a mistake of ours"));
                    self.ended = Some(ended.unwrap_or_else(mistake));
                }
            }
        }
    }

    /// Goes on for a request that repeats the one which began it: as that wants to be told, and until that is cancelled.
    pub(super) fn taken_up(mut self, by: &CancellationToken, wanted: WantedNotifications) -> Self {
        self.taken_up_by = Some(by.clone());
        self.wanted = wanted;
        self
    }

    /// Nothing is worked on any more.
    pub(super) fn is_over(&self) -> bool {
        self.work.is_over()
    }
}

async fn next_event(events: &mut Option<EventReceiver>) -> Event {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

async fn cancelled(request: Option<&CancellationToken>) {
    match request {
        Some(request) => request.cancelled().await,
        None => std::future::pending().await,
    }
}

/// The next thing out of a channel; a closed one stays silent.
async fn next_asked(channel: &mut Option<mpsc::Receiver<ForClient>>) -> ForClient {
    if let Some(rx) = channel {
        if let Some(asked) = rx.recv().await {
            return asked;
        }
        *channel = None;
    }
    std::future::pending().await
}
