//! Streams of messages as one answer, and as progress while they come.

use super::failure::Failure;
use super::frame::Answer;
use super::message::Form;
use super::status::Code;
use bytes::Bytes;
use serde_json::value::RawValue;
use std::time::Instant;
use tool::secret::Redactor;
use tool::{Context, Error, Event, Output, Result};

/// Bytes of a message that is told as progress.
const MAX_TOLD_BYTES: usize = 4 * 1024;

/// How much of a stream is taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) messages: usize,
    pub(super) bytes: usize,
}

/// A stream whose first message is awaited: until then another try is possible.
#[derive(Debug)]
pub(super) struct Begun {
    answer: Answer,
    first: First,
}

#[derive(Debug)]
enum First {
    Message(Bytes),
    /// There is none.
    End,
    /// The time passed before.
    Late,
}

impl Begun {
    pub(super) async fn new(mut answer: Answer, deadline: Instant) -> Result<Self, Failure> {
        let first = match tokio::time::timeout_at(deadline.into(), answer.message()).await {
            Ok(Ok(Some(message))) => First::Message(message),
            Ok(Ok(None)) => First::End,
            Ok(Err(Failure::Status(status))) if status.code == Code::DeadlineExceeded => First::Late,
            Ok(Err(failure)) => return Err(failure),
            Err(_) => First::Late,
        };
        Ok(Self { answer, first })
    }

    /// Reads until the server ends the stream or a limit is reached; then the stream is reset by being dropped.
    ///
    /// # Errors
    /// `Upstream` when the stream breaks, saying how many messages came. What was told is not told again.
    pub(super) async fn collect(
        self,
        cx: &Context,
        form: &Form,
        limits: Limits,
        deadline: Instant,
        redactor: &Redactor<'_>,
    ) -> Result<Output> {
        let Self { mut answer, first } = self;
        let mut taken = Taken { json: String::from("{\"messages\":["), count: 0 };
        let mut next = match first {
            First::Message(message) => message,
            First::End => return taken.finish(true),
            First::Late => return taken.finish(false),
        };
        loop {
            let message = form.decode(next)?;
            if !taken.has_room(&message, limits) {
                return taken.finish(false);
            }
            tell(cx, taken.count + 1, &message);
            taken.add(&message);
            if taken.count == limits.messages {
                // Whether it would have been the last one is not worth waiting for.
                let is_over = matches!(peek(&mut answer).await, Some(Ok(None)));
                return taken.finish(is_over);
            }
            next = match tokio::time::timeout_at(deadline.into(), answer.message()).await {
                Err(_) => return taken.finish(false),
                Ok(Ok(Some(message))) => message,
                Ok(Ok(None)) => return taken.finish(true),
                Ok(Err(Failure::Status(status))) if status.code == Code::DeadlineExceeded => {
                    return taken.finish(false);
                }
                Ok(Err(failure)) => return Err(broken(failure, taken.count, redactor)),
            };
        }
    }
}

/// What is there already, without waiting.
async fn peek(answer: &mut Answer) -> Option<Result<Option<Bytes>, Failure>> {
    futures::FutureExt::now_or_never(answer.message())
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
}

impl Taken {
    fn has_room(&self, message: &RawValue, limits: Limits) -> bool {
        self.count < limits.messages && self.json.len() + message.get().len() <= limits.bytes
    }

    fn add(&mut self, message: &RawValue) {
        if self.count > 0 {
            self.json.push(',');
        }
        self.json.push_str(message.get());
        self.count += 1;
    }

    fn finish(mut self, is_complete: bool) -> Result<Output> {
        self.json.push_str(if is_complete { "],\"complete\":true}" } else { "],\"complete\":false}" });
        let json = RawValue::from_string(self.json)
            .map_err(|error| Error::internal("an answer is no JSON").caused_by(error))?;
        Ok(Output::json(json))
    }
}

/// A stream that broke after some messages is no answer, and is not asked for again: its messages may have had effects.
fn broken(failure: Failure, count: usize, redactor: &Redactor<'_>) -> Error {
    let cause = failure.explain(redactor);
    let messages = if count == 1 { "1 message".to_owned() } else { format!("{count} messages") };
    let error = Error::upstream(format!("the stream broke after {messages}: {}", cause.message()));
    let error = match cause.service_code() {
        Some(code) => error.with_service_code(code).with("grpc_status", code),
        None => error,
    };
    error.with("messages", count).caused_by(cause)
}
