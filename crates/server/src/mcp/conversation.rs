//! One request while it is worked on: what comes up meanwhile, and how it ends.

use super::Answered;
use super::asked::{Asked, LEVELS};
use super::door::Door;
use super::program::{Heard, Posed, Program};
use super::questions::Questions;
use crate::finish::{Finish, finish};
use mcp::modern::Meta;
use mcp::{Era, RpcError, Version, envelope};
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;
use tokio_util::task::TaskTracker;
use tool::{Context, Event, EventReceiver, Events};

/// What may wait for a client that reads slowly; progress beyond it is dropped.
const QUEUE: usize = 64;

/// What comes next.
pub(super) enum Next {
    /// A message for the client.
    Line(String),
    /// A question that is to be the outcome.
    Question(Posed),
    /// The answer.
    End(Answered<String>),
}

/// A request that is being worked on.
pub(super) struct Conversation {
    work: Finish<Answered<String>>,
    ended: Option<Answered<String>>,
    events: Option<EventReceiver>,
    heard: Option<mpsc::Receiver<Heard>>,
    wishes: Wishes,
    /// What was asked, to be compared when it is asked again.
    pub(super) subject: String,
    /// Takes the request back when nobody waits for its answer any more.
    _gone: Option<DropGuard>,
}

/// What a client wants to be told while it waits.
#[derive(Default)]
pub(super) struct Wishes {
    progress_token: Option<Box<RawValue>>,
    /// The least grave level, as a place in `LEVELS`.
    log_level: Option<usize>,
}

impl Wishes {
    /// With a handshake, log entries come down to the level that was set; without one, only if asked for.
    pub(super) fn of(era: Era, meta: &Meta<'_>, set_level: usize) -> Self {
        let level = |name: &str| LEVELS.iter().position(|level| *level == name);
        Self {
            progress_token: meta.progress_token.map(ToOwned::to_owned),
            log_level: match era {
                Era::Legacy => Some(set_level),
                Era::Modern => meta.log_level.as_deref().and_then(level),
            },
        }
    }

    fn is_silent(&self) -> bool {
        self.progress_token.is_none() && self.log_level.is_none()
    }

    fn line(&self, event: Event) -> Option<String> {
        match event {
            Event::Progress { progress, total, message } => {
                let token = self.progress_token.as_ref()?;
                let mut params = format!("{{\"progressToken\":{},\"progress\":{progress}", token.get());
                if let Some(total) = total {
                    params.push_str(&format!(",\"total\":{total}"));
                }
                if let Some(message) = message {
                    params.push_str(&format!(",\"message\":{}", serde_json::Value::from(message)));
                }
                params.push('}');
                Some(envelope::notification("notifications/progress", &params))
            }
            Event::Log { level, entry } => {
                let grave = LEVELS.iter().position(|name| *name == level).unwrap_or(LEVELS.len());
                (grave >= self.log_level?)
                    .then(|| envelope::notification("notifications/message", entry.get()))
            }
            Event::Content(_) => None,
        }
    }
}

/// Who asks, and how they can be told things.
pub(super) struct Asker<'a> {
    pub(super) version: Version,
    pub(super) owner: &'a str,
    pub(super) capabilities: Option<&'a RawValue>,
    pub(super) questions: &'a Arc<Questions>,
    pub(super) wishes: Wishes,
    /// A client that goes away has taken its request back.
    pub(super) is_cancelled_when_gone: bool,
}

impl Conversation {
    /// Begins to work on a request. The work goes on whoever listens; as long as nothing comes up, it needs no
    /// task of its own.
    pub(super) fn begin(
        door: &Door,
        calls: &TaskTracker,
        mut cx: Context,
        asker: Asker<'_>,
        asked: Asked,
        subject: String,
    ) -> Self {
        let mut events = None;
        if !asker.wishes.is_silent() {
            let (emitter, rx) = Events::channel(QUEUE);
            cx.events = emitter;
            events = Some(rx);
        }
        let mut heard = None;
        if let Some(abilities) = Program::abilities(asker.capabilities) {
            let (tx, rx) = mpsc::channel(QUEUE);
            cx.client = Some(Program::client(&abilities, &asker, tx));
            heard = Some(rx);
        }
        let gone = asker.is_cancelled_when_gone.then(|| cx.cancel.clone().drop_guard());
        let (door, version) = (door.clone(), asker.version);
        let work = finish(calls, async move { door.answer(&cx, version, asked).await });
        Self { work, ended: None, events, heard, wishes: asker.wishes, subject, _gone: gone }
    }

    /// Waits for what comes next. What was told before the end is told before it.
    pub(super) async fn next(&mut self) -> Next {
        let next = self.wait().await;
        if let Next::Line(_) | Next::Question(_) = next {
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
                match self.wishes.line(event) {
                    Some(line) => return Next::Line(line),
                    None => continue,
                }
            }
            tokio::select! {
                biased;
                event = told(&mut self.events) => {
                    if let Some(line) = self.wishes.line(event) {
                        return Next::Line(line);
                    }
                }
                heard = hear(&mut self.heard) => return match heard {
                    Heard::Line(line) => Next::Line(line),
                    Heard::Question(posed) => Next::Question(posed),
                },
                ended = &mut self.work => {
                    let mistake = |_| Err(RpcError::new(-32603, "the call ended in a mistake of ours"));
                    self.ended = Some(ended.unwrap_or_else(mistake));
                }
            }
        }
    }

    /// Nothing is worked on any more.
    pub(super) fn is_over(&self) -> bool {
        self.work.is_over()
    }
}

async fn told(events: &mut Option<EventReceiver>) -> Event {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

/// The next thing out of a channel; a closed one stays silent.
async fn hear(channel: &mut Option<mpsc::Receiver<Heard>>) -> Heard {
    if let Some(rx) = channel {
        if let Some(heard) = rx.recv().await {
            return heard;
        }
        *channel = None;
    }
    std::future::pending().await
}
