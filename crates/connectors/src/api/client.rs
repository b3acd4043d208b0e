//! The pooled client of one service: attempts, pauses, redirects, and the end of waiting.

use super::oauth::Token;
use super::redirect::{self, Redirects};
use super::request::Base;
use super::response;
use super::tools::Definition;
use crate::shared::breaker::{Breaker, Pass};
use crate::shared::network::{Policy, Refused, Resolver};
use fetch::http::header::{AUTHORIZATION, HeaderName, RETRY_AFTER};
use fetch::http::{self, HeaderValue, StatusCode};
use fetch::{Request, Response, Tls};
use metrics::{Histogram, Unit, describe_histogram, histogram};
use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Semaphore;
use tool::secret::Blots;
use tool::uri::Method;
use tool::{Call, Context, Error, ErrorKind, Output, Reason, Result};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const MAX_REDIRECTS: usize = 5;
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// How much a service may use.
#[derive(Debug)]
pub(super) struct Limits {
    /// Of one attempt.
    pub(super) timeout: Duration,
    pub(super) response_bytes: usize,
    pub(super) concurrent_calls: Option<usize>,
    pub(super) retry: Retry,
    pub(super) redirects: Redirects,
}

/// When and how often to try again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retry {
    pub(super) max_attempts: u32,
    pub(super) initial_delay: Duration,
    pub(super) max_delay: Duration,
}

/// One service's way out.
#[derive(Debug)]
pub(super) struct Client {
    base: Base,
    policy: Arc<Policy>,
    limits: Limits,
    permits: Option<Semaphore>,
    breaker: Breaker,
    http: fetch::Client,
    /// How long requests take to be made of arguments.
    building: Histogram,
}

/// What a call has to spend.
struct Budget {
    deadline: Instant,
    /// Of one attempt.
    attempt: Duration,
    attempts: u32,
    /// The caller chose the time, so that running out of it says nothing about the service.
    is_callers: bool,
}

impl Budget {
    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// How long the next attempt may take.
    fn next_attempt(&self) -> Duration {
        self.remaining().min(self.attempt)
    }
}

/// Why an attempt failed, and whether the service said when to come back.
struct Failure {
    error: Error,
    retry_after: Option<Duration>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, retry_after: None }
    }
}

impl Client {
    pub(super) fn new(base: Base, policy: Policy, limits: Limits, breaker: Breaker, tls: Tls) -> Self {
        let policy = Arc::new(policy);
        describe_histogram!(
            "mcp_all_in_one_api_request_seconds",
            Unit::Seconds,
            "Time to put arguments into the address and the body of a request to an HTTP API"
        );
        Self {
            building: histogram!("mcp_all_in_one_api_request_seconds"),
            base,
            permits: limits.concurrent_calls.map(Semaphore::new),
            limits,
            breaker,
            http: fetch::Client::new(Arc::new(Resolver(policy.clone())), tls),
            policy,
        }
    }

    /// Runs a tool, all attempts included, until the deadline or the caller ends it.
    pub(super) async fn call(&self, cx: &Context, definition: &Definition, call: &Call) -> Result<Output> {
        call.options.check_method(&definition.methods)?;
        let own = definition.methods.first().copied();
        let method = call.options.method.or(own).ok_or_else(|| Error::internal("a tool has no method"))?;
        let begun = Instant::now();
        let mut request = self.base.request(definition, method, call.arguments.as_map()?, &cx.headers)?;
        add_idempotency_key(cx, method, &mut request);
        self.building.record(begun.elapsed());
        cx.inspection.note(|seen| seen.request = Some(self.base.shown(&request)));
        let budget = self.budget(cx, definition, call, method);
        let what = || format!("{} {}", method.as_str(), definition.endpoint);
        let pass = self.breaker.admit()?;
        let run = async {
            let _permit = match &self.permits {
                Some(permits) => Some(permits.acquire().await.map_err(|_| Error::internal("no permits"))?),
                None => None,
            };
            self.attempt_until_done(cx, definition, &request, &budget).await
        };
        let result = until_done(cx, budget.deadline, run).await;
        judge(pass, &result, &budget);
        result.map_err(|error| error.with("request", what()))
    }

    /// Asks for the headers of the base URL; any answer shows that somebody is there.
    pub(super) async fn probe(&self, cx: &Context) -> Result<()> {
        let request = self.base.probe();
        let deadline = cx.deadline.min(Instant::now() + PROBE_TIMEOUT);
        let response = until_done(cx, deadline, self.send(&request)).await?;
        match response.status() {
            status @ (StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT) => {
                let message = format!("the service answered HTTP {}", status.as_u16());
                Err(Error::unavailable(message).with_status(status.as_u16()).retryable())
            }
            _ => Ok(()),
        }
    }

