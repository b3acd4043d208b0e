//! One message over one connection: who may have it, then what it says.

use super::connect::{Connection, broken};
use super::reply::Reply;
use crate::mail::mime::Message;
use crate::mail::settings::Notify;
use crate::shared::sending::{Fate, Status};
use std::fmt::Write;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use tool::{Error, Result};

/// A message and what the server is told of it.
pub(super) struct Envelope<'a> {
    pub(super) message: &'a Message,
    pub(super) notify: &'a [Notify],
    /// Set from when on nobody knows whether the server has the message.
    pub(super) is_doubtful: &'a AtomicBool,
}

/// Why a message was not handed over.
pub(super) enum Trouble {
    /// The connection is of no use any more, and the server has nothing: another one may do.
    Gone(Error),
    /// The server has nothing, and another connection would not help.
    Failed(Error),
    /// The answer is lost that says whether the server has it.
    Doubtful,
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Gone(broken(error))
    }
}

impl Connection {
    /// Hands one message over; the answer is for each recipient in their order.
    pub(super) async fn deliver(&mut self, envelope: &Envelope<'_>) -> Result<Vec<Fate>, Trouble> {
        let message = envelope.message;
        if let Some(why) = self.hindrance(message) {
            return Ok(vec![Fate::new(Status::Refused, None, why); message.recipients.len()]);
        }
        let mut fates = match self.introduce(envelope).await? {
            Ok(fates) => fates,
            // The sender was not welcome, so nobody gets it.
            Err(reply) => vec![reply.fate(); message.recipients.len()],
        };
        let is_wanted = |fate: &Fate| fate.status == Status::Taken;
        if !fates.iter().any(is_wanted) {
            self.begin_anew().await;
            return Ok(fates);
        }
        let said = self.hand_over(envelope).await?;
        for fate in fates.iter_mut().filter(|fate| is_wanted(fate)) {
            *fate = said.fate();
        }
        Ok(fates)
    }

    /// Why the server cannot take the message, as far as it has said so before.
    fn hindrance(&self, message: &Message) -> Option<String> {
        let (size, most) = (message.size(), self.offers.size.unwrap_or(0));
        if most > 0 && size > most {
            return Some(format!("the message has {size} bytes, and the mail server takes {most}"));
        }
        let is_foreign = !self.offers.has_utf8 && !has_ascii_addresses(message);
        is_foreign.then(|| "the mail server takes addresses in ASCII only (it offers no SMTPUTF8)".to_owned())
    }

    /// Names sender and recipients; without a round trip for each, where the server can.
    async fn introduce(&mut self, envelope: &Envelope<'_>) -> Result<Result<Vec<Fate>, Reply>, Trouble> {
        let lines = self.lines(envelope);
        let mut replies = Vec::with_capacity(lines.len());
        if self.offers.has_pipelining {
            self.dialogue.say(&lines.concat()).await?;
        }
        for line in &lines {
            let reply = match self.offers.has_pipelining {
                true => self.dialogue.hear().await?,
                false => self.dialogue.ask(line).await?,
            };
            let reply = checked(reply)?;
            // E.g. 354, which is for DATA only.
            if !matches!(reply.code, 200..=299 | 400..=599) {
                return Err(Trouble::Failed(out_of_turn(&reply, line.trim_end())));
            }
            replies.push(reply);
            // Without a sender, the rest would only be told so.
            if !self.offers.has_pipelining && !replies[0].is_good() {
                break;
            }
        }
        let mut replies = replies.into_iter();
        match replies.next() {
            Some(sender) if sender.is_good() => Ok(Ok(replies.map(|reply| reply.fate()).collect())),
            Some(sender) if sender.code == 530 => Err(Trouble::Failed(sender.error("mail from us"))),
            Some(sender) => Ok(Err(sender)),
            None => Err(Trouble::Failed(Error::internal("no sender was named"))),
        }
    }

