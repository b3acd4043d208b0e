//! Access tokens by client credentials (RFC 6749, 4.4): fetched once for many callers, kept until
//! shortly before they expire, and replaced when the API refuses one.

use super::headers::header_value;
use crate::shared::network::Policy;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fetch::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use fetch::http::{Method, StatusCode};
use fetch::{Request, Response, Url};
use futures::future::{BoxFuture, FutureExt, Shared};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tool::secret::Blots;
use tool::{Error, Reason, Result, Secret};

const FETCH_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_ANSWER_BYTES: usize = 64 * 1024;
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// A token is renewed this long before its end, so that no clock and no slow network lets it
/// expire on the way; short-lived ones a quarter of their life before it.
const MARGIN: Duration = Duration::from_secs(30);
/// How long a token is used whose life is not told; a refusal ends it earlier.
const UNTOLD_LIFE: Duration = Duration::from_secs(3600);

/// Who asks for tokens, where, and for what.
#[derive(Debug)]
pub(super) struct Grant {
    pub(super) token_url: Url,
    pub(super) client_id: String,
    pub(super) client_secret: Secret,
    pub(super) scope: Option<String>,
    pub(super) audience: Option<String>,
    pub(super) client_auth: ClientAuth,
}

/// How the client proves itself to the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientAuth {
    /// `client_secret_basic`: in the `Authorization` header.
    Basic,
    /// `client_secret_post`: in the body.
    Post,
}

/// A token, ready to be sent.
#[derive(Debug)]
pub(super) struct Token {
    /// Marked sensitive, so it never shows.
    pub(super) header: HeaderValue,
    secret: Secret,
    renew_at: Instant,
}

/// The tokens of one service.
pub(super) struct Tokens {
    grant: Arc<Grant>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<Arc<Token>>,
    /// The fetch that is under way, which everyone who needs a token waits for.
    fetch: Option<Fetch>,
}

#[derive(Clone)]
struct Fetch {
    answer: Shared<BoxFuture<'static, Result<Arc<Token>, Arc<Error>>>>,
    begun: Instant,
}

impl Tokens {
    pub(super) fn new(grant: Grant) -> Self {
        Self { grant: Arc::new(grant), state: Mutex::default() }
    }

    /// The token to sign with, fetched if need be.
    ///
    /// # Errors
    /// When the token endpoint cannot be reached, is not allowed, or refuses.
    pub(super) async fn get(&self, http: &fetch::Client, policy: &Policy) -> Result<Arc<Token>> {
        let fetch = {
            let mut state = self.state();
            if let Some(token) = state.token.as_ref().filter(|token| token.renew_at > Instant::now()) {
                return Ok(token.clone());
            }
            // One whose callers have all gone stands still; it is not waited for when it is old.
            match state.fetch.clone().filter(|fetch| fetch.begun.elapsed() < FETCH_TIMEOUT) {
                Some(fetch) => fetch,
                None => {
                    policy.check(&self.grant.token_url).map_err(|refused| Error::from(&refused))?;
                    let answer = fetch(http.clone(), self.grant.clone()).boxed().shared();
                    let fetch = Fetch { answer, begun: Instant::now() };
                    state.fetch = Some(fetch.clone());
                    fetch
                }
            }
        };
        let answer = fetch.answer.clone().await;
        let mut state = self.state();
        if state.fetch.as_ref().is_some_and(|current| current.answer.ptr_eq(&fetch.answer)) {
            state.fetch = None;
            state.token = answer.as_ref().ok().cloned();
        }
        answer.map_err(|error| in_words(&error, error.message().to_owned()))
    }

    /// The API refused this token: the next call gets another. Many refusals of one token are one.
    pub(super) fn refuse(&self, token: &Arc<Token>) {
        let mut state = self.state();
        if state.token.as_ref().is_some_and(|current| Arc::ptr_eq(current, token)) {
            state.token = None;
        }
    }

