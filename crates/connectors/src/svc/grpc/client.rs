//! The way of calls to instances: signed, within their time, tried again where that does no harm.

use super::connection::{Connection, Connections};
use super::decoder::Decoder;
use super::exchange::{Message, left};
use super::failure::Failure;
use super::health;
use super::metadata::Metadata;
use super::reflection::{self, Silence};
use super::schema::Schema;
use super::stream::{Limits, OpenStream, Reading};
use super::tools::Method;
use crate::shared::attempts::{self, Backoff, Budget, timed_out};
use crate::shared::breaker::TimeSetBy;
use crate::shared::doubt::{Repetition, settle};
use crate::shared::headers::{PassedHeaders, add_trace};
use crate::shared::network::Policy;
use crate::shared::oauth::Token;
use crate::shared::sign_in::Auth;
use crate::svc::fleet::{Fleet, Picked, Unreached};
use crate::svc::instance::Instance;
use fetch::http::HeaderName;
use fetch::http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use fetch::http::uri::PathAndQuery;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::secret::Redactor;
use tool::{Call, Compute, Context, Ended, Error, ErrorKind, Output, Reason, Result, Trace};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// A stream is cut so long before its attempt would be over.
const MARGIN: Duration = Duration::from_millis(50);

/// One service's way out.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) fleet: Fleet,
    pub(super) connections: Connections,
    pub(super) policy: Arc<Policy>,
    pub(super) auth: Auth,
    /// Where tokens are asked for.
    pub(super) tokens: fetch::Client,
    pub(super) metadata: Metadata,
    pub(super) passed: PassedHeaders,
    /// Of one attempt.
    pub(super) timeout: Duration,
    pub(super) max_attempts: u32,
    pub(super) backoff: Backoff,
    pub(super) max_message_bytes: usize,
    pub(super) stream: Limits,
    /// Where descriptions and large answers are worked on.
    pub(super) compute: Compute,
}

/// What one attempt may take, and whose fault it is if the time is not enough.
#[derive(Debug, Clone, Copy)]
struct Time {
    deadline: Instant,
    /// Set where it is the service's own time.
    patience: Option<Duration>,
    /// What its answer may be, at the most.
    answer_bytes: usize,
}

impl Client {
    /// Runs a method, all attempts included, and says who set the time that it had.
    pub(super) async fn call(
        &self,
        cx: &Context,
        method: &Method,
        call: &Call,
    ) -> (Result<Output>, TimeSetBy) {
        let message = match self.message(cx, method, call) {
            Ok(message) => message,
            Err(error) => return (Err(error), TimeSetBy::Caller),
        };
        let (budget, time_set_by) = self.budget(cx, method, call);
        let (patience, message) = ((time_set_by == TimeSetBy::Service).then_some(budget.attempt), &message);
        let attempt = |trace: Option<Arc<Trace>>| async move {
            let left = cx.remaining();
            let deadline = Instant::now() + budget.attempt.min(left);
            // A caller with less time than the service has says nothing about it by running out of that.
            let patience = patience.filter(|patience| *patience <= left);
            let traced = trace.map(|trace| {
                let mut traced = message.clone();
                add_trace(&trace, &mut traced.headers);
                traced
            });
            let message = traced.as_ref().unwrap_or(message);
            let time = Time { deadline, patience, answer_bytes: call.max_answer_bytes };
            let output = self.attempt(cx, method, message, time).await;
            output.map_err(|error| attempts::Failure { retry_after: error.retry_after(), error })
        };
        let result = until_done(cx, budget.run_seen(cx, attempt)).await;
        let repetition = if method.is_idempotent { Repetition::Reads } else { Repetition::Doubles };
        let settled = result.map_err(|error| settle(error, repetition).with("request", &method.rpc));
        (settled, time_set_by)
    }

    fn message(&self, cx: &Context, method: &Method, call: &Call) -> Result<Message> {
        call.options.check_method(&[])?;
        let encoded = method.input.encode(&call.arguments)?;
        let mut headers = self.headers(cx);
        if let (false, Some(key)) = (method.is_idempotent, cx.idempotency_key())
            && let Ok(key) = HeaderValue::from_str(key)
        {
            headers.entry(IDEMPOTENCY_KEY).or_insert(key);
        }
        let message = Message::new(method.path.clone(), headers, &encoded, self.max_message_bytes);
        cx.inspection.note(|seen| {
            let body: serde_json::Value = match seen.limit() {
                None => call.arguments.as_value().cloned().unwrap_or_default(),
                Some(_) => seen.cut(call.arguments.to_raw().get().as_bytes()).into(),
            };
            seen.request = Some(serde_json::json!({ "rpc": method.rpc, "message": body }));
        });
        Ok(message)
    }

