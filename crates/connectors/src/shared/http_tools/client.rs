//! The client of one service: attempts, pauses, tokens, and the end of waiting.

use super::request::Base;
use super::response;
use super::tools::{Definition, is_idempotent};
use crate::shared::attempts::{Backoff, Budget, Failure, retry_after, timed_out};
use crate::shared::breaker::TimeSetBy;
use crate::shared::digits::marked;
use crate::shared::doubt::{Repetition, settle};
use crate::shared::headers::add_trace;
use crate::shared::network::Policy;
use crate::shared::oauth::Token;
use fetch::http::header::{AUTHORIZATION, HeaderName};
use fetch::http::{self, HeaderValue, StatusCode};
use fetch::{Request, Response};
use metrics::{Histogram, Unit, describe_histogram, histogram};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tool::secret::Redactor;
use tool::uri::Method;
use tool::{Call, Context, Ended, Error, Output, Reason, Result, Trace};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How much a service may use.
#[derive(Debug)]
pub(crate) struct Limits {
    /// Of one attempt.
    pub(crate) timeout: Duration,
    pub(crate) response_bytes: usize,
    pub(crate) concurrent_calls: Option<usize>,
    pub(crate) max_attempts: u32,
    pub(crate) backoff: Backoff,
}

/// How requests get to whoever answers them.
pub(crate) trait Transport: Send + Sync {
    /// What is held until the answer has been read.
    type Turn: Turn;

    /// The setting that holds our credentials, in words.
    const CREDENTIALS: &'static str;

    /// Sends a request. Where the service sets the time of an attempt, `patience` is that time.
    fn send(
        &self,
        cx: &Context,
        request: &Request,
        patience: Option<Duration>,
    ) -> impl Future<Output = Result<(Response, Self::Turn)>> + Send;
}

/// Somebody's turn to answer; whoever reads the answer says how it was.
pub(crate) trait Turn: Send {
    /// The answer was read, or this went wrong.
    fn end(self, error: Option<&Error>);
}

/// One service's way out.
#[derive(Debug)]
pub(crate) struct Client<W> {
    base: Base,
    /// Where tokens are asked for.
    http: fetch::Client,
    policy: Arc<Policy>,
    way: W,
    limits: Limits,
    permits: Option<Semaphore>,
    /// How long requests take to be made of arguments.
    building: Histogram,
}

/// A call whose arguments fit.
pub(crate) struct Prepared<'a> {
    definition: &'a Definition,
    method: Method,
    request: Request,
    budget: Budget,
    repetition: Repetition,
    /// Somebody may have got the request.
    was_sent: AtomicBool,
    pub(crate) time_set_by: TimeSetBy,
}

impl<W: Transport> Client<W> {
    pub(crate) fn new(base: Base, http: fetch::Client, policy: Arc<Policy>, way: W, limits: Limits) -> Self {
        describe_histogram!(
            "mcp_all_in_one_api_request_seconds",
            Unit::Seconds,
            "Time to put arguments into the address and the body of a request to an HTTP API"
        );
        Self {
            building: histogram!("mcp_all_in_one_api_request_seconds"),
            base,
            http,
            policy,
            way,
            permits: limits.concurrent_calls.map(Semaphore::new),
            limits,
        }
    }

    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    pub(crate) fn way(&self) -> &W {
        &self.way
    }

