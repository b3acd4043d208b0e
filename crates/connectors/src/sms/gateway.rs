//! What every vendor's gateway can do, and the requests that go there.

use super::cause::{self, Cause};
use super::hidden::{Hidden, Words};
use super::number::Number;
use super::sign::Stamp;
use super::wording::Wording;
use crate::shared::attempts::retry_after;
use crate::shared::body;
use crate::shared::network::{Policy, refused};
use crate::shared::sending::{Fate, Status};
use crate::shared::unreachable::explain;
use async_trait::async_trait;
use fetch::http::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use fetch::http::{HeaderValue, Method};
use fetch::{Request, Url};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tool::{Error, Result, Secret};

/// What stands for the code of an answer that has none.
pub(super) const NO_CODE: &str = "no code";
/// The status of whoever wants fewer requests.
const TOO_MANY: u16 = 429;
/// The most bytes of an answer that are read.
const MAX_ANSWER: usize = 1024 * 1024;

/// A vendor.
#[async_trait]
pub(super) trait Gateway: Send + Sync {
    /// How many numbers fit into one request.
    fn at_once(&self) -> usize;

    /// Sends the same to some numbers with one request. Tells what became of each, or why nobody was asked.
    async fn send(
        &self,
        wording: &Wording,
        numbers: &[Number],
        is_doubtful: &AtomicBool,
    ) -> Result<Vec<Fate>>;

    /// Checks what a vendor asks of wordings before anything is sent.
    fn check(&self, wording: &Wording) -> Result<()>;

    /// Whether it is there.
    async fn probe(&self) -> Result<()>;
}

/// A gateway of the web: one request, and what its answer means.
#[async_trait]
pub(super) trait Vendor: Send + Sync {
    /// How many numbers fit into one request.
    const AT_ONCE: usize;

    fn web(&self) -> &Web;

    /// The request that sends the same to some numbers.
    fn request(&self, wording: &Wording, numbers: &[Number], stamp: &Stamp) -> Result<Request>;

    fn read(answer: &Answer<'_>, numbers: &[Number]) -> Result<Vec<Fate>>;

    /// Whether the vendor can send it, as far as that shows before.
    fn suits(wording: &Wording) -> Result<()>;

    /// A connection is enough where nothing can be asked for free.
    async fn knock(&self) -> Result<()> {
        let web = self.web();
        web.ask(Request::new(Method::HEAD, web.endpoint.clone())).await.map(drop)
    }
}

#[async_trait]
impl<V: Vendor> Gateway for V {
    fn at_once(&self) -> usize {
        V::AT_ONCE
    }

    async fn send(
        &self,
        wording: &Wording,
        numbers: &[Number],
        is_doubtful: &AtomicBool,
    ) -> Result<Vec<Fate>> {
        let request = self.request(wording, numbers, &Stamp::now())?;
        let hidden = Hidden::of(wording, numbers);
        let answer = self.web().exchange(request, hidden, is_doubtful).await?;
        let fates = V::read(&answer, numbers)?;
        // Whoever says this has let nothing through, in whatever words.
        match answer.status == TOO_MANY && fates.iter().all(|fate| fate.status == Status::Unknown) {
            true => Err(unreadable(answer.status, &answer.headers)),
            false => Ok(fates),
        }
    }

    fn check(&self, wording: &Wording) -> Result<()> {
        V::suits(wording)
    }

    async fn probe(&self) -> Result<()> {
        self.knock().await
    }
}

/// Who we are to a vendor.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) key: Secret,
    pub(super) secret: Secret,
}

/// The way to a vendor.
pub(super) struct Web {
    pub(super) http: fetch::Client,
    pub(super) policy: Arc<Policy>,
    pub(super) endpoint: Url,
}

/// An answer in JSON.
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) json: Value,
    hidden: Hidden<'a>,
}