    fn headers(&self, cx: &Context) -> HeaderMap {
        let mut headers = self.metadata.headers(&self.passed, &cx.headers);
        if let Auth::Header(name, value, _) = &self.auth {
            headers.insert(name.clone(), value.clone());
        }
        headers
    }

    fn budget(&self, cx: &Context, method: &Method, call: &Call) -> (Budget, TimeSetBy) {
        let own = method.timeout.unwrap_or(self.timeout);
        // A caller may want less than the service allows, never more.
        let wanted = call.options.timeout.filter(|timeout| *timeout < own);
        let attempts = if method.is_idempotent { self.max_attempts } else { 1 };
        let budget = Budget {
            deadline: cx.deadline,
            attempt: wanted.unwrap_or(own),
            attempts: call.options.max_attempts.map_or(attempts, |wanted| attempts.min(wanted)),
            backoff: self.backoff,
        };
        (budget, if wanted.is_some() { TimeSetBy::Caller } else { TimeSetBy::Service })
    }

    async fn attempt(&self, cx: &Context, method: &Method, message: &Message, time: Time) -> Result<Output> {
        if !method.is_streaming {
            let send = |message: Arc<Message>, connection| async move {
                message.unary(connection, left(time.deadline)).await
            };
            let (answer, picked) = self.exchange(cx, message, time, send).await?;
            picked.judge(None);
            return self.decoder().decode(cx, &method.output, answer).await.map(Output::json);
        }
        let end = time.deadline - MARGIN.min(left(time.deadline) / 10);
        let begin = |message: Arc<Message>, connection| async move {
            let answer = message.stream(connection, left(time.deadline)).await?;
            OpenStream::new(answer, end).await
        };
        let (begun, picked) = self.exchange(cx, message, time, begin).await?;
        let own = method.max_result_bytes.unwrap_or(usize::MAX).min(time.answer_bytes);
        let limits = Limits { bytes: self.stream.bytes.min(own), ..self.stream };
        let redactor = self.redactor(&message.headers);
        let reading = Reading { cx, decoder: self.decoder(), form: &method.output, limits, deadline: end };
        let collected = begun.collect(&reading, &redactor).await;
        match (collected.was_silent, time.patience) {
            (true, Some(_)) => picked.fail(),
            // Who has less time than the service cannot say that it hangs.
            (true, None) => drop(picked),
            (false, _) => picked.judge(collected.output.as_ref().err()),
        }
        collected.output
    }