    fn lines(&self, envelope: &Envelope<'_>) -> Vec<String> {
        let message = envelope.message;
        let mut sender = format!("MAIL FROM:<{}>", message.from.email);
        if self.offers.size.is_some() {
            let _ = write!(sender, " SIZE={}", message.size());
        }
        if self.offers.has_eight_bits && !(message.head.is_ascii() && message.body.is_ascii()) {
            sender.push_str(" BODY=8BITMIME");
        }
        if self.offers.has_utf8 && !(has_ascii_addresses(message) && message.head.is_ascii()) {
            sender.push_str(" SMTPUTF8");
        }
        let notify = self.notify(envelope.notify);
        if !notify.is_empty() {
            sender.push_str(" RET=HDRS");
        }
        sender.push_str("\r\n");
        let recipients =
            message.recipients.iter().map(|mailbox| format!("RCPT TO:<{}>{notify}\r\n", mailbox.email));
        std::iter::once(sender).chain(recipients).collect()
    }

    fn notify(&self, wanted: &[Notify]) -> String {
        if wanted.is_empty() || !self.offers.has_reports {
            return String::new();
        }
        let words = wanted.iter().map(|notify| match notify {
            Notify::Success => "SUCCESS",
            Notify::Failure => "FAILURE",
            Notify::Delay => "DELAY",
        });
        format!(" NOTIFY={}", words.collect::<Vec<_>>().join(","))
    }

    /// Says what the message says. The last dot is the point of no return.
    async fn hand_over(&mut self, envelope: &Envelope<'_>) -> Result<Reply, Trouble> {
        let go_ahead = checked(self.dialogue.ask("DATA\r\n").await?)?;
        match go_ahead.code {
            354 => {}
            400..=599 => {
                self.begin_anew().await;
                return Ok(go_ahead);
            }
            // It has taken nothing: nothing was said yet.
            _ => return Err(Trouble::Failed(out_of_turn(&go_ahead, "DATA"))),
        }
        let message = envelope.message;
        self.dialogue.write_body(&[message.head.as_bytes(), &message.body]).await?;
        envelope.is_doubtful.store(true, Ordering::Relaxed);
        let said = self.dialogue.ask(".\r\n").await.map_err(|_| Trouble::Doubtful)?;
        self.is_spent |= said.is_goodbye();
        // Whatever else it says is about something else, and its answer is lost.
        if matches!(said.code, 200..=299 | 400..=599) { Ok(said) } else { Err(Trouble::Doubtful) }
    }

    /// Gives up the message that was begun, so that another can be.
    async fn begin_anew(&mut self) {
        let ended = self.dialogue.ask("RSET\r\n").await;
        self.is_spent |= !ended.is_ok_and(|reply| reply.is_good());
    }

    /// A question that changes nothing.
    pub(super) async fn say_nothing(&mut self) -> Result<()> {
        let reply = self.dialogue.ask("NOOP\r\n").await.map_err(broken)?;
        if reply.is_good() { Ok(()) } else { Err(reply.error("NOOP")) }
    }
}

fn has_ascii_addresses(message: &Message) -> bool {
    let all = message.recipients.iter().chain([&message.from]);
    all.into_iter().all(|mailbox| AsRef::<str>::as_ref(&mailbox.email).is_ascii())
}

/// A reply, unless it is the end.
fn checked(reply: Reply) -> Result<Reply, Trouble> {
    if reply.is_goodbye() { Err(Trouble::Gone(reply.error("us"))) } else { Ok(reply) }
}

/// The server answered, but not what it was asked: nobody knows any more which answer belongs to what.
fn out_of_turn(reply: &Reply, asked: &str) -> Error {
    let (code, words) = (reply.code, &reply.words);
    let message = format!(
        "the mail server answers {asked} with '{code} {words}', which is no answer to it; nothing was handed over"
    );
    Error::upstream(message).with_service_code(code.to_string())
}