impl Answer<'_> {
    pub(super) fn text(&self, pointer: &str) -> Option<&str> {
        self.json.pointer(pointer).and_then(Value::as_str)
    }

    /// What the vendor says to people, where it does.
    pub(super) fn words(&self, said: Option<&str>) -> Words {
        self.hidden.masked(said.unwrap_or_default())
    }

    /// The whole request failed with this code of the vendor's.
    pub(super) fn failure(
        &self,
        code: &str,
        words: &Words,
        cause: Cause,
        people: usize,
    ) -> Result<Vec<Fate>> {
        let is_clear = self.status < 500 && code != NO_CODE;
        let cause = if cause == Cause::Other && !is_clear { Cause::Unclear } else { cause };
        cause::failure(self, code, words, cause, people)
    }
}

impl Web {
    /// The host as it stands in the request.
    pub(super) fn host(&self) -> String {
        let host = self.endpoint.host_str().unwrap_or_default();
        self.endpoint.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    pub(super) fn url(&self, path_and_query: &str) -> Result<Url> {
        self.endpoint
            .join(path_and_query)
            .map_err(|error| Error::internal("an address is none").caused_by(error))
    }

    /// A request with a body of this type, and headers that are known to be legal.
    pub(super) fn post(
        &self,
        path_and_query: &str,
        content_type: &'static str,
        body: String,
    ) -> Result<Request> {
        let mut request = Request::new(Method::POST, self.url(path_and_query)?);
        request.headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        request.body = body.into();
        Ok(request)
    }

    /// Sends a request that sends messages: from when it is written on, nobody knows what became of it.
    pub(super) async fn exchange<'a>(
        &self,
        request: Request,
        hidden: Hidden<'a>,
        is_doubtful: &AtomicBool,
    ) -> Result<Answer<'a>> {
        self.policy.check(&request.url)?;
        is_doubtful.store(true, Ordering::Relaxed);
        let response = self.http.send(request).await.map_err(|error| {
            if error.is_connect()
                || error.is_resolve()
                || error.is_unusable()
                || refused::find(&error).is_some()
            {
                is_doubtful.store(false, Ordering::Relaxed);
                return explain(error).about("the SMS gateway");
            }
            lost("the connection broke before the SMS gateway answered").caused_by(error)
        })?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let read = body::read(response, MAX_ANSWER).await;
        let json = read.ok().and_then(|body| serde_json::from_slice(&body).ok());
        match json {
            Some(json) => {
                is_doubtful.store(false, Ordering::Relaxed);
                Ok(Answer { status, headers, json, hidden })
            }
            None => {
                // Whoever says this has not let the request through.
                is_doubtful.store(![401, 403, TOO_MANY].contains(&status), Ordering::Relaxed);
                Err(unreadable(status, &headers))
            }
        }
    }

    /// Asks for something that changes nothing; any answer shows that somebody is there.
    pub(super) async fn ask(&self, request: Request) -> Result<u16> {
        self.policy.check(&request.url)?;
        let response =
            self.http.send(request).await.map_err(|error| explain(error).about("the SMS gateway"))?;
        Ok(response.status().as_u16())
    }
}

/// An answer that is no answer of the vendor's: some server between has made it.
fn unreadable(status: u16, headers: &HeaderMap) -> Error {
    let error = match status {
        TOO_MANY => Error::upstream("the SMS gateway wants fewer requests (HTTP 429)").retryable(),
        401 | 403 => cause::credentials(&format!("HTTP {status}")),
        500.. => lost(&format!("the SMS gateway is not able to answer (HTTP {status})")),
        _ => lost(&format!("the answer of the SMS gateway cannot be read (HTTP {status})")),
    };
    let error = error.with_status(status);
    match retry_after(headers) {
        Some(time) => error.with_retry_after(time),
        None => error,
    }
}

/// Not to be repeated, since it may have happened.
fn lost(what: &str) -> Error {
    Error::unavailable(format!("{what}; the message may have been sent"))
}

/// A header whose value is made of keys and codes.
pub(super) fn put(headers: &mut HeaderMap, name: &'static str, value: &str) -> Result<()> {
    let mut value = HeaderValue::try_from(value).map_err(|_| {
        Error::invalid_config("a setting of the SMS service has characters that no request can carry; check 'api_key' and 'region'")
    })?;
    value.set_sensitive(name == "authorization");
    headers.insert(HeaderName::from_static(name), value);
    Ok(())
}
