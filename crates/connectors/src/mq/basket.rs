//! What `_peek` and `_receive` answer with: as many messages as were asked for, and never more than the answer has room
//! for. What does not fit is left at the broker, since nobody would see it.

use super::broker::Reader;
use super::message::Incoming;
use super::tools::QueueTool;
use futures::future::join_all;
use serde_json::value::RawValue;
use tool::queue::Settlement;
use tool::{Error, ErrorKind, Output, Result};

/// How many are fetched before it is known how large they are.
const FIRST: usize = 4;
/// What stands around the messages.
const AROUND: &str = r#"{"messages":[]}"#;

/// Messages on their way to a caller.
pub(super) struct Basket<'a> {
    tool: &'a QueueTool,
    max: usize,
    room_bytes: usize,
    used_bytes: usize,
    /// By position, as they are shown.
    messages: Vec<(String, String)>,
    /// The first that was left, and how many bytes it has.
    left: Option<(String, usize)>,
}

impl<'a> Basket<'a> {
    pub(super) fn new(tool: &'a QueueTool, max: usize, room_bytes: usize) -> Self {
        Self { tool, max, room_bytes, used_bytes: AROUND.len(), messages: Vec::new(), left: None }
    }

    /// How many more to fetch at once: as many as will probably fit, none when it is full.
    pub(super) fn wanted(&self) -> usize {
        let missing = self.max.saturating_sub(self.messages.len());
        match self.messages.len() {
            _ if self.left.is_some() => 0,
            0 => missing.min(FIRST),
            count => missing.min((self.room_bytes - self.used_bytes) / (self.used_bytes / count) + 1),
        }
    }

    /// How many were asked for.
    #[cfg_attr(
        not(any(feature = "kafka", feature = "grpc", feature = "redis")),
        expect(dead_code, reason = "for brokers that are read at once")
    )]
    pub(super) fn max(&self) -> usize {
        self.max
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.left.is_none()
    }

    /// Whether there is room for the message, which is shown then. Once there was none nothing else has any, so that
    /// messages keep their order.
    pub(super) fn admit(&mut self, message: &Incoming) -> bool {
        if self.left.is_some() || self.messages.len() >= self.max {
            return false;
        }
        let shown = message.shown(self.tool);
        let with_comma = shown.len() + usize::from(!self.messages.is_empty());
        if self.used_bytes + with_comma > self.room_bytes {
            self.left = Some((message.id.clone(), shown.len()));
            return false;
        }
        self.used_bytes += with_comma;
        self.messages.push((message.position.clone(), shown));
        true
    }

    /// Shows a message no more that could not be taken after all.
    pub(super) fn withdraw(&mut self, message: &Incoming) {
        self.messages.retain(|(position, _)| *position != message.position);
    }

    /// Takes for good what there is room for, and gives back the rest. What could not be taken is not shown.
    pub(super) async fn take(&mut self, reader: &dyn Reader, found: Vec<Incoming>) -> Result<()> {
        let (taken, rest): (Vec<_>, Vec<_>) = found.into_iter().partition(|message| self.admit(message));
        let settled = join_all(taken.iter().map(|message| reader.settle(message, Settlement::Done))).await;
        let mut failure = None;
        for (message, settled) in taken.iter().zip(settled) {
            if let Err(error) = settled {
                self.withdraw(message);
                // Somebody else got it in the meantime.
                failure = Some(error).filter(|error| error.kind() != ErrorKind::Missing).or(failure);
            }
        }
        for message in &rest {
            if let Err(error) = reader.settle(message, Settlement::Back).await {
                tracing::debug!(%error, "a message comes again later: {error}");
            }
        }
        match failure {
            Some(error) if self.messages.is_empty() => Err(error),
            _ => Ok(()),
        }
    }

    /// The answer. A single message that is too large is none: it is left where it is, and said so.
    pub(super) fn output(self) -> Result<Output> {
        let remark = match (&self.left, self.messages.is_empty()) {
            (Some((id, bytes)), true) => {
                let message = format!(
                    "the next message ('{id}') takes {bytes} bytes, and an answer has room for {}; it was left where it is. \
                     Allow more ('max_result_bytes' of the Tool, --max-result-bytes of the server), or let a flow read it",
                    self.room_bytes
                );
                return Err(Error::upstream(message));
            }
            (Some(_), false) => {
                Some("The next message did not fit into this answer; it waits for the next call.")
            }
            (None, _) => None,
        };
        let shown: Vec<_> = self.messages.iter().map(|(_, shown)| shown.as_str()).collect();
        let json = RawValue::from_string(format!("{{\"messages\":[{}]}}", shown.join(",")))
            .map_err(|error| Error::internal("an answer is no JSON").caused_by(error))?;
        Ok(match remark {
            Some(remark) => Output::json_with_remark(json, remark),
            None => Output::json(json),
        })
    }
}
