//! What is sent once for one key, however often it is asked for.

use super::is_surely_nothing;
use crate::shared::arguments::text;
use crate::shared::bounds::Bounds;
use crate::shared::turns::{Turn, Turns};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tool::once::MAX_KEY_CHARACTERS;
use tool::uri::Options;
use tool::{Context, Env, Error, ErrorKind, KeyState, Once, Reason, Result};

/// How long is waited for the end of a key that somebody else has begun: most messages are sent by then.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(200);

/// Where the keys of one service are remembered, and who works under them now.
#[derive(Debug)]
pub(crate) struct Keys {
    once: Option<Arc<dyn Once>>,
    turns: Turns,
}

impl Keys {
    pub(crate) fn new(env: &Env) -> Self {
        Self { once: env.once.clone(), turns: Turns::default() }
    }
}

/// A key, and where it is remembered.
pub(crate) struct Keyed<'a> {
    once: &'a dyn Once,
    /// Whoever comes with the same key meanwhile waits for what comes of the first.
    turn: Turn,
    /// As it was given, for people.
    given: &'a str,
    key: String,
    /// Of what is to be sent and by whom, so that a key stands for one message, and nobody learns what came of somebody
    /// else's.
    digest: String,
    /// What the key belongs to, e.g. one tool of a service.
    scope: String,
    words: Words,
    is_atomic: bool,
}

/// How callers know the key, and what may have happened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words {
    pub(crate) parameter: &'static str,
    /// E.g. `published`.
    pub(crate) done: &'static str,
    pub(crate) reach: Reach,
}

/// Among whom a key stands for one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The messages of its caller: two callers who choose the same key send two messages.
    Caller,
    /// All messages of its scope: whoever reads them tells them apart by it, so that a second one would be lost there.
    Scope,
}

/// What is said when the time is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Late {
    /// While nobody knows whether the other end has it.
    pub(crate) doubtful: &'static str,
    /// While nothing has left.
    pub(crate) unsent: &'static str,
}

impl<'a> Keyed<'a> {
    /// The key that was given, or that of the step of a flow, which is sent once when it is tried again — where somebody
    /// remembers that.
    ///
    /// # Errors
    /// `Unsupported` where a key is given, and nobody remembers any.
    pub(crate) fn of(
        cx: &'a Context,
        arguments: &'a Map<String, Value>,
        keys: &'a Keys,
        scope: String,
        words: Words,
    ) -> Result<Option<Self>> {
        let once = keys.once.as_ref();
        let given = text(arguments, words.parameter, MAX_KEY_CHARACTERS)?;
        let found = match (given, once) {
            (Some(_), None) => {
                let Words { parameter, done, .. } = words;
                let message = format!("nothing is {done} once without a server; leave {parameter} out");
                return Err(Error::unsupported(message));
            }
            (Some(given), Some(once)) => {
                let identity = &cx.caller.identity;
                let caller = format!("{}/{}", identity.kind(), identity.id());
                let key = match words.reach {
                    Reach::Caller => format!("{caller}/{given}"),
                    Reach::Scope => format!("id/{given}"),
                };
                Some((given, once, key, digest_of(&caller, arguments)))
            }
            // A step is one message, whatever its arguments say the next time.
            (None, once) => cx
                .idempotency_key()
                .zip(once)
                .map(|(step, once)| (step, once, step.to_owned(), String::new())),
        };
        Ok(found.map(|(given, once, key, digest)| Self {
            once: &**once,
            turn: keys.turns.of(&format!("{}/{scope}/{key}", cx.tenant)),
            given,
            key,
            digest,
            scope,
            words,
            is_atomic: false,
        }))
    }

    /// The work ends the key by itself, in one with what it does.
    pub(crate) fn atomic(self) -> Self {
        Self { is_atomic: true, ..self }
    }

    /// Where the key is kept, for work that ends it by itself.
    pub(crate) fn place(&self) -> (&str, &str) {
        (&self.scope, &self.key)
    }

