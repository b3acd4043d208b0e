//! Streams of messages as one answer, and as progress while they come.

use super::decoder::Decoder;
use super::exchange::left;
use super::failure::Failure;
use super::frame::Answer;
use super::message::Form;
use super::status::Code;
use bytes::Bytes;
use serde_json::value::RawValue;
use std::time::{Duration, Instant};
use tool::secret::Redactor;
use tool::{Context, Error, Event, Output, Result};

/// Bytes of a message that is told as progress.
const MAX_TOLD_BYTES: usize = 4 * 1024;
/// What an answer has beside its data, e.g. the names of its parts.
const ENVELOPE_BYTES: usize = 256;
/// How long the end of a stream is waited for that has as many messages as are wanted.
const LAST_WORD: Duration = Duration::from_secs(1);
/// A server that gives up so shortly before we would has kept to the time that it was given.
const PUNCTUAL: Duration = Duration::from_millis(500);

/// How much of a stream is taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) messages: usize,
    pub(super) bytes: usize,
}

/// A stream whose first message is awaited: until then another try is possible.
#[derive(Debug)]
pub(super) struct OpenStream {
    answer: Answer,
    first: Next,
    at: Instant,
}

/// How a stream is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) cx: &'a Context,
    pub(super) decoder: Decoder<'a>,
    pub(super) form: &'a Form,
    pub(super) limits: Limits,
    pub(super) deadline: Instant,
}

/// What came of a stream.
#[derive(Debug)]
pub(super) struct Collected {
    pub(super) output: Result<Output>,
    /// Time cut it, and the server had said nothing for at least half of that: it hangs, for all that anybody can tell.
    pub(super) was_silent: bool,
}

impl OpenStream {
    pub(super) async fn new(mut answer: Answer, deadline: Instant) -> Result<Self, Failure> {
        let at = Instant::now();
        let first = Next::of(&mut answer, deadline).await?;
        Ok(Self { answer, first, at })
    }

    /// Reads until the server ends the stream or a limit is reached; then the stream is reset by being dropped.
    ///
    /// # Errors
    /// `Upstream` when the stream breaks, saying how many messages came. What was told is not told again.
    pub(super) async fn collect(self, reading: &Reading<'_>, redactor: &Redactor<'_>) -> Collected {
        let Self { answer, first, at } = self;
        let mut listening = Listening { answer, heard: at, is_late: false };
        let output = listening.take_all(first, reading, redactor).await;
        let was_silent = listening.is_late && listening.heard.elapsed() >= at.elapsed() / 2;
        Collected { output, was_silent }
    }
}

/// A stream that is being read.
struct Listening {
    answer: Answer,
    /// When something last came.
    heard: Instant,
    /// Time has cut it.
    is_late: bool,
}

impl Listening {
    async fn take_all(
        &mut self,
        first: Next,
        reading: &Reading<'_>,
        redactor: &Redactor<'_>,
    ) -> Result<Output> {
        let Reading { cx, decoder, form, limits, deadline } = *reading;
        let mut taken = Taken { json: String::from("{\"messages\":["), count: 0, bytes: ENVELOPE_BYTES };
        let mut next = first;
        loop {
            let message = match next {
                Next::Message(message) => message,
                Next::End => return taken.finish(true),
                Next::Late => {
                    self.is_late = true;
                    return taken.finish(false);
                }
            };
            self.heard = Instant::now();
            let json = decoder.decode(cx, form, message).await?;
            if !taken.has_room(&json, limits) {
                return taken.finish(false);
            }
            tell(cx, taken.count + 1, &json);
            taken.add(&json);
            let is_enough = taken.count == limits.messages;
            let until = if is_enough { deadline.min(Instant::now() + LAST_WORD) } else { deadline };
            let heard = Next::of(&mut self.answer, until).await;
            if is_enough {
                return taken.finish(matches!(heard, Ok(Next::End)));
            }
            next = heard.map_err(|failure| broken(failure, taken.count, redactor))?;
        }
    }
}

/// What comes next.
#[derive(Debug)]
enum Next {
    Message(Bytes),
    End,
    /// Nothing in time.
    Late,
}

impl Next {
    async fn of(answer: &mut Answer, deadline: Instant) -> Result<Self, Failure> {
        match tokio::time::timeout_at(deadline.into(), answer.message()).await {
            Err(_) => Ok(Self::Late),
            Ok(Ok(Some(message))) => Ok(Self::Message(message)),
            Ok(Ok(None)) => Ok(Self::End),
            // It was told how much time there is.
            Ok(Err(Failure::Status(status)))
                if status.code == Code::DeadlineExceeded && left(deadline) <= PUNCTUAL =>
            {
                Ok(Self::Late)
            }
            Ok(Err(failure)) => Err(failure),
        }
    }
}

/// What callers hear while they wait.
fn tell(cx: &Context, count: usize, message: &RawValue) {
    if !cx.events.is_heard() {
        return;
    }
    let message = message.get();
    let message = (message.len() <= MAX_TOLD_BYTES).then(|| message.to_owned());
    // Beyond what a float counts exactly nobody waits.
    cx.events.emit(Event::Progress { progress: count as f64, total: None, message });
}

/// The answer as far as it has come.
struct Taken {
    json: String,
    count: usize,
    /// Of the whole answer, in which the data stands twice: as it is, and as text.
    bytes: usize,
}

impl Taken {
    fn has_room(&self, message: &RawValue, limits: Limits) -> bool {
        self.count < limits.messages && self.bytes + cost(message) <= limits.bytes
    }

    fn add(&mut self, message: &RawValue) {
        if self.count > 0 {
            self.json.push(',');
        }
        self.json.push_str(message.get());
        self.bytes += cost(message);
        self.count += 1;
    }

    fn finish(mut self, is_complete: bool) -> Result<Output> {
        self.json.push_str(if is_complete { "],\"complete\":true}" } else { "],\"complete\":false}" });
        let json = RawValue::from_string(self.json)
            .map_err(|error| Error::internal("an answer is no JSON").caused_by(error))?;
        Ok(Output::json(json))
    }
}

/// What a message adds to an answer: itself, and itself as text, in which quotes and backslashes are written as two.
fn cost(message: &RawValue) -> usize {
    let json = message.get();
    let escaped = json.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    2 * (json.len() + 1) + escaped
}

/// A stream that broke after some messages is no answer, and is not asked for again: its messages may have had effects.
fn broken(failure: Failure, count: usize, redactor: &Redactor<'_>) -> Error {
    let cause = failure.explain(redactor);
    let messages = if count == 1 { "1 message".to_owned() } else { format!("{count} messages") };
    let error = Error::upstream(format!("the stream broke after {messages}: {}", cause.message()));
    let error = match cause.service_code() {
        Some(code) => error.with_grpc_status(code),
        None => error,
    };
    error.with("messages", count).caused_by(cause)
}