    /// Texts that must not show.
    pub(super) fn secret(&self) -> &Secret {
        &self.grant.client_secret
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Token {
    /// The token's text, to be blotted out wherever it is quoted.
    pub(super) fn secret(&self) -> &Secret {
        &self.secret
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tokens").field(&self.grant).finish()
    }
}

/// The error in other words, with the same facts.
fn in_words(error: &Error, message: String) -> Error {
    // Whoever knows the service's name puts it in front.
    error.restated(message).because(Reason::SignInFailed)
}

async fn fetch(http: fetch::Client, grant: Arc<Grant>) -> Result<Arc<Token>, Arc<Error>> {
    let begun = Instant::now();
    let place = grant.token_url.host_str().unwrap_or_default();
    let run = async {
        let response = http.send(grant.request()).await.map_err(super::client::explain)?;
        read(response, &grant).await
    };
    let answer = tokio::time::timeout(FETCH_TIMEOUT, run).await.unwrap_or_else(|_| {
        let message = format!("did not answer within {} s", FETCH_TIMEOUT.as_secs());
        Err(Error::timeout(message).retryable())
    });
    let token = answer.and_then(|answer| answer.into_token(begun));
    token.map(Arc::new).map_err(|error| {
        let why = error.full_message();
        Arc::new(in_words(&error, format!("signing in at the token endpoint of '{place}' failed: {why}")))
    })
}

impl Grant {
    fn request(&self) -> Request {
        let mut request = Request::new(Method::POST, self.token_url.clone());
        let mut body = String::from("grant_type=client_credentials");
        let mut add = |name: &str, value: &str| {
            body.push_str(&format!("&{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
        };
        for (name, value) in [("scope", &self.scope), ("audience", &self.audience)] {
            if let Some(value) = value {
                add(name, value);
            }
        }
        match self.client_auth {
            ClientAuth::Post => {
                add("client_id", &self.client_id);
                add("client_secret", self.client_secret.expose());
            }
            ClientAuth::Basic => {
                request.headers.insert(AUTHORIZATION, self.basic());
            }
        }
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        request.headers.insert(CONTENT_TYPE, form);
        request.body = body.into();
        request
    }

    /// Both halves are percent-encoded first, as RFC 6749, 2.3.1 wants it.
    fn basic(&self) -> HeaderValue {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pair = format!("{}:{}", encode(&self.client_id), encode(self.client_secret.expose()));
        let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
            .expect("Base64 is legal in a header");
        value.set_sensitive(true);
        value
    }
}

/// What a token endpoint says when it agrees.
#[derive(Deserialize)]
struct Answer {
    access_token: String,
    #[serde(default)]
    token_type: Option<String>,
    /// Seconds; some providers write them as text.
    #[serde(default)]
    expires_in: Option<serde_json::Value>,
}

/// What it says when it does not.
#[derive(Default, Deserialize)]
struct Refusal {
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_description: String,
}

async fn read(mut response: Response, grant: &Grant) -> Result<Answer> {
    let status = response.status();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(super::client::explain)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_ANSWER_BYTES {
            return Err(Error::upstream("the answer is too long to be a token"));
        }
    }
    if status == StatusCode::OK {
        return serde_json::from_slice(&bytes)
            .map_err(|_| Error::upstream("the answer holds no 'access_token'").with_status(200));
    }
    Err(refused(status, &bytes, grant))
}

fn refused(status: StatusCode, bytes: &[u8], grant: &Grant) -> Error {
    let Refusal { error, error_description } = serde_json::from_slice(bytes).unwrap_or_default();
    let blots = Blots::new([grant.client_secret.expose()]);
    let said: String = [error.as_str(), error_description.as_str()]
        .iter()
        .filter(|text| !text.is_empty())
        .map(|text| blots.apply(text))
        .map(|text| format!(": {}", text.chars().filter(|c| !c.is_control()).take(300).collect::<String>()))
        .collect();
    let number = status.as_u16();
    let client = &grant.client_id;
    let is_rejected = matches!(number, 400 | 401 | 403);
    let message = if is_rejected {
        format!(
            "it refused the client '{client}' with HTTP {number}{said}; check client_id, client_secret and scope"
        )
    } else {
        format!("it answered HTTP {number}{said}")
    };
    let refusal = Error::upstream(message).with_status(number);
    match number {
        429 | 502..=504 => refusal.retryable(),
        _ => refusal,
    }
}

impl Answer {
    fn into_token(self, begun: Instant) -> Result<Token> {
        if let Some(kind) = self.token_type.as_deref().filter(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            let kind: String = kind.chars().filter(|c| !c.is_control()).take(40).collect();
            return Err(Error::upstream(format!(
                "the token is of the type '{kind}', only 'Bearer' is known"
            )));
        }
        let unusable = || Error::upstream("the access token is unusable as a header");
        let is_sane = |token: &String| !token.is_empty() && token.len() <= MAX_TOKEN_BYTES;
        let text = Some(self.access_token).filter(is_sane).ok_or_else(unusable)?;
        let mut header = header_value(&format!("Bearer {text}")).ok_or_else(unusable)?;
        header.set_sensitive(true);
        let seconds = self.expires_in.and_then(|value| match value {
            serde_json::Value::String(text) => text.parse().ok(),
            other => other.as_f64(),
        });
        let life = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let life = life.unwrap_or(UNTOLD_LIFE).min(Duration::from_secs(366 * 24 * 3600));
        let renew_at = begun + life.saturating_sub(MARGIN.min(life / 4));
        Ok(Token { header, secret: Secret::new(text), renew_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn token(answer: serde_json::Value) -> Result<Token> {
        serde_json::from_value::<Answer>(answer).unwrap().into_token(Instant::now())
    }

    #[test]
    fn renews_before_the_end_also_of_a_short_life() {
        for (expires_in, seconds) in
            [(json!(3600), 3570), (json!("60"), 45), (json!(2), 1), (json!(null), 3570), (json!(-5), 3570)]
        {
            let token = token(json!({ "access_token": "t", "expires_in": expires_in })).unwrap();
            let left = token.renew_at.saturating_duration_since(Instant::now()).as_secs_f64();
            assert!((left - f64::from(seconds)).abs() <= 1.0, "{expires_in}: {left}");
        }
        token(json!({ "access_token": "t", "expires_in": 1e300 })).unwrap();
    }

    #[test]
    fn refuses_tokens_that_cannot_be_sent() {
        for answer in [
            json!({ "access_token": "" }),
            json!({ "access_token": "a\r\nX-Evil: 1" }),
            json!({ "access_token": "x".repeat(20_000) }),
            json!({ "access_token": "t", "token_type": "mac" }),
        ] {
            assert_eq!(token(answer).unwrap_err().kind(), tool::ErrorKind::Upstream);
        }
        assert!(token(json!({ "access_token": "t", "token_type": "bearer" })).is_ok());
    }
}