    fn budget(&self, cx: &Context, definition: &Definition, call: &Call, method: Method) -> Budget {
        let attempt = definition.timeout.unwrap_or(self.limits.timeout);
        let is_callers = call.options.timeout.is_some_and(|timeout| timeout < attempt);
        let mut budget = Budget { deadline: cx.deadline, attempt, attempts: 1, is_callers };
        if definition.is_idempotent.unwrap_or_else(|| is_idempotent(method)) {
            budget.attempts = self.limits.retry.max_attempts;
        }
        // A caller may want less than the service allows, never more.
        if let Some(timeout) = call.options.timeout {
            budget.attempt = budget.attempt.min(timeout);
        }
        match (call.options.max_attempts, call.options.timeout) {
            // Whoever speaks of attempts gives each of them so long.
            (Some(attempts), _) => budget.attempts = budget.attempts.min(attempts),
            (None, Some(timeout)) => budget.deadline = budget.deadline.min(Instant::now() + timeout),
            (None, None) => {}
        }
        budget
    }

    async fn attempt_until_done(
        &self,
        cx: &Context,
        definition: &Definition,
        request: &Request,
        budget: &Budget,
    ) -> Result<Output> {
        let mut number = 1;
        loop {
            let left = budget.attempts.saturating_sub(number);
            let time = budget.next_attempt();
            let failure = match tokio::time::timeout(time, self.attempt(cx, definition, request)).await {
                Ok(Ok(output)) => return Ok(output),
                Ok(Err(failure)) => failure,
                Err(_) => timed_out(time, number).because(Reason::AttemptTimedOut).into(),
            };
            let error = match number {
                1 => failure.error,
                _ => failure.error.with("attempts", number),
            };
            if left == 0 || !error.is_retryable() {
                return Err(error);
            }
            let Some(pause) = self.pause(number, left, failure.retry_after, budget) else {
                return Err(error);
            };
            tracing::debug!(attempt = number, ?pause, "an attempt failed, trying again");
            tokio::time::sleep(pause).await;
            number += 1;
        }
    }

    /// The pause before the next attempt, or nothing when the service wants more time than there is.
    fn pause(
        &self,
        failed: u32,
        left: u32,
        retry_after: Option<Duration>,
        budget: &Budget,
    ) -> Option<Duration> {
        let remaining = budget.remaining();
        if let Some(wanted) = retry_after {
            return Some(wanted).filter(|wanted| *wanted < remaining);
        }
        let Retry { initial_delay, max_delay, .. } = self.limits.retry;
        let factor = 1_u32.checked_shl(failed - 1).unwrap_or(u32::MAX);
        let delay = initial_delay.saturating_mul(factor).min(max_delay);
        // Half of it is certain, half is chance, so that many callers do not come back together.
        let chance = RandomState::new().hash_one(failed) as f64 / u64::MAX as f64;
        let delay = delay.mul_f64(0.5 + chance / 2.0);
        // The attempts that are left must fit into the time that is left.
        Some(delay.min(remaining / (left + 1)))
    }

    async fn attempt(
        &self,
        cx: &Context,
        definition: &Definition,
        request: &Request,
    ) -> Result<Output, Failure> {
        let Exchange { request, response, token } = self.exchange(cx, request).await?;
        let status = response.status();
        cx.inspection.note(|seen| seen.status = Some(status.as_u16()));
        if status.is_success() && request.method == http::Method::HEAD {
            return Ok(response::read_head(&response));
        }
        if status.is_success() {
            return Ok(response::read(response, self.limits.response_bytes).await?);
        }
        let retry_after = retry_after(&response);
        let secrets = self.base.secrets_of(&request);
        let token = token.as_deref().map(|token| token.secret().expose());
        let secrets = secrets.iter().map(AsRef::as_ref).chain(token);
        let template = definition.error_template.as_ref();
        let (error, body) = response::read_error(response, template, &Blots::new(secrets)).await;
        cx.inspection.note(|seen| seen.raw = Some(body));
        let error = if may_pass(status) { error.retryable() } else { error };
        Err(Failure { error, retry_after })
    }

