//! How requests go out: through the client of this program, to addresses that were checked, within their time.

use super::failure::{self, refusal};
use super::page::{self, Page};
use super::signer::Signer;
use crate::oss::answer::escaped;
use crate::shared::attempts::timed_out;
use crate::shared::network::Policy;
use crate::shared::unreachable::explain;
use bytes::Bytes;
use fetch::http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HOST};
use fetch::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use fetch::{Client, Url};
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};
use opendal::{Buffer, ErrorKind, HttpBody, HttpTransport};
use percent_encoding::percent_decode_str;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tool::{Error, Result};

/// Errors say what they have to say in the first bytes.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// More than a list takes that passes over all that it may.
const MAX_PAGES: usize = 1000;
/// By then a listing has said that it is one.
const BEGINNING_BYTES: usize = 1024;

/// The way to one store.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) http: Client,
    pub(super) policy: Arc<Policy>,
    /// Of one request, until its answer begins, and of every piece of that.
    pub(super) timeout: Duration,
}

/// Requests on that way, signed.
#[derive(Clone)]
pub(super) struct Transport {
    pub(super) route: Route,
    pub(super) signer: Arc<Signer>,
    /// The address of the bucket: of some vendors OpenDAL leaves out the port, or the bucket before an unusual host.
    pub(super) base: Url,
    pub(super) bucket: String,
    /// How many pages of one list have come; nothing where none is listed.
    pub(super) pages: Option<Arc<AtomicUsize>>,
    /// The only page that is wanted.
    pub(super) page: Option<Arc<Page>>,
}

