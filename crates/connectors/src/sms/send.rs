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
        let numbers = self.numbers(arguments)?;
        let wording = wording::read(tool, arguments, self.provider.takes_words())?;
        self.gateway.check(&wording)?;
        let scope = format!("sms/{}/{}", self.service.as_deref().unwrap_or_default(), tool.id);
        let words = Words { parameter: "idempotencyKey", done: "sent", reach: Reach::Caller };
        let keyed = Keyed::of(cx, arguments, &self.keys, scope, words)?;
        let is_doubtful = AtomicBool::new(false);
        let limited = &self.bounds.limited(cx, &call.options);
        let sending = self.deliver(limited, &wording, &numbers, &is_doubtful);
        let bounds = (&self.bounds, &call.options);
        let mut result = Keyed::send(keyed, cx, bounds, LATE, &is_doubtful, sending).await?;
        // Results are kept without numbers, which only the caller knows.
        for (told, number) in result["recipients"].as_array_mut().into_iter().flatten().zip(&numbers) {
            told["to"] = number.given.as_str().into();
        }
        Report::output(&result, None)
    }

    fn numbers(&self, arguments: &Map<String, Value>) -> Result<Vec<Number>> {
        let given = texts(arguments, "to")?;
        let (people, most) = (given.len(), self.max_recipients);
        if people == 0 {
            return Err(wrong("to", "is missing; name somebody to write to"));
        }
        if people > most {
            return Err(wrong("to", &format!("names {people} people; 'max_recipients' allows {most}")));
        }
        let mut numbers: Vec<Number> = Vec::with_capacity(people);
        for text in given {
            let number = Number::parse(text, &self.country_code, "to")?;
            // Somebody who stands there twice is written to once.
            if !numbers.iter().any(|other| other.e164() == number.e164()) {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    async fn deliver(
        &self,
        cx: &Context,
        wording: &Wording,
        numbers: &[Number],
        is_doubtful: &AtomicBool,
    ) -> Result<Value> {
        let pieces: Vec<_> = numbers.chunks(self.gateway.at_once()).map(<[Number]>::to_vec).collect();
        let carrier = Carrier { sms: self, wording, cx };
        let ended = carry_all(cx, &carrier, &pieces, AT_ONCE, is_doubtful).await;
        let told = pieces
            .iter()
            .zip(ended)
            .map(|(piece, ended)| (piece.iter().map(|number| masked_number(&number.given)).collect(), ended));
        Ok(Report::of("accepted", told)?.result())
    }
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