    /// The same for messages to people: within the bounds of their service, and with `is_doubtful` set from when on nobody
    /// knows whether the other end has one.
    pub(crate) async fn send(
        keyed: Option<Self>,
        cx: &Context,
        bounds: (&Bounds, &Options),
        late: Late,
        is_doubtful: &AtomicBool,
        work: impl Future<Output = Result<Value>>,
    ) -> Result<Value> {
        let is_lost = || is_doubtful.load(Ordering::Relaxed);
        let work = async {
            let sent = bounds.0.within(cx, bounds.1, late.doubtful, work).await;
            sent.map_err(|error| match error.reason() {
                Some(Reason::AttemptTimedOut) if !is_lost() && error.kind() == ErrorKind::Timeout => {
                    error.restated(late.unsent.to_owned())
                }
                _ => error,
            })
        };
        let Some(keyed) = keyed else { return work.await };
        let surely_not = |end: &Result<Value>| match end {
            Ok(result) => is_surely_nothing(result),
            Err(_) => !is_lost(),
        };
        keyed.run(cx, work, surely_not).await
    }

    /// Begins the key, unless somebody has. Whoever did may be at work now, in another process.
    async fn begin(&self, cx: &Context) -> Result<KeyState> {
        let begin = || self.once.begin(&cx.tenant, &self.scope, &self.key, &self.digest);
        let mut state = begin().await?;
        let until = Instant::now() + PATIENCE;
        while matches!(state, KeyState::Unknown) && !self.is_atomic && Instant::now() < until {
            if cx.within(tokio::time::sleep(LOOK)).await.is_err() {
                break;
            }
            state = begin().await?;
        }
        Ok(state)
    }

    /// Does the work, unless that was done, or may have been, under the same key. `surely_not` says of an end that nothing has
    /// happened, so that the work may be asked for again.
    pub(crate) async fn run(
        &self,
        cx: &Context,
        work: impl Future<Output = Result<Value>>,
        surely_not: impl Fn(&Result<Value>) -> bool,
    ) -> Result<Value> {
        let (given, Words { parameter, done, .. }) = (self.given, self.words);
        let _turn = cx.within(self.turn.lock()).await.map_err(|ended| {
            let late = format!(
                "another call with the {parameter} '{given}' did not end in time; nothing was sent by this one"
            );
            ended.error(&late)
        })?;
        match self.begin(cx).await? {
            KeyState::First => {}
            KeyState::Done(result) => return repeated(&result),
            // Whoever does the work ends the key with it: what has no end has not happened.
            KeyState::Unknown if self.is_atomic => {}
            KeyState::Unknown => {
                let message = format!(
                    "a message '{given}' was begun before, and its end is not known: it may have been {done}; nothing was sent now"
                );
                return Err(Error::upstream(message).of_parameter(parameter));
            }
            KeyState::Other => {
                let message = format!(
                    "parameter '{parameter}' is '{given}', which stands for another message that was sent within 24 hours; \
                     nothing was sent now. Take another one, or repeat that call as it was, as the same caller"
                );
                return Err(Error::invalid_input(message).of_parameter(parameter));
            }
        }
        let ended = work.await;
        // Another process may have been faster.
        if self.is_atomic
            && ended.is_err()
            && let Ok(KeyState::Done(result)) =
                self.once.begin(&cx.tenant, &self.scope, &self.key, &self.digest).await
        {
            return repeated(&result);
        }
        let written = match &ended {
            end if surely_not(end) => self.once.forget(&cx.tenant, &self.scope, &self.key).await,
            Ok(result) => self.once.finish(&cx.tenant, &self.scope, &self.key, &raw(result)?).await,
            Err(_) => Ok(()),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "the end of a message that is to be sent once is not known: {error}");
        }
        ended
    }
}

/// The same for the same arguments of a caller, in whatever order they stand.
fn digest_of(caller: &str, arguments: &Map<String, Value>) -> String {
    let mut sorted = Value::Object(arguments.clone());
    sorted.sort_all_objects();
    digest(&format!("{caller}\n{sorted}"))
}

/// A text that stands for a longer one.
pub(crate) fn digest(text: &str) -> String {
    let mut digest = String::new();
    for byte in Sha256::digest(text) {
        // Writing to a string cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
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
        // Whoever says that it can be tried again says that nothing has happened.
        ErrorKind::Unavailable | ErrorKind::Upstream => error.is_retryable() || error.is_about_credentials(),
        _ => false,
    }
}

pub(crate) fn raw(value: &Value) -> Result<Box<RawValue>> {
    to_raw_value(value).map_err(|error| Error::internal("a result cannot be written").caused_by(error))
}