    /// Makes the request of a call.
    ///
    /// # Errors
    /// `InvalidInput` with every argument that does not fit.
    pub(crate) fn prepare<'a>(
        &self,
        cx: &Context,
        definition: &'a Definition,
        call: &Call,
    ) -> Result<Prepared<'a>> {
        call.options.check_method(&definition.methods)?;
        let own = definition.methods.first().copied();
        let method = call.options.method.or(own).ok_or_else(|| Error::internal("a tool has no method"))?;
        let begun = Instant::now();
        let arguments = marked(&call.arguments)?;
        let mut request = self.base.request(definition, method, &arguments, &cx.headers)?;
        add_idempotency_key(cx, method, &mut request);
        self.building.record(begun.elapsed());
        cx.inspection.note(|seen| seen.request = Some(self.base.shown(&request, seen)));
        let (budget, time_set_by) = self.budget(cx, definition, call, method);
        let (repetition, was_sent) = (repetition_of(definition, method), AtomicBool::new(false));
        Ok(Prepared { definition, method, request, budget, repetition, was_sent, time_set_by })
    }

    /// Runs a tool, all attempts included, until the deadline or the caller ends it.
    ///
    /// # Errors
    /// What the last attempt came to.
    pub(crate) async fn run(&self, cx: &Context, prepared: &Prepared<'_>) -> Result<Output> {
        let run = async {
            let _permit = match &self.permits {
                Some(permits) => Some(permits.acquire().await.map_err(|_| Error::internal("no permits"))?),
                None => None,
            };
            prepared.budget.run_seen(cx, |trace| self.attempt(cx, prepared, trace)).await
        };
        let Prepared { definition, method, repetition, was_sent, .. } = prepared;
        let what = || format!("{} {}", method.as_str(), definition.endpoint);
        until_done(cx, run).await.map_err(|error| {
            let was_sent = was_sent.load(Ordering::Relaxed);
            let error = if was_sent { settle(error, *repetition) } else { error };
            error.with("request", what())
        })
    }

    fn budget(
        &self,
        cx: &Context,
        definition: &Definition,
        call: &Call,
        method: Method,
    ) -> (Budget, TimeSetBy) {
        let Limits { timeout, max_attempts, backoff, .. } = self.limits;
        let own = definition.timeout.unwrap_or(timeout);
        let may_repeat = repetition_of(definition, method) != Repetition::Doubles;
        // A caller may want less than the service allows, never more.
        let wanted = call.options.timeout.filter(|timeout| *timeout < own);
        let attempts = if may_repeat { max_attempts } else { 1 };
        let budget = Budget {
            deadline: cx.deadline,
            attempt: wanted.unwrap_or(own),
            attempts: call.options.max_attempts.map_or(attempts, |wanted| attempts.min(wanted)),
            backoff,
        };
        (budget, if wanted.is_some() { TimeSetBy::Caller } else { TimeSetBy::Service })
    }

    async fn attempt(
        &self,
        cx: &Context,
        prepared: &Prepared<'_>,
        trace: Option<Arc<Trace>>,
    ) -> Result<Output, Failure> {
        let exchange = self.exchange(cx, prepared, trace).await?;
        let Exchange { request, response, token, turn } = exchange;
        let result = self.read(cx, prepared.definition, &request, response, token).await;
        turn.end(result.as_ref().err().map(|failure| &failure.error));
        result
    }

    async fn read(
        &self,
        cx: &Context,
        definition: &Definition,
        request: &Request,
        response: Response,
        token: Option<Arc<Token>>,
    ) -> Result<Output, Failure> {
        let status = response.status();
        cx.inspection.note(|seen| seen.status = Some(status.as_u16()));
        if status.is_success() && request.method == http::Method::HEAD {
            return Ok(response::read_head(&response));
        }
        if status.is_success() {
            return Ok(response::read(response, self.limits.response_bytes).await?);
        }
        let retry_after = retry_after(response.headers());
        let secrets = self.base.secrets_of(request);
        let token = token.as_deref().map(|token| token.secret.expose());
        let secrets = secrets.iter().map(AsRef::as_ref).chain(token);
        let template = definition.error_template.as_ref();
        let (error, body) = response::read_error(response, template, &Redactor::new(secrets)).await;
        cx.inspection.note(|seen| seen.raw = Some(body));
        let error = match (may_pass(status), retry_after) {
            (false, _) => error,
            (true, Some(pause)) => error.retryable().with_retry_after(pause),
            // Somebody on the way has lost the answer.
            (true, None) if matches!(status.as_u16(), 502 | 504) => error.retryable().in_doubt(),
            // It has not looked at the request.
            (true, None) => error.retryable(),
        };
        let is_refused = status == StatusCode::UNAUTHORIZED && self.base.signs_alone(&cx.headers);
        let error = match is_refused {
            true => error
                .advising(&format!("; check the credentials in {}", W::CREDENTIALS))
                .because(Reason::CredentialsRejected),
            false => error,
        };
        Err(Failure { error, retry_after })
    }

    /// Signs and sends; when the service refuses the token, once more with a new one. A request
    /// that was refused was not carried out, so that holds for every method.
    async fn exchange<'a>(
        &self,
        cx: &Context,
        prepared: &'a Prepared<'_>,
        trace: Option<Arc<Trace>>,
    ) -> Result<Exchange<'a, W::Turn>> {
        let patience = (prepared.time_set_by == TimeSetBy::Service).then_some(prepared.budget.attempt);
        let request = in_trace(&prepared.request, trace.as_deref());
        let Some(tokens) = self.base.tokens() else {
            prepared.was_sent.store(true, Ordering::Relaxed);
            let (response, turn) = self.way.send(cx, &request, patience).await?;
            return Ok(Exchange { request, response, token: None, turn });
        };
        let mut may_renew = true;
        loop {
            let token = tokens.get(cx, &self.http, &self.policy).await?;
            let mut request = request.clone().into_owned();
            request.headers.insert(AUTHORIZATION, token.header.clone());
            cx.inspection.note(|seen| seen.request = Some(self.base.shown(&request, seen)));
            prepared.was_sent.store(true, Ordering::Relaxed);
            let (response, turn) = self.way.send(cx, &request, patience).await?;
            if !may_renew || response.status() != StatusCode::UNAUTHORIZED {
                return Ok(Exchange { request: Cow::Owned(request), response, token: Some(token), turn });
            }
            tokens.refuse(&token);
            turn.end(None);
            may_renew = false;
        }
    }
}

