//! From arguments to what became of the messages: once where that is asked for, in pieces that the vendor takes.

use super::Sms;
use super::number::Number;
use super::tools::SmsTool;
use super::wording::{self, Wording};
use crate::shared::arguments::{texts, wrong};
use crate::shared::attempts::{Budget, Failure};
use crate::shared::sending::once::{Keyed, Late, Reach, Words};
use crate::shared::sending::{Carry, Fate, Pace, Report, carry_all};
use async_trait::async_trait;
use serde_json::{Map, Value};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tool::secret::masked_number;
use tool::{Call, Context, Output, Result};

const LATE: Late = Late {
    doubtful: "the SMS gateway did not answer in time; the message may have been sent",
    unsent: "the SMS gateway was not reached in time; the message was not sent",
};

/// How many requests of one call are on their way at the same time.
const AT_ONCE: usize = 8;
const AFTER_THE_CALL: Duration = Duration::from_secs(1);

impl Sms {
    pub(super) async fn send(&self, cx: &Context, tool: &SmsTool, call: &Call) -> Result<Output> {
        let arguments = call.arguments.as_map()?;
        let people = self.people(arguments)?;
        let wording = wording::read(tool, arguments, self.provider.takes_words())?;
        self.gateway.check(&wording)?;
        let scope = format!("sms/{}/{}", self.service.as_deref().unwrap_or_default(), tool.id);
        let words = Words { parameter: "idempotencyKey", done: "sent", reach: Reach::Caller };
        let keyed = Keyed::of(cx, arguments, &self.keys, scope, words)?;
        let is_doubtful = AtomicBool::new(false);
        let limited = &self.bounds.limited(cx, &call.options);
        let sending = self.deliver(limited, &wording, &people, &is_doubtful);
        let bounds = (&self.bounds, &call.options);
        let mut result = Keyed::send(keyed, cx, bounds, LATE, &is_doubtful, sending).await?;
        // Results are kept without numbers, which only the caller knows.
        for (told, (given, _)) in result["recipients"].as_array_mut().into_iter().flatten().zip(&people.named)
        {
            told["to"] = given.as_str().into();
        }
        Report::output(&result, None)
    }

    fn people(&self, arguments: &Map<String, Value>) -> Result<People> {
        let given = texts(arguments, "to")?;
        let (count, most) = (given.len(), self.max_recipients);
        if count == 0 {
            return Err(wrong("to", "is missing; name somebody to write to"));
        }
        if count > most {
            return Err(wrong("to", &format!("names {count} people; 'max_recipients' allows {most}")));
        }
        let mut people = People { numbers: Vec::with_capacity(count), named: Vec::with_capacity(count) };
        for text in given {
            let number = Number::parse(text, &self.country_code, "to")?;
            let given = number.given.clone();
            let known = people.numbers.iter().position(|other| other.e164() == number.e164());
            let place = known.unwrap_or(people.numbers.len());
            if known.is_none() {
                people.numbers.push(number);
            }
            people.named.push((given, place));
        }
        Ok(people)
    }

    async fn deliver(
        &self,
        cx: &Context,
        wording: &Wording,
        people: &People,
        is_doubtful: &AtomicBool,
    ) -> Result<Value> {
        let pieces: Vec<_> = people.numbers.chunks(self.gateway.at_once()).map(<[Number]>::to_vec).collect();
        let carrier = Carrier { sms: self, wording, cx };
        let ended = carry_all(cx, &carrier, &pieces, AT_ONCE, is_doubtful).await;
        let told = pieces
            .iter()
            .zip(ended)
            .map(|(piece, ended)| (piece.iter().map(|number| masked_number(&number.given)).collect(), ended));
        let places = people.named.iter().map(|(_, place)| *place);
        Ok(Report::of("accepted", told)?.for_each(places).result())
    }
}

/// Somebody who is named twice is written to once, and has a status in both places.
struct People {
    numbers: Vec<Number>,
    /// As they are written, with their place among the numbers.
    named: Vec<(String, usize)>,
}

/// What all requests of one call have in common.
struct Carrier<'a> {
    sms: &'a Sms,
    wording: &'a Wording,
    cx: &'a Context,
}

#[async_trait]
impl Carry for Carrier<'_> {
    type Piece = Vec<Number>;

    const KNOWS_DOUBT: bool = false;

    fn recipients(&self, piece: &Vec<Number>) -> usize {
        piece.len()
    }

    fn pace(&self) -> Option<&Pace> {
        self.sms.pace.as_ref()
    }

    /// Only what surely sent nothing is repeated: what did not get there, and what the vendor had no time for.
    async fn carry(&self, piece: &Vec<Number>, is_doubtful: &AtomicBool) -> Result<Vec<Fate>> {
        let budget = Budget {
            // The end of the call comes first, and knows what may have been sent.
            deadline: self.cx.deadline + AFTER_THE_CALL,
            attempt: Duration::MAX,
            attempts: self.sms.attempts,
            backoff: self.sms.backoff,
        };
        let attempt = |_| async {
            self.sms.gateway.send(self.wording, piece, is_doubtful).await.map_err(|error| {
                let retry_after = error.retry_after();
                Failure { error, retry_after }
            })
        };
        budget.run_traced(self.cx.trace.as_ref(), attempt).await
    }
}
