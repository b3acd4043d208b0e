//! Listening: messages go to a sink, and what it says of each goes back to the broker.

use super::Mq;
use super::broker::Reader;
use super::message::{ATTEMPT_HEADER, Incoming};
use super::tool_settings::Format;
use super::tools::QueueTool;
use crate::shared::attempts::Backoff;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tool::queue::Settlement;
use tool::schema::Schema;
use tool::{Context, Delivery, Error, ErrorKind, Result, Sink, Subscription, Verdict};

/// The pauses after a broker was not there.
const BACKOFF: Backoff = Backoff { initial: Duration::from_millis(200), max: Duration::from_secs(30) };
/// How long the sink may take to answer, and a subscription to come about, once it is to stop.
const GRACE: Duration = Duration::from_secs(5);
/// How often it is tried to tell the broker what became of a message.
const TELLS: u32 = 3;

/// What all messages of a subscription share.
struct Listener {
    reader: Arc<dyn Reader>,
    sink: Arc<dyn Sink>,
    format: Format,
    schema: Option<Arc<Schema>>,
    max_attempts: u32,
    stop: CancellationToken,
    /// Fires with `stop`, and when nothing more comes from the reader.
    over: CancellationToken,
}

pub(super) async fn listen(mq: &Mq, cx: &Context, wanted: Subscription, sink: Arc<dyn Sink>) -> Result<()> {
    let tool = mq.tools.iter().find(|tool| tool.id == wanted.source).ok_or_else(|| {
        Error::not_found(format!("the service has no tool '{}' to listen to", wanted.source))
    })?;
    let places = if wanted.ordered { 1 } else { wanted.max_in_flight.max(1) };
    let room = Arc::new(Semaphore::new(places));
    let mut failures = 0;
    while !cx.cancel.is_cancelled() {
        let subscribing = mq.broker.subscribe(&tool.destination, &wanted);
        // A subscription that is given up half made may get messages that nobody reads, and keep them from others.
        let subscribed = tokio::select! {
            subscribed = subscribing => Some(subscribed),
            () = overdue(&cx.cancel) => None,
        };
        let error = match subscribed {
            None => break,
            Some(Ok(reader)) => {
                let listener = Arc::new(Listener::new(reader.into(), &sink, tool, &wanted, cx));
                let began = Instant::now();
                let ended = listener.run(&room, places).await;
                // One that breaks again and again is not better for having come about.
                if began.elapsed() > BACKOFF.max {
                    failures = 0;
                }
                match ended {
                    Ok(()) => break,
                    Err(error) => error,
                }
            }
            Some(Err(error)) => error,
        };
        if is_final(&error) {
            return Err(error);
        }
        failures += 1;
        let (pause, source) = (BACKOFF.after(failures), &wanted.source);
        tracing::warn!(source, %error, "listening to '{source}' failed, and goes on in {pause:?}: {error}");
        cx.cancel.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
    Ok(())
}

/// Comes when it has been to stop for a while.
async fn overdue(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

/// What only a change of the settings makes better.
fn is_final(error: &Error) -> bool {
    use ErrorKind::{Denied, InvalidConfig, NotFound, Unsupported};
    matches!(error.kind(), Denied | InvalidConfig | NotFound | Unsupported)
}

impl Listener {
    fn new(
        reader: Arc<dyn Reader>,
        sink: &Arc<dyn Sink>,
        tool: &QueueTool,
        wanted: &Subscription,
        cx: &Context,
    ) -> Self {
        Self {
            reader,
            sink: sink.clone(),
            format: tool.format,
            schema: tool.schema.clone(),
            max_attempts: wanted.max_attempts.max(1),
            stop: cx.cancel.clone(),
            over: cx.cancel.child_token(),
        }
    }

    /// Hands messages over until it is to stop, then waits for those under way. Ends early when the broker is gone.
    async fn run(self: &Arc<Self>, room: &Arc<Semaphore>, places: usize) -> Result<()> {
        let mut tasks = JoinSet::new();
        let ended = loop {
            while tasks.try_join_next().is_some() {}
            let first = self.over.run_until_cancelled(room.clone().acquire_owned()).await;
            let Some(Ok(first)) = first else { break Ok(()) };
            let free = room.available_permits() + 1;
            match self.reader.next(free.min(places), &self.over).await {
                Ok(messages) => {
                    let mut permit = Some(first);
                    for message in messages {
                        let permit = match permit.take() {
                            Some(permit) => permit,
                            // The reader gave no more than there was room for.
                            None => match room.clone().acquire_owned().await {
                                Ok(permit) => permit,
                                Err(_) => break,
                            },
                        };
                        let listener = self.clone();
                        tasks.spawn(async move { listener.handle(message, permit).await });
                    }
                }
                Err(error) => break Err(error),
            }
            if self.over.is_cancelled() {
                break Ok(());
            }
        };
        let is_lost = self.over.is_cancelled() && !self.stop.is_cancelled();
        self.over.cancel();
        while tasks.join_next().await.is_some() {}
        self.reader.close().await;
        match is_lost {
            true => Err(Error::unavailable("the broker did not hear what became of a message").retryable()),
            false => ended,
        }
    }

    /// Sees one message to its end. Its place stays taken while it pauses, so that a sink that takes nothing gets nothing
    /// more.
    async fn handle(&self, mut message: Incoming, permit: OwnedSemaphorePermit) {
        loop {
            let settlement = match self.delivery(&message) {
                Err(reason) => Settlement::Dead(reason),
                Ok(delivery) => match self.verdict(&message, delivery).await {
                    None => Settlement::Back,
                    Some(Verdict::Taken) => Settlement::Done,
                    Some(Verdict::Dead(reason)) => Settlement::Dead(reason),
                    Some(Verdict::Again(_)) if message.attempt >= self.max_attempts => {
                        Settlement::Dead(format!("it failed {} times", message.attempt))
                    }
                    Some(Verdict::Again(pause)) => match self.again(message, pause).await {
                        Some(same) => {
                            message = same;
                            continue;
                        }
                        None => break,
                    },
                },
            };
            self.settle(&message, settlement).await;
            break;
        }
        drop(permit);
    }

    /// What the sink gets, if the message is what the tool says.
    fn delivery(&self, message: &Incoming) -> Result<Delivery, String> {
        let content = message.content(self.format, self.schema.as_deref())?;
        let mut headers = message.headers.clone();
        headers.remove(ATTEMPT_HEADER);
        Ok(Delivery {
            id: message.id.clone(),
            message: content,
            key: message.key.clone(),
            headers,
            attempt: message.attempt,
            published_at: message.published_at,
            position: message.position.clone(),
        })
    }

    /// What the sink says, while the message is kept from others; nothing when it is to stop and the sink does not answer.
    async fn verdict(&self, message: &Incoming, delivery: Delivery) -> Option<Verdict> {
        tokio::select! {
            verdict = self.sink.take(delivery) => Some(verdict),
            () = self.keep(message) => None,
            () = overdue(&self.stop) => None,
        }
    }

    /// Renews the message again and again. Whether that succeeds says the next attempt to settle it.
    async fn keep(&self, message: &Incoming) {
        let Some(pause) = self.reader.renews_every() else { return std::future::pending().await };
        loop {
            tokio::time::sleep(pause).await;
            if let Err(error) = self.reader.renew(message).await {
                tracing::debug!(%error, "a message could not be kept: {error}");
            }
        }
    }

    /// Lets the message come again after the pause: here, if it is ours to bring.
    async fn again(&self, message: Incoming, pause: Duration) -> Option<Incoming> {
        let kept = message.clone();
        let mine = match self.reader.again(message, pause).await {
            Ok(mine) => mine,
            Err(error) => {
                tracing::debug!(%error, "a message could not be put off: {error}");
                None
            }
        };
        let paused = tokio::select! {
            done = self.over.run_until_cancelled(tokio::time::sleep(pause)) => done,
            () = self.keep(&kept), if mine.is_some() => None,
        };
        let message = mine?;
        if paused.is_none() {
            self.settle(&message, Settlement::Back).await;
            return None;
        }
        Some(message)
    }

    /// Tells the broker, more than once if need be. A message that it never hears of comes again: by itself where it has to
    /// be renewed, otherwise not before the reader ends. So that one ends when the broker is away, and keeps the place of a
    /// message that is refused: the broker's places would run out while there are free ones here.
    async fn settle(&self, message: &Incoming, settlement: Settlement) {
        let comes_by_itself = self.reader.renews_every().is_some();
        for failures in 1.. {
            let Err(error) = self.reader.settle(message, settlement.clone()).await else { return };
            let is_away = error.is_retryable() || error.kind() == ErrorKind::Unavailable;
            let pause = BACKOFF.after(failures);
            if is_away && failures < TELLS {
                tokio::time::sleep(pause).await;
                continue;
            }
            tracing::warn!(id = message.id, %error, "message '{}' was not settled: {error}", message.id);
            if comes_by_itself {
                return;
            }
            if is_away {
                return self.over.cancel();
            }
            if self.over.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }
}
