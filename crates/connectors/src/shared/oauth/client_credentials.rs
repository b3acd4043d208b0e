//! Access tokens for the client itself (RFC 6749, 4.4), replaced when the API refuses one.

use super::cache::FETCH_TIMEOUT;
use super::{Client, Form, Refusal, Token, TokenCache, TokenResponse, answer};
use crate::shared::body::{self, BodyError};
use crate::shared::network::Policy;
use crate::shared::unreachable::explain;
use fetch::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use fetch::http::{Method, StatusCode};
use fetch::{Request, Response, Url};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::{Error, Result, Secret};

const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// How long a token is used whose life is not told; a refusal ends it earlier.
const UNTOLD_LIFE: Duration = Duration::from_secs(3600);

/// Who asks for tokens, where, and for what.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) token_url: Url,
    pub(crate) client: Client,
    pub(crate) scope: Option<String>,
    pub(crate) audience: Option<String>,
}

/// The tokens of one service.
#[derive(Debug)]
pub(crate) struct ClientCredentials {
    grant: Arc<Grant>,
    cache: TokenCache,
}

impl ClientCredentials {
    pub(crate) fn new(grant: Grant) -> Self {
        Self { grant: Arc::new(grant), cache: TokenCache::default() }
    }

    /// The token to sign with, fetched if need be.
    ///
    /// # Errors
    /// When the token endpoint cannot be reached, is not allowed, or refuses.
    pub(crate) async fn get(&self, http: &fetch::Client, policy: &Policy) -> Result<Arc<Token>> {
        let fetch = || {
            policy.check(&self.grant.token_url)?;
            Ok(fetch(http.clone(), self.grant.clone()))
        };
        self.cache.get(fetch).await
    }

    /// The API refused this token: the next call gets another.
    pub(crate) fn refuse(&self, token: &Arc<Token>) {
        self.cache.refuse(token);
    }

    /// What must not show.
    pub(crate) fn secret(&self) -> &str {
        self.grant.secret()
    }
}

async fn fetch(http: fetch::Client, grant: Arc<Grant>) -> Result<Token> {
    let begun = Instant::now();
    let exchange = async {
        let response = http.send(grant.request()).await.map_err(explain)?;
        token(grant.read(response).await?, begun)
    };
    let late = |_| {
        let message = format!("did not answer within {} s", FETCH_TIMEOUT.as_secs());
        Err(Error::timeout(message).retryable())
    };
    let fetched = tokio::time::timeout(FETCH_TIMEOUT, exchange).await.unwrap_or_else(late);
    fetched.map_err(|error| {
        let (place, why) = (grant.token_url.host_str().unwrap_or_default(), error.full_message());
        super::cache::in_words(&error, format!("signing in at the token endpoint of '{place}' failed: {why}"))
    })
}

impl Grant {
    fn request(&self) -> Request {
        let mut form = Form::new("client_credentials");
        for (name, value) in [("scope", &self.scope), ("audience", &self.audience)] {
            if let Some(value) = value {
                form.add(name, value);
            }
        }
        self.client.sign(&mut form);
        let mut request = Request::new(Method::POST, self.token_url.clone());
        if let Some(authorization) = self.client.authorization() {
            request.headers.insert(AUTHORIZATION, authorization);
        }
        request.headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static(Form::CONTENT_TYPE));
        request.body = form.finish().into();
        request
    }

    async fn read(&self, response: Response) -> Result<TokenResponse> {
        let status = response.status();
        let body = body::read(response, MAX_ANSWER_BYTES).await.map_err(|error| match error {
            BodyError::TooLong => Error::upstream("the answer is too long to be a token"),
            BodyError::Broken(error) => explain(error),
        })?;
        if status != StatusCode::OK {
            return Err(self.refused(status, &body));
        }
        serde_json::from_slice(&body)
            .map_err(|_| Error::upstream("the answer holds no 'access_token'").with_status(200))
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> Error {
        let said = Refusal::read(body).words([self.secret()]);
        let said = if said.is_empty() { said } else { format!(": {said}") };
        let (number, client) = (status.as_u16(), &self.client.id);
        let message = match number {
            400 | 401 | 403 => format!(
                "it refused the client '{client}' with HTTP {number}{said}; check client_id, client_secret and scope"
            ),
            _ => format!("it answered HTTP {number}{said}"),
        };
        let refusal = Error::upstream(message).with_status(number);
        match number {
            429 | 502..=504 => refusal.retryable(),
            _ => refusal,
        }
    }

    fn secret(&self) -> &str {
        self.client.secret.as_ref().map_or("", Secret::expose)
    }
}

fn token(granted: TokenResponse, begun: Instant) -> Result<Token> {
    if let Some(kind) = granted.foreign_type() {
        return Err(Error::upstream(format!("the token is of the type '{kind}', only 'Bearer' is known")));
    }
    let renew_after = granted.renew_after().unwrap_or_else(|| answer::renew_after(UNTOLD_LIFE));
    Token::new(granted.access_token, begun + renew_after)
        .ok_or_else(|| Error::upstream("the access token is unusable as a header"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refuses_tokens_that_cannot_be_sent() {
        let token = |answer| token(serde_json::from_value(answer).unwrap(), Instant::now());
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