/// What it would do to send the request of a tool again.
fn repetition_of(definition: &Definition, method: Method) -> Repetition {
    let is_idempotent = definition.is_idempotent.unwrap_or_else(|| is_idempotent(method));
    match (is_idempotent, method) {
        (false, _) => Repetition::Doubles,
        (true, Method::Get | Method::Head) => Repetition::Reads,
        (true, Method::Post | Method::Put | Method::Patch | Method::Delete) => Repetition::Idempotent,
    }
}

/// Lets the service tell a repetition, where repeating could do harm and the tool does not say how itself.
fn add_idempotency_key(cx: &Context, method: Method, request: &mut Request) {
    if matches!(method, Method::Get | Method::Head) {
        return;
    }
    if let Some(key) = cx.idempotency_key().and_then(|key| HeaderValue::from_str(key).ok()) {
        request.headers.entry(IDEMPOTENCY_KEY).or_insert(key);
    }
}

/// The request as it is sent: with its place in the trace, unless the tool says something else there.
fn in_trace<'a>(request: &'a Request, trace: Option<&Trace>) -> Cow<'a, Request> {
    let Some(trace) = trace else { return Cow::Borrowed(request) };
    let mut request = request.clone();
    add_trace(trace, &mut request.headers);
    Cow::Owned(request)
}

/// What was sent, and what came back.
struct Exchange<'a, T> {
    request: Cow<'a, Request>,
    response: Response,
    token: Option<Arc<Token>>,
    turn: T,
}

/// Runs until it is done, the caller goes away, or the time is up.
pub(crate) async fn until_done<T>(cx: &Context, run: impl Future<Output = Result<T>>) -> Result<T> {
    let time = cx.remaining();
    cx.within(run).await.unwrap_or_else(|ended| match ended {
        Ended::Cancelled => Err(ended.error("")),
        Ended::TimedOut => Err(timed_out(time, 1)),
    })
}

/// Answers that say "later", not "no".
fn may_pass(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}
