//! The pooled client of one service: attempts, pauses, redirects, and the end of waiting.

use super::redirect::{self, Redirects};
use super::request::Base;
use super::response;
use super::tools::Definition;
use crate::shared::attempts::{Backoff, Budget, Failure, retry_after, timed_out};
use crate::shared::breaker::{Breaker, TimeSetBy};
use crate::shared::network::{Policy, Resolver};
use crate::shared::oauth::Token;
use crate::shared::unreachable::explain;
use fetch::http::header::{AUTHORIZATION, HeaderName};
use fetch::http::{self, HeaderValue, StatusCode};
use fetch::{Request, Response, Tls};
use metrics::{Histogram, Unit, describe_histogram, histogram};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tool::secret::Redactor;
use tool::uri::Method;
use tool::{Call, Context, Ended, Error, Output, Result};

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
    pub(super) max_attempts: u32,
    pub(super) backoff: Backoff,
    pub(super) redirects: Redirects,
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
        let (budget, time) = self.budget(cx, definition, call, method);
        let what = || format!("{} {}", method.as_str(), definition.endpoint);
        let pass = self.breaker.admit()?;
        let run = async {
            let _permit = match &self.permits {
                Some(permits) => Some(permits.acquire().await.map_err(|_| Error::internal("no permits"))?),
                None => None,
            };
            budget.run(|| self.attempt(cx, definition, &request)).await
        };
        let result = until_done(cx, run).await;
        pass.judge(&result, time);
        result.map_err(|error| error.with("request", what()))
    }

    /// Asks for the headers of the base URL; any answer shows that somebody is there.
    pub(super) async fn probe(&self, cx: &Context) -> Result<()> {
        let request = self.base.probe();
        let response = until_done(&cx.for_at_most(PROBE_TIMEOUT), self.send(&request)).await?;
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

    fn budget(
        &self,
        cx: &Context,
        definition: &Definition,
        call: &Call,
        method: Method,
    ) -> (Budget, TimeSetBy) {
        let Limits { timeout, max_attempts, backoff, .. } = self.limits;
        let own = definition.timeout.unwrap_or(timeout);
        let is_idempotent = definition.is_idempotent.unwrap_or_else(|| is_idempotent(method));
        // A caller may want less than the service allows, never more.
        let wanted = call.options.timeout.filter(|timeout| *timeout < own);
        let attempts = if is_idempotent { max_attempts } else { 1 };
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
        let retry_after = retry_after(response.headers());
        let secrets = self.base.secrets_of(&request);
        let token = token.as_deref().map(|token| token.secret.expose());
        let secrets = secrets.iter().map(AsRef::as_ref).chain(token);
        let template = definition.error_template.as_ref();
        let (error, body) = response::read_error(response, template, &Redactor::new(secrets)).await;
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
            let token = tokens.get(cx, &self.http, &self.policy).await?;
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
            self.policy.check(&request.url)?;
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

/// Runs until it is done, the caller goes away, or the time is up.
async fn until_done<T>(cx: &Context, run: impl Future<Output = Result<T>>) -> Result<T> {
    let time = cx.remaining();
    cx.within(run).await.unwrap_or_else(|ended| match ended {
        Ended::Cancelled => Err(ended.error("")),
        Ended::TimedOut => Err(timed_out(time, 1)),
    })
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