    /// Signs and sends; when the service refuses the token, once more with a new one. A request
    /// that was refused was not carried out, so that holds for every method.
    async fn exchange<'a>(&self, cx: &Context, request: &'a Request) -> Result<Exchange<'a>> {
        let Some(tokens) = self.base.tokens() else {
            let response = self.send(request).await?;
            return Ok(Exchange { request: Cow::Borrowed(request), response, token: None });
        };
        let mut may_renew = true;
        loop {
            let token = tokens.get(&self.http, &self.policy).await?;
            let mut request = request.clone();
            request.headers.insert(AUTHORIZATION, token.header.clone());
            cx.inspection.note(|seen| seen.request = Some(self.base.shown(&request)));
            let response = self.send(&request).await?;
            if !may_renew || response.status() != StatusCode::UNAUTHORIZED {
                return Ok(Exchange { request: Cow::Owned(request), response, token: Some(token) });
            }
            tokens.refuse(&token);
            may_renew = false;
        }
    }

    /// Sends, and follows redirects as far as they may be followed; every stop is checked.
    async fn send(&self, request: &Request) -> Result<Response> {
        let redirects = self.limits.redirects;
        let mut request = Cow::Borrowed(request);
        for _ in 0..=MAX_REDIRECTS {
            self.policy.check(&request.url).map_err(|refused| Error::from(&refused))?;
            let response = self.http.send(Request::clone(&request)).await.map_err(explain)?;
            let target = redirect::target(redirects, response.status(), response.headers(), &request.url);
            let Some(target) = target else { return Ok(response) };
            redirect::follow(redirects, request.to_mut(), response.status(), target)?;
        }
        let message = format!("the service redirected more than {MAX_REDIRECTS} times");
        Err(Error::upstream(message))
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

/// What was sent, and what came back.
struct Exchange<'a> {
    request: Cow<'a, Request>,
    response: Response,
    token: Option<Arc<Token>>,
}

/// Tells the breaker how a call went. What the caller caused says nothing about the service.
fn judge(pass: Pass<'_>, result: &Result<Output>, budget: &Budget) {
    let Err(error) = result else { return pass.succeeded() };
    match error.kind() {
        ErrorKind::Unavailable => pass.failed(),
        // One that ran out while it waited for its turn says nothing either.
        ErrorKind::Timeout if !budget.is_callers && error.reason() == Some(Reason::AttemptTimedOut) => {
            pass.failed()
        }
        ErrorKind::Upstream if matches!(error.status(), Some(502..=504)) => pass.failed(),
        ErrorKind::Upstream => pass.succeeded(),
        _ => drop(pass),
    }
}

/// Runs until it is done, the caller goes away, or the time is up.
async fn until_done<T>(cx: &Context, deadline: Instant, run: impl Future<Output = Result<T>>) -> Result<T> {
    let time = deadline.saturating_duration_since(Instant::now());
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(Error::cancelled("the call was taken back")),
        result = tokio::time::timeout_at(deadline.into(), run) => result.unwrap_or_else(|_| Err(timed_out(time, 1))),
    }
}

fn timed_out(time: Duration, attempts: u32) -> Error {
    // What is left of 500 ms a moment later is still 500 ms to whoever reads it.
    let ms = time.as_micros().div_ceil(1000);
    let tried = if attempts > 1 { format!(", {attempts} times") } else { String::new() };
    Error::timeout(format!("the service did not answer within {ms} ms{tried}")).retryable()
}

/// Methods that may be repeated without doing something twice.
fn is_idempotent(method: Method) -> bool {
    match method {
        Method::Get | Method::Head | Method::Put | Method::Delete => true,
        Method::Post | Method::Patch => false,
    }
}

/// Answers that say "later", not "no".
fn may_pass(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502 | 503 | 504)
}

/// How long to wait, told in seconds or as a date.
fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// A failure to reach the service in our words, never with the address, which may hold a key.
pub(super) fn explain(error: fetch::Error) -> Error {
    if let Some(refused) = error.find::<Refused>() {
        return refused.into();
    }
    if error.is_unusable() {
        return Error::internal("the request cannot be sent").caused_by(error);
    }
    if error.is_resolve() {
        let message = "the service's name cannot be resolved; check the host in its address";
        return Error::unavailable(message).caused_by(error).retryable();
    }
    let message = match (error.is_connect(), error.is_malformed()) {
        (true, _) => "the service cannot be connected to",
        (false, true) => "the service's answer cannot be used",
        (false, false) => "the connection broke before the service answered",
    };
    let advice = error.advice().map(|advice| format!(": {advice}")).unwrap_or_default();
    let explained = Error::unavailable(format!("{message}{advice}")).caused_by(error);
    explained.retryable()
}