impl Transport {
    /// Sends a request, and gives the answer, whatever it is.
    pub(super) async fn send(
        &self,
        method: Method,
        url: Url,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<fetch::Response> {
        self.route.policy.check(&url)?;
        let mut request = fetch::Request::new(method, url);
        request.headers = headers;
        // A cached host or length of ours would be one too many; the bytes are wanted as they are.
        request.headers.remove(HOST);
        request.headers.remove(CONTENT_LENGTH);
        request.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        request.body = body;
        let sent = tokio::time::timeout(self.route.timeout, self.route.http.send(request)).await;
        sent.map_err(|_| late(self.route.timeout))?.map_err(explain)
    }

    /// The next piece of an answer.
    pub(super) async fn piece(&self, response: &mut fetch::Response) -> Result<Option<Bytes>> {
        let broken = |error| {
            Error::unavailable("the connection to the store broke before the end")
                .caused_by(error)
                .retryable()
        };
        let read = tokio::time::timeout(self.route.timeout, response.chunk()).await;
        read.map_err(|_| late(self.route.timeout))?.map_err(broken)
    }

    /// The body of an answer that is an error.
    pub(super) async fn words(&self, response: &mut fetch::Response) -> Vec<u8> {
        let mut words = Vec::new();
        while let Ok(Some(piece)) = self.piece(response).await {
            words.extend_from_slice(&piece);
            if words.len() > MAX_ERROR_BYTES {
                words.truncate(MAX_ERROR_BYTES);
                break;
            }
        }
        words
    }

    /// The same for one list, which ends.
    pub(super) fn for_list(&self) -> Self {
        Self { pages: Some(Arc::default()), ..self.clone() }
    }

    /// The same for one page of it.
    pub(super) fn for_page(&self, page: Arc<Page>) -> Self {
        Self { page: Some(page), ..self.clone() }
    }

    /// A store may say forever that its list goes on.
    fn count_page(&self) -> Result<()> {
        let pages = self.pages.as_ref().map_or(0, |pages| pages.fetch_add(1, Ordering::Relaxed));
        if pages < MAX_PAGES {
            return Ok(());
        }
        let message = format!(
            "the store's list has more than {MAX_PAGES} pages and does not end; list with a longer prefix"
        );
        Err(Error::upstream(message))
    }

    /// So much of an answer, if it has that much.
    async fn beginning(&self, response: &mut fetch::Response, bytes: usize) -> Result<Vec<u8>> {
        let mut begun = Vec::new();
        while begun.len() < bytes {
            let Some(piece) = self.piece(response).await? else { break };
            begun.extend_from_slice(&piece);
        }
        Ok(begun)
    }

    /// The beginning of a list, or all of the page that is wanted of it.
    async fn listed(&self, response: &mut fetch::Response) -> Result<Vec<u8>> {
        let Some(page) = &self.page else { return self.beginning(response, BEGINNING_BYTES).await };
        let list = self.beginning(response, page::MAX_BYTES).await?;
        page.end(&list)?;
        Ok(list)
    }

    /// Where a request of OpenDAL's goes.
    fn address(&self, uri: &Uri) -> Option<Url> {
        let mut url = Url::parse(&uri.to_string()).ok()?;
        url.set_host(self.base.host_str()).ok()?;
        let _ = url.set_port(self.base.port());
        // Escaped as the vendors escape it: not all of them sign what stands for itself elsewhere.
        let path = percent_decode_str(url.path()).decode_utf8_lossy().into_owned();
        url.set_path(&escaped(&path));
        Some(url)
    }

    async fn exchange(&self, request: Request<Buffer>) -> Result<Response<HttpBody>> {
        let (mut parts, body) = request.into_parts();
        let mut url = self.address(&parts.uri).ok_or_else(no_address)?;
        let (is_head, is_list) = (parts.method == Method::HEAD, parts.method == Method::GET);
        if let Some(page) = self.page.as_ref().filter(|_| is_list) {
            page.begin(&mut url)?;
        }
        parts.uri = url.as_str().parse().map_err(|_| no_address())?;
        self.signer.sign(&mut parts).await?;
        if is_list {
            self.count_page()?;
        }
        let mut response = self.send(parts.method, url, parts.headers, body.to_bytes()).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let is_for_others = status.is_success()
            || matches!(
                status,
                StatusCode::NOT_FOUND
                    | StatusCode::PRECONDITION_FAILED
                    | StatusCode::CONFLICT
                    | StatusCode::RANGE_NOT_SATISFIABLE
                    | StatusCode::NOT_MODIFIED
            );
        if !is_for_others {
            let words = self.words(&mut response).await;
            return Err(refusal(status, &headers, &words));
        }
        let mut begun = Vec::new();
        if status == StatusCode::NOT_FOUND && !is_head {
            begun = self.words(&mut response).await;
            failure::check_bucket(&self.bucket, &begun)?;
        }
        if status.is_success() && !is_head {
            if is_list {
                begun = self.listed(&mut response).await?;
            }
            failure::check_store(&headers, is_list.then_some(&begun))?;
        }
        let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        let begun = stream::iter((!begun.is_empty()).then(|| Ok(Buffer::from(begun))));
        let stream = stream::try_unfold((self.clone(), response), |(transport, mut response)| async move {
            match transport.piece(&mut response).await {
                Ok(piece) => Ok(piece.map(|piece| (Buffer::from(piece), (transport, response)))),
                Err(error) => Err(wrap(error)),
            }
        });
        let mut answer = Response::new(HttpBody::new(
            Exclusive(Mutex::new(begun.chain(stream).boxed())),
            length.filter(|_| status.is_success() && !is_head),
        ));
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}

impl HttpTransport for Transport {
    async fn fetch(&self, request: Request<Buffer>) -> opendal::Result<Response<HttpBody>> {
        self.exchange(request).await.map_err(wrap)
    }
}

/// Our error inside one of OpenDAL's, where `failure` finds it again.
fn wrap(error: Error) -> opendal::Error {
    opendal::Error::new(ErrorKind::Unexpected, "the store was not reached")
        .set_source(failure::Carried(error))
}

fn no_address() -> Error {
    Error::internal("the store has no address")
}

fn late(time: Duration) -> Error {
    timed_out(time, 1).because(tool::Reason::AttemptTimedOut)
}

/// A stream that is only ever polled by whoever has it alone, so that others may hold it.
struct Exclusive(Mutex<BoxStream<'static, opendal::Result<Buffer>>>);

impl Stream for Exclusive {
    type Item = opendal::Result<Buffer>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).poll_next_unpin(cx)
    }
}
