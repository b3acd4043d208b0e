//! From arguments to what became of the mail: once where that is asked for.

use super::address::is_same;
use super::letter::Letter;
use super::mime::{self, Message};
use super::tools::MailTool;
use super::{Carrier, Mail};
use crate::shared::arguments::wrong;
use crate::shared::sending::once::{Keyed, Late, Reach, Words};
use crate::shared::sending::{Carry, Fate, Pace, Report, carry_all};
use async_trait::async_trait;
use lettre::Address;
use serde_json::Value;
use std::sync::atomic::AtomicBool;
use tool::{Call, Context, Output, Result};

const LATE: Late = Late {
    doubtful: "the mail server did not answer in time; the mail may have been sent",
    unsent: "the time was over before the mail server had the mail, or what is attached to it was there; it was not sent",
};

impl Mail {
    pub(super) async fn send(&self, cx: &Context, tool: &MailTool, call: &Call) -> Result<Output> {
        let arguments = call.arguments.as_map()?;
        let scope = format!("mail/{}/{}", self.service.as_deref().unwrap_or_default(), tool.id);
        let words = Words { parameter: "idempotencyKey", done: "sent", reach: Reach::Caller };
        let keyed = Keyed::of(cx, arguments, &self.keys, scope, words)?;
        let is_doubtful = AtomicBool::new(false);
        let limited = &self.bounds.limited(cx, &call.options);
        let sending = async {
            let letter = self.letter(limited, tool, arguments).await?;
            let messages = mime::messages(&letter)?;
            self.check_size(&messages)?;
            self.deliver(limited, &letter, &messages, &is_doubtful).await
        };
        let bounds = (&self.bounds, &call.options);
        let result = Keyed::send(keyed, cx, bounds, LATE, &is_doubtful, Box::pin(sending)).await?;
        Report::output(&result, self.remark())
    }

    fn check_size(&self, messages: &[Message]) -> Result<()> {
        let (size, most) = (messages.iter().map(Message::size).max().unwrap_or(0), self.limits.message_bytes);
        if size > most {
            let why = format!(
                "and its attachments make a message of {size} bytes; 'max_message_bytes' allows {most}"
            );
            return Err(wrong("body", &why));
        }
        Ok(())
    }

    /// What the server could not do of what was asked.
    fn remark(&self) -> Option<&'static str> {
        match &self.carrier {
            Carrier::Smtp(smtp) if smtp.lacks_reports() => {
                Some("The mail server sends no delivery reports, which the setting 'dsn' asks for.")
            }
            Carrier::Smtp(_) | Carrier::Folder(_) => None,
        }
    }

    /// Sends all of them, and tells what became of each.
    async fn deliver(
        &self,
        cx: &Context,
        letter: &Letter,
        messages: &[Message],
        is_doubtful: &AtomicBool,
    ) -> Result<Value> {
        let ended = carry_all(cx, self, messages, self.at_once, is_doubtful).await;
        let pieces = messages.iter().zip(ended).map(|(message, ended)| {
            let people = message.recipients.iter().map(|mailbox| mailbox.email.to_string()).collect();
            let named = |fate| Fate { id: Some(message.id.clone()), ..fate };
            (people, ended.map(|fates| fates.into_iter().map(named).collect()))
        });
        let report = Report::of("sent", pieces)?;
        let people: Vec<_> = messages.iter().flat_map(|message| &message.recipients).collect();
        let place = |named: &Address| people.iter().position(|mailbox| is_same(&mailbox.email, named));
        Ok(report.for_each(letter.named.iter().filter_map(place)).result())
    }
}

#[async_trait]
impl Carry for Mail {
    type Piece = Message;

    const KNOWS_DOUBT: bool = true;

    fn recipients(&self, message: &Message) -> usize {
        message.recipients.len()
    }

    fn pace(&self) -> Option<&Pace> {
        self.pace.as_ref()
    }

    async fn carry(&self, message: &Message, is_doubtful: &AtomicBool) -> Result<Vec<Fate>> {
        match &self.carrier {
            Carrier::Folder(folder) => folder.keep(message).await,
            Carrier::Smtp(smtp) => smtp.deliver(message, is_doubtful).await,
        }
    }
}