    /// Signs and sends; when the service refuses the token, once more with a new one: a call that was refused was not
    /// carried out.
    async fn exchange<T, F>(
        &self,
        cx: &Context,
        message: &Message,
        time: Time,
        send: impl Fn(Arc<Message>, Connection) -> F,
    ) -> Result<(T, Picked)>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut may_renew = true;
        loop {
            let (message, token) = self.sign(cx, message).await?;
            let (reply, picked) = self.reach(cx, &message, time, &send).await?;
            let failure = match reply {
                Ok(reply) => return Ok((reply, picked)),
                Err(failure) => failure,
            };
            let error = self.refused(cx, failure.explain(&self.redactor(&message.headers)));
            picked.judge(Some(&error));
            let (Auth::Tokens(tokens), Some(token), true) = (&self.auth, token, may_renew) else {
                return Err(error);
            };
            tokens.refuse(&token);
            may_renew = false;
        }
    }

    /// Says where our credentials stand, unless the service has refused what a caller handed on.
    fn refused(&self, cx: &Context, error: Error) -> Error {
        match self.auth.is_given() && !self.passed.finds_any(&cx.headers) {
            true => error.advising("; check the credentials in 'auth'").because(Reason::CredentialsRejected),
            false => error,
        }
    }

    /// Sends to whichever instance it is the turn of. Refused credentials are an answer here.
    async fn reach<T, F>(
        &self,
        cx: &Context,
        message: &Arc<Message>,
        time: Time,
        send: &impl Fn(Arc<Message>, Connection) -> F,
    ) -> Result<(Result<T, Failure>, Picked)>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let exchange = |instance: Arc<Instance>| async move {
            let mut watch = Watch {
                connections: &self.connections,
                instance: &instance,
                until: Some(time.deadline - MARGIN / 2),
            };
            let mut sent = self.send(&instance, message, send).await;
            // A server may have taken leave of a connection that was good so far.
            if matches!(sent, Err(Failure::Unsent(_))) {
                self.connections.forget(&instance);
                sent = self.send(&instance, message, send).await;
            }
            watch.until = None;
            match sent {
                Ok(reply) => Ok(Ok(reply)),
                Err(failure) if failure.is_unauthenticated() => Ok(Err(failure)),
                Err(failure) => Err(self.unreached(failure, &message.headers, time, &instance)),
            }
        };
        self.fleet.reach(cx, time.patience, exchange).await
    }

    async fn send<T, F>(
        &self,
        instance: &Instance,
        message: &Arc<Message>,
        send: &impl Fn(Arc<Message>, Connection) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let connection = self.connections.get(instance).await?;
        send(message.clone(), connection).await
    }

    /// Whether another instance may be asked, and what is told if none answers.
    fn unreached(&self, failure: Failure, headers: &HeaderMap, time: Time, instance: &Instance) -> Unreached {
        let is_unsent = failure.is_unsent();
        let error = failure.explain(&self.redactor(headers)).with("instance", instance);
        let is_late = error.kind() == ErrorKind::Timeout && time.patience.is_some();
        let error = if is_late { error.because(Reason::AttemptTimedOut) } else { error };
        match is_unsent {
            true => Unreached::NotConnected(error),
            false => Unreached::Broken(error),
        }
    }

    async fn sign(&self, cx: &Context, message: &Message) -> Result<(Arc<Message>, Option<Arc<Token>>)> {
        let mut message = message.clone();
        let Auth::Tokens(tokens) = &self.auth else { return Ok((Arc::new(message), None)) };
        let token = tokens.get(cx, &self.tokens, &self.policy).await?;
        message.headers.insert(AUTHORIZATION, token.header.clone());
        Ok((Arc::new(message), Some(token)))
    }

    fn decoder(&self) -> Decoder<'_> {
        Decoder(&self.compute)
    }

    /// Over all that must not be read in a server's words: credentials, and what callers handed on.
    fn redactor<'a>(&'a self, headers: &'a HeaderMap) -> Redactor<'a> {
        let values =
            headers.values().filter(|value| value.is_sensitive()).filter_map(|value| value.to_str().ok());
        let bare = |value: &'a str| value.strip_prefix("Bearer ").unwrap_or(value);
        Redactor::new(values.map(bare).chain(self.auth.secrets()))
    }

    /// Asks an instance what methods there are, and makes something of it, which is not for the threads that serve calls.
    ///
    /// # Errors
    /// When none can be asked, has no reflection, or tells something that cannot be used, or not in time.
    pub(super) async fn reflect<T: Send + 'static>(
        &self,
        cx: &Context,
        make: impl FnOnce(Schema) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let cx = &cx.for_at_most(self.timeout);
        let message =
            Message::new(PathAndQuery::from_static("/"), self.headers(cx), &[], self.max_message_bytes);
        let time = Time { deadline: cx.deadline, patience: None, answer_bytes: usize::MAX };
        let ask = |message: Arc<Message>, connection: Connection| async move {
            match reflection::ask(&connection, &message.headers, left(time.deadline)).await {
                Ok(told) => Ok(Ok(told)),
                Err(Silence::Unusable(error)) => Ok(Err(error)),
                Err(Silence::Failed(failure)) if failure.is_unimplemented() => {
                    Ok(Err(reflection::explain(failure, &self.redactor(&message.headers))))
                }
                Err(Silence::Failed(failure)) => Err(failure),
            }
        };
        let (told, picked) = until_done(cx, self.exchange(cx, &message, time, ask)).await?;
        picked.judge(None);
        let told = told?;
        let making = self.compute.run(cx, move || told.into_schema().and_then(make));
        until_done(cx, making).await?
    }

    /// Whether the registry answers and an instance says that it serves.
    pub(super) async fn health(&self, cx: &Context) -> Result<()> {
        let cx = &cx.for_at_most(PROBE_TIMEOUT.min(self.timeout));
        self.fleet.health(cx).await?;
        let message = Message::new(
            PathAndQuery::from_static(health::PATH),
            self.headers(cx),
            &[],
            self.max_message_bytes,
        );
        let time = Time { deadline: cx.deadline, patience: None, answer_bytes: usize::MAX };
        let check = |message: Arc<Message>, connection| async move {
            health::judge(message.unary(connection, left(time.deadline)).await)
        };
        let ((), picked) = until_done(cx, self.exchange(cx, &message, time, check)).await?;
        picked.judge(None);
        Ok(())
    }
}

/// Sees to it that a connection over which nothing came in time is not used again: the way may be dead, and nobody
/// would be told.
struct Watch<'a> {
    connections: &'a Connections,
    instance: &'a Instance,
    until: Option<Instant>,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            self.connections.forget(self.instance);
        }
    }
}

/// Runs until it is done, the caller goes away, or the time is up.
async fn until_done<T>(cx: &Context, run: impl Future<Output = Result<T>>) -> Result<T> {
    let time = cx.remaining();
    cx.within(run).await.unwrap_or_else(|ended| match ended {
        Ended::Cancelled => Err(ended.error("")),
        Ended::TimedOut => Err(timed_out(time, 1)),
    })
}
