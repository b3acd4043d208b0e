//! The pooled client of one service: attempts, pauses, redirects, and the end of waiting.

use super::auth::Auth;
use super::request::Base;
use super::response;
use super::tools::Definition;
use crate::shared::network::{Policy, Refused, Resolver};
use fetch::Response;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{Body, Request, StatusCode, Url};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tool::uri::Method;
use tool::{Call, Context, Error, Output, Result};

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
    http: fetch::Client,
}

/// What a call has to spend.
struct Budget {
    deadline: Instant,
    /// Of one attempt.
    attempt: Duration,
    attempts: u32,
    /// The caller chose the number of attempts, so that each gets its share of the time.
    is_shared: bool,
}

impl Budget {
    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// How long the next attempt may take when `left` are left, itself included.
    fn next_attempt(&self, left: u32) -> Duration {
        let remaining = self.remaining();
        let share = if self.is_shared { remaining / left.max(1) } else { remaining };
        share.min(self.attempt)
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
    pub(super) fn new(
        base_url: &Url,
        headers: HeaderMap,
        auth: Auth,
        policy: Policy,
        limits: Limits,
    ) -> Self {
        let policy = Arc::new(policy);
        Self {
            base: Base::new(base_url, headers, auth),
            permits: limits.concurrent_calls.map(Semaphore::new),
            limits,
            http: fetch::Client::new(Arc::new(Resolver(policy.clone()))),
            policy,
        }
    }

    /// Runs a tool, all attempts included, until the deadline or the caller ends it.
    pub(super) async fn call(&self, cx: &Context, definition: &Definition, call: &Call) -> Result<Output> {
        let method = call.options.method.unwrap_or(definition.method);
        let request = self.base.request(definition, method, call.arguments.as_map()?)?;
        cx.inspection.note(|seen| seen.request = Some(self.base.shown(&request)));
        let budget = self.budget(cx, definition, call, method);
        let what = || format!("{} {}", method.as_str(), definition.endpoint);
        let run = async {
            let _permit = match &self.permits {
                Some(permits) => Some(permits.acquire().await.map_err(|_| Error::internal("no permits"))?),
                None => None,
            };
            self.attempt_until_done(cx, &request, &budget).await
        };
        let result = until_done(cx, budget.deadline, run).await;
        result.map_err(|error| error.with("request", what()))
    }

    /// Asks for the headers of the base URL; any answer shows that somebody is there.
    pub(super) async fn probe(&self, cx: &Context) -> Result<()> {
        let request = self.base.probe()?;
        let deadline = cx.deadline.min(Instant::now() + PROBE_TIMEOUT);
        let response = until_done(cx, deadline, self.send(&request)).await?;
        match response.status() {
            status @ (StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT) => {
                let message = format!("the service answered HTTP {}", status.as_u16());
                Err(Error::unavailable(message).with("status", status.as_u16()).retryable())
            }
            _ => Ok(()),
        }
    }

    fn budget(&self, cx: &Context, definition: &Definition, call: &Call, method: Method) -> Budget {
        let mut budget = Budget {
            deadline: cx.deadline,
            attempt: definition.timeout.unwrap_or(self.limits.timeout),
            attempts: if is_idempotent(method) { self.limits.retry.max_attempts } else { 1 },
            is_shared: false,
        };
        if let Some(timeout) = call.options.timeout {
            budget.deadline = budget.deadline.min(Instant::now() + timeout);
            budget.attempt = timeout;
        }
        if let Some(attempts) = call.options.max_attempts {
            budget.attempts = attempts;
            budget.is_shared = true;
        }
        budget
    }

    async fn attempt_until_done(&self, cx: &Context, request: &Request, budget: &Budget) -> Result<Output> {
        let mut number = 1;
        loop {
            let left = budget.attempts.saturating_sub(number);
            let time = budget.next_attempt(left + 1);
            let failure = match tokio::time::timeout(time, self.attempt(cx, request)).await {
                Ok(Ok(output)) => return Ok(output),
                Ok(Err(failure)) => failure,
                Err(_) => timed_out(time).into(),
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

    async fn attempt(&self, cx: &Context, request: &Request) -> Result<Output, Failure> {
        let response = self.send(request).await?;
        let status = response.status();
        cx.inspection.note(|seen| seen.status = Some(status.as_u16()));
        if status.is_success() {
            return Ok(response::read(response, self.limits.response_bytes).await?);
        }
        let retry_after = retry_after(&response);
        let error = response::read_error(response, &self.base.secrets_of(request)).await;
        let error = if may_pass(status) { error.retryable() } else { error };
        Err(Failure { error, retry_after })
    }

    /// Sends, and follows redirects as long as they stay where they are.
    async fn send(&self, request: &Request) -> Result<Response> {
        let mut redirected: Option<Request> = None;
        for _ in 0..=MAX_REDIRECTS {
            let request = redirected.as_ref().unwrap_or(request);
            self.policy.check(request.url()).map_err(|refused| Error::from(&refused))?;
            let response = self.http.send(to_fetch(request)).await.map_err(explain)?;
            let Some(target) = redirect_target(request.url(), &response) else { return Ok(response) };
            redirected = Some(follow(request, response.status(), target?)?);
        }
        let message = format!("the service redirected more than {MAX_REDIRECTS} times");
        Err(Error::upstream(message))
    }
}

/// Runs until it is done, the caller goes away, or the time is up.
async fn until_done<T>(cx: &Context, deadline: Instant, run: impl Future<Output = Result<T>>) -> Result<T> {
    let time = deadline.saturating_duration_since(Instant::now());
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(Error::cancelled("the call was taken back")),
        result = tokio::time::timeout_at(deadline.into(), run) => result.unwrap_or_else(|_| Err(timed_out(time))),
    }
}

fn timed_out(time: Duration) -> Error {
    Error::timeout(format!("the service did not answer within {} ms", time.as_millis())).retryable()
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

/// Seconds; the form with a date is rare and left to the usual pause.
fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

fn redirect_target(url: &Url, response: &Response) -> Option<Result<Url>> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(LOCATION)?;
    let bad = || Error::upstream("the service redirected to something that is no address");
    Some(location.to_str().ok().and_then(|text| url.join(text).ok()).ok_or_else(bad))
}

/// The request at its new address, if that is at the same place.
fn follow(request: &Request, status: StatusCode, target: Url) -> Result<Request> {
    if !is_same_place(request.url(), &target) {
        let place = target.host_str().unwrap_or_default();
        let message = format!("the service redirected to another place, '{place}', which is not followed");
        return Err(Error::upstream(message).with("status", status.as_u16()));
    }
    let mut request = request.try_clone().ok_or_else(|| Error::internal("a request cannot be repeated"))?;
    let is_post = *request.method() == reqwest::Method::POST;
    let becomes_get = status == StatusCode::SEE_OTHER && *request.method() != reqwest::Method::HEAD
        || is_post && matches!(status, StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND);
    if becomes_get {
        *request.method_mut() = reqwest::Method::GET;
        *request.body_mut() = None;
        request.headers_mut().remove(CONTENT_TYPE);
        request.headers_mut().remove(CONTENT_LENGTH);
    }
    *request.url_mut() = target;
    Ok(request)
}

/// The same scheme, host and port, or the step from http to https on their usual ports.
fn is_same_place(from: &Url, to: &Url) -> bool {
    let is_upgrade = (from.scheme(), to.scheme()) == ("http", "https")
        && (from.port_or_known_default(), to.port_or_known_default()) == (Some(80), Some(443));
    let is_same = from.scheme() == to.scheme() && from.port_or_known_default() == to.port_or_known_default();
    from.host_str() == to.host_str() && (is_same || is_upgrade)
}

fn to_fetch(request: &Request) -> fetch::Request<'_> {
    let body = request.body().and_then(Body::as_bytes).unwrap_or_default();
    fetch::Request {
        method: request.method().clone(),
        url: request.url(),
        headers: request.headers().clone(),
        body: body.to_vec().into(),
    }
}

/// A failure to reach the service in our words, never with the address, which may hold a key.
fn explain(error: fetch::Error) -> Error {
    if let Some(refused) = error.find::<Refused>() {
        return refused.into();
    }
    if error.is_unusable() {
        return Error::internal("the request cannot be sent").caused_by(error);
    }
    let message = if error.is_resolve() {
        "the service's name cannot be resolved"
    } else if error.is_connect() {
        "the service cannot be connected to"
    } else {
        "the connection broke before the service answered"
    };
    Error::unavailable(message).caused_by(error).retryable()
}
