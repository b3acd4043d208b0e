//! HTTP+SSE as of 2024-11-05: one stream of events to us, a POST for each message from us.

use super::super::failure::Failure;
use super::super::inbox::Inbox;
use super::http::{Address, Posts};
use super::http_stream::{deliver, is_same_origin, is_stream, refusal};
use super::{Outgoing, Owned};
use bytes::Bytes;
use fetch::http::Method;
use fetch::http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use fetch::{Request, Response, SseEvents, Url};
use std::sync::Arc;
use tokio::sync::oneshot;
use tracing::debug;

pub(in super::super) struct Sse {
    poster: Arc<Poster>,
    _stream: Owned,
}

struct Poster {
    address: Address,
    posts: Posts,
    endpoint: std::sync::OnceLock<Url>,
}

impl Poster {
    async fn send(&self, text: String) -> Result<(), Failure> {
        let Some(url) = self.endpoint.get() else {
            return Err(Failure::unreachable("the server has not named its endpoint"));
        };
        let mut headers = self.address.current_headers();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = Request { method: Method::POST, url: url.clone(), headers, body: Bytes::from(text) };
        let response = self.address.client.send(request).await.map_err(|error| Failure::of_http(&error))?;
        if response.status().is_success() { Ok(()) } else { Err(refusal(url, response, true).await) }
    }

    /// Sends what nobody waits for.
    fn post(self: &Arc<Self>, text: String) {
        let poster = self.clone();
        self.posts.send(async move {
            let _ = poster.send(text).await;
        });
    }
}

impl Sse {
    /// Opens the stream and waits until the server has said where messages go.
    pub(super) async fn open(address: &Address, inbox: &Arc<Inbox>, limit: usize) -> Result<Self, Failure> {
        let mut headers = address.current_headers();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let request = Request { method: Method::GET, url: address.url.clone(), headers, body: Bytes::new() };
        let response = address.client.send(request).await.map_err(|error| Failure::of_http(&error))?;
        if !response.status().is_success() {
            return Err(refusal(&address.url, response, false).await);
        }
        if !is_stream(&response) {
            return Err(Failure::Protocol("the server does not answer with a stream of events".into()));
        }
        let poster =
            Poster { address: address.clone(), posts: Posts::default(), endpoint: Default::default() };
        let poster = Arc::new(poster);
        let (ready, is_ready) = oneshot::channel();
        let stream = Stream { poster: poster.clone(), inbox: inbox.clone(), limit };
        let sse = Self { poster, _stream: Owned::spawn(stream.run(response, ready)) };
        match is_ready.await {
            Ok(result) => result.map(|()| sse),
            Err(_) => Err(Failure::cut_off("the server's stream ended before it named its endpoint")),
        }
    }

    pub(super) async fn send(&self, message: Outgoing<'_>) -> Result<(), Failure> {
        self.poster.send(message.text).await
    }

    pub(super) fn post(&self, text: String) {
        self.poster.post(text);
    }
}

struct Stream {
    poster: Arc<Poster>,
    inbox: Arc<Inbox>,
    limit: usize,
}

impl Stream {
    async fn run(self, mut response: Response, ready: oneshot::Sender<Result<(), Failure>>) {
        let mut events = SseEvents::new(self.limit);
        let mut ready = Some(ready);
        let failure = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => events.push(&chunk),
                Ok(None) => break Failure::cut_off("the server ended its stream of events"),
                Err(error) => break Failure::of_http(&error),
            }
            if let Err(failure) = self.take(&mut events, &mut ready) {
                break failure;
            }
        };
        if let Some(ready) = ready.take() {
            let _ = ready.send(Err(failure.clone()));
        }
        self.inbox.close(&failure);
    }

    fn take(
        &self,
        events: &mut SseEvents,
        ready: &mut Option<oneshot::Sender<Result<(), Failure>>>,
    ) -> Result<(), Failure> {
        while let Some(event) = events.take()? {
            if event.name == "endpoint" {
                let endpoint = self.endpoint(&event.data)?;
                // The first one counts.
                let _ = self.poster.endpoint.set(endpoint);
                if let Some(ready) = ready.take() {
                    let _ = ready.send(Ok(()));
                }
            } else if event.name == "message"
                && !event.data.is_empty()
                && deliver(&self.inbox, event.data.as_bytes(), None, |text| self.poster.post(text)).is_err()
            {
                debug!("an event of an MCP server that is no message was ignored");
            }
        }
        Ok(())
    }

    /// Our keys go there, so it must be the same server.
    fn endpoint(&self, text: &str) -> Result<Url, Failure> {
        let url = &self.poster.address.url;
        let endpoint = url.join(text.trim()).map_err(|error| {
            Failure::Protocol(format!("the server's endpoint for messages is no URL: {error}"))
        })?;
        if is_same_origin(url, &endpoint) {
            return Ok(endpoint);
        }
        let host = endpoint.host_str().unwrap_or_default();
        Err(Failure::Refused(format!("the server wants its messages at another origin, {host}")))
    }
}
