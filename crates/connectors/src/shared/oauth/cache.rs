//! Tokens that are kept: fetched once for many callers, until shortly before they expire.

use crate::shared::headers::bearer;
use fetch::http::header::HeaderValue;
use futures::future::{BoxFuture, FutureExt, Shared};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tool::{Error, Reason, Result, Secret};

/// How long a fetch may take; one that is older has been left by all who waited for it.
pub(super) const FETCH_TIMEOUT: Duration = Duration::from_secs(15);

/// A token, ready to be sent.
#[derive(Debug)]
pub(crate) struct Token {
    /// The value of `Authorization`, marked sensitive so that it never shows.
    pub(crate) header: HeaderValue,
    /// The token's text, to be redacted wherever it is quoted.
    pub(crate) secret: Secret,
    renew_at: Instant,
}

impl Token {
    /// Nothing for a token that no header can carry.
    pub(crate) fn new(secret: Secret, renew_at: Instant) -> Option<Self> {
        Some(Self { header: bearer(&secret)?, secret, renew_at })
    }

    pub(crate) fn is_fresh(&self) -> bool {
        self.renew_at > Instant::now()
    }
}

/// The token of one service.
#[derive(Default)]
pub(crate) struct TokenCache(Mutex<State>);

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

impl TokenCache {
    /// The token that is kept, or else the one that `fetch` gives; many who ask at once share one fetch.
    ///
    /// # Errors
    /// Those of `fetch`.
    pub(crate) async fn get<F>(&self, fetch: impl FnOnce() -> Result<F>) -> Result<Arc<Token>>
    where
        F: Future<Output = Result<Token>> + Send + 'static,
    {
        let fetch = {
            let mut state = self.state();
            if let Some(token) = state.token.as_ref().filter(|token| token.is_fresh()) {
                return Ok(token.clone());
            }
            // One whose callers have all gone stands still; it is not waited for when it is old.
            match state.fetch.clone().filter(|fetch| fetch.begun.elapsed() < FETCH_TIMEOUT) {
                Some(fetch) => fetch,
                None => {
                    let answer = fetch()?.map(|answer| answer.map(Arc::new).map_err(Arc::new));
                    let fetch = Fetch { answer: answer.boxed().shared(), begun: Instant::now() };
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

    /// The service refused this token: the next call gets another. Many refusals of one token are one.
    pub(crate) fn refuse(&self, token: &Arc<Token>) {
        let mut state = self.state();
        if state.token.as_ref().is_some_and(|current| Arc::ptr_eq(current, token)) {
            state.token = None;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error in other words, with the same facts.
pub(super) fn in_words(error: &Error, message: String) -> Error {
    // Whoever knows the service's name puts it in front.
    error.restated(message).because(Reason::SignInFailed)
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenCache")
    }
}
