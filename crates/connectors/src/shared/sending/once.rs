//! What is sent once for one key, however often it is asked for.

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;
use tool::{Begun, Context, Error, ErrorKind, Once, Result};

/// A key, and where it is remembered.
pub(crate) struct Keyed<'a> {
    once: &'a dyn Once,
    key: &'a str,
    /// What the key belongs to, e.g. one tool of a service.
    scope: String,
    words: Words,
}

/// How callers know the key, and what may have happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    pub(crate) parameter: &'static str,
    /// E.g. `published`.
    pub(crate) done: &'static str,
}

impl<'a> Keyed<'a> {
    /// The key that was given, or that of the step of a flow, which is sent once when it is tried again — where somebody
    /// remembers that.
    ///
    /// # Errors
    /// `Unsupported` where a key is given, and nobody remembers any.
    pub(crate) fn of(
        cx: &'a Context,
        given: Option<&'a str>,
        once: Option<&'a Arc<dyn Once>>,
        scope: String,
        words: Words,
    ) -> Result<Option<Self>> {
        let found = match (given, once) {
            (Some(_), None) => {
                let Words { parameter, done } = words;
                let message = format!("nothing is {done} once without a server; leave {parameter} out");
                return Err(Error::unsupported(message));
            }
            (Some(key), Some(once)) => Some((key, once)),
            (None, once) => cx.idempotency_key().zip(once),
        };
        Ok(found.map(|(key, once)| Self { once: &**once, key, scope, words }))
    }

    /// Does the work, unless that was done, or may have been, under the same key. `surely_not` says of an end that nothing has
    /// happened, so that the work may be asked for again.
    pub(crate) async fn run(
        &self,
        cx: &Context,
        work: impl Future<Output = Result<Value>>,
        surely_not: impl Fn(&Result<Value>) -> bool,
    ) -> Result<Value> {
        match self.once.begin(&cx.tenant, &self.scope, self.key).await? {
            Begun::First => {}
            Begun::Done(result) => return repeated(&result),
            Begun::Unknown => {
                let (key, Words { parameter, done }) = (self.key, self.words);
                let message = format!(
                    "a message '{key}' was begun before, and its end is not known: it may have been {done}; nothing was sent now"
                );
                return Err(Error::upstream(message).of_parameter(parameter));
            }
        }
        let ended = work.await;
        let written = match &ended {
            end if surely_not(end) => self.once.forget(&cx.tenant, &self.scope, self.key).await,
            Ok(result) => self.once.finish(&cx.tenant, &self.scope, self.key, &raw(result)?).await,
            Err(_) => Ok(()),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "the end of a message that is to be sent once is not known: {error}");
        }
        ended
    }
}

/// The result of the first time, marked.
fn repeated(result: &RawValue) -> Result<Value> {
    let mut result: Value = serde_json::from_str(result.get())
        .map_err(|error| Error::internal("a kept result is no JSON").caused_by(error))?;
    result["duplicate"] = true.into();
    Ok(result)
}

/// Nothing has left us, or the other end said that it did not take it.
pub(crate) fn surely_not_sent(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::InvalidInput
        | ErrorKind::Denied
        | ErrorKind::Missing
        | ErrorKind::RateLimited
        | ErrorKind::CircuitOpen
        | ErrorKind::Unsupported => true,
        _ => error.is_retryable() && error.kind() == ErrorKind::Unavailable,
    }
}

pub(crate) fn raw(value: &Value) -> Result<Box<RawValue>> {
    to_raw_value(value).map_err(|error| Error::internal("a result cannot be written").caused_by(error))
}
