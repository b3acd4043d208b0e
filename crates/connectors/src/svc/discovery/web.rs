//! The way to a registry: guarded, bounded, and explained when it fails.

use crate::shared::body::{self, BodyError};
use crate::shared::network::{Policy, Resolver};
use crate::shared::unreachable::explain;
use fetch::http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use fetch::http::{Method, StatusCode};
use fetch::{Request, Response, Tls, Url};
use serde::de::DeserializeOwned;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::{Error, Problem, Reason, Result, Secret};

/// The most bytes of one answer, or of one event. A thousand instances have about one million.
pub(super) const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// How long a registry may take for an answer that it has.
pub(super) const ANSWER_TIME: Duration = Duration::from_secs(10);
/// However fast a registry answers, it is not asked more often.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// One registry.
#[derive(Debug)]
pub(super) struct Web {
    /// For people, e.g. `Consul`.
    name: &'static str,
    /// The setting that lets us in.
    credential: &'static str,
    base: Url,
    http: fetch::Client,
    policy: Arc<Policy>,
}

impl Web {
    pub(super) fn new(
        name: &'static str,
        credential: &'static str,
        base: Url,
        policy: Arc<Policy>,
        tls: Tls,
    ) -> Self {
        let http = fetch::Client::new(Arc::new(Resolver(policy.clone())), tls);
        Self { name, credential, base, http, policy }
    }

    /// The address of something in the registry; each segment is escaped.
    pub(super) fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Asks, and waits for the head of the answer until `time` is over.
    ///
    /// # Errors
    /// `Denied` when the guard refuses the registry, `Unavailable` when it cannot be reached.
    pub(super) async fn send(&self, request: Request, time: Duration) -> Result<Response> {
        self.policy.check(&request.url).map_err(|refused| refused.about(self.name))?;
        let sent = tokio::time::timeout(time, self.http.send(request)).await;
        let sent = sent.map_err(|_| Error::timeout(format!("{} did not answer in time", self.name)))?;
        sent.map_err(|error| explain(error).about(self.name))
    }

    pub(super) async fn get(&self, url: Url, headers: HeaderMap, time: Duration) -> Result<Response> {
        self.send(Request { headers, ..Request::new(Method::GET, url) }, time).await
    }

    /// The body of a good answer as JSON.
    ///
    /// # Errors
    /// When the registry refuses, or answers with something else or too much.
    pub(super) async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T> {
        self.check(response.status())?;
        let body = self.bytes(response).await?;
        self.parse(&body)
    }

    pub(super) fn parse<T: DeserializeOwned>(&self, json: &[u8]) -> Result<T> {
        serde_json::from_slice(json).map_err(|error| {
            let message = format!("{} answered with something that cannot be used", self.name);
            Error::upstream(message).caused_by(error)
        })
    }

    pub(super) async fn bytes(&self, response: Response) -> Result<Vec<u8>> {
        let read = tokio::time::timeout(ANSWER_TIME, body::read(response, MAX_ANSWER_BYTES)).await;
        match read {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(BodyError::TooLong)) => Err(self.too_long()),
            Ok(Err(BodyError::Broken(error))) => Err(explain(error).about(self.name)),
            Err(_) => Err(Error::timeout(format!("{} did not finish its answer in time", self.name))),
        }
    }

    pub(super) fn too_long(&self) -> Error {
        Error::upstream(format!("{} answered with more than {MAX_ANSWER_BYTES} bytes", self.name))
    }

    /// Whether the registry did what it was asked.
    pub(super) fn check(&self, status: StatusCode) -> Result<()> {
        let (name, credential) = (self.name, self.credential);
        match status {
            status if status.is_success() => Ok(()),
            // Its status is not that of an answer of the service.
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let message = format!("{name} does not let us ask; check '{credential}'");
                Err(Error::upstream(message).because(Reason::CredentialsRejected))
            }
            status => {
                let message = format!("{name} answered HTTP {}", status.as_u16());
                Err(Error::upstream(message).with_status(status.as_u16()))
            }
        }
    }
}

/// The entries of a list, without those that cannot be read: one of them must not take the others with it.
#[derive(Debug)]
pub(super) struct Readable<T>(pub(super) Vec<T>);

impl<T> Default for Readable<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Readable<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Vec::<Value>::deserialize(deserializer)?;
        let named = entries.len();
        let read: Vec<T> = entries.into_iter().filter_map(|entry| T::deserialize(entry).ok()).collect();
        if named > 0 && read.is_empty() {
            // It speaks of something else; that is not to say that there is nobody.
            return Err(D::Error::custom("no entry of a list can be read"));
        }
        warn_of_left_out(named - read.len());
        Ok(Self(read))
    }
}

/// Says aloud that not everybody in a list can be called.
pub(super) fn warn_of_left_out(count: usize) {
    if count > 0 {
        tracing::warn!(
            count,
            "a registry names {count} instances without a usable address, port or weight; they are left out"
        );
    }
}

/// Keeps two questions apart.
#[derive(Debug, Default)]
pub(super) struct Pace(Option<Instant>);

impl Pace {
    /// Waits until `pause` is over since the last question, and no less than a little.
    pub(super) async fn keep(&mut self, pause: Duration) {
        if let Some(last) = self.0 {
            tokio::time::sleep_until((last + pause.max(SHORTEST_PAUSE)).into()).await;
        }
        self.0 = Some(Instant::now());
    }

    /// The next question may be asked at once.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }
}

/// A header that never shows.
pub(super) fn secret_header(
    name: HeaderName,
    secret: &Secret,
    path: &str,
    problems: &mut Vec<Problem>,
) -> Option<(HeaderName, HeaderValue)> {
    let text =
        if name == AUTHORIZATION { format!("Bearer {}", secret.expose()) } else { secret.expose().into() };
    let Some(mut value) = crate::shared::headers::header_value(&text) else {
        let message = format!("'{path}' holds control characters or is too long for a header");
        problems.push(Problem::new(path, "InvalidHeaderValue", message));
        return None;
    };
    value.set_sensitive(true);
    Some((name, value))
}

/// Where a registry is.
pub(super) fn check_address(text: &str, path: &str, problems: &mut Vec<Problem>) -> Option<Url> {
    let is_sane = |url: &Url| {
        matches!(url.scheme(), "http" | "https")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && (url.username(), url.password()) == ("", None)
            && (url.query(), url.fragment()) == (None, None)
    };
    let url = Url::parse(text).ok().filter(is_sane);
    if url.is_none() {
        let message = format!("'{path}' must be a URL like http://registry:8500, without a password");
        problems.push(Problem::new(path, "InvalidUrl", message));
    }
    url
}
