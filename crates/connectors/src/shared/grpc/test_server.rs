//! A gRPC server in the process that does exactly what a test wants, right or wrong.

use super::frame::framed;
use bytes::{Buf, Bytes};
use fetch::http::{HeaderMap, Request, Response};
use futures::future::BoxFuture;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

type Handler = Arc<dyn Fn(Exchange) -> BoxFuture<'static, ()> + Send + Sync>;

/// A server on this machine; gone when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Connections that are open now.
    pub(crate) open: Arc<AtomicUsize>,
    /// Connections that there ever were.
    pub(crate) opened: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<HeaderMap>>>,
    _task: AbortOnDropHandle<()>,
}

/// One call at the server.
pub(crate) struct Exchange {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    body: RecvStream,
    respond: SendResponse<Bytes>,
    buffer: Vec<u8>,
}

impl Server {
    pub(crate) async fn start<F>(handle: impl Fn(Exchange) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self::start_with(None, handle).await
    }

    /// The same behind TLS.
    pub(crate) async fn start_with<F>(
        tls: Option<rustls::ServerConfig>,
        handle: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let tls = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let handler: Handler = Arc::new(move |exchange| Box::pin(handle(exchange)));
        let (open, opened) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::new(Mutex::default());
        let task =
            tokio::spawn(accept(listener, tls, handler, open.clone(), opened.clone(), Arc::clone(&seen)));
        Self { address, open, opened, seen, _task: AbortOnDropHandle::new(task) }
    }

    /// The headers of all calls so far.
    pub(crate) fn seen(&self) -> Vec<HeaderMap> {
        self.seen.lock().unwrap().clone()
    }
}

type Seen = Arc<Mutex<Vec<HeaderMap>>>;

async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    handler: Handler,
    open: Arc<AtomicUsize>,
    opened: Arc<AtomicUsize>,
    seen: Seen,
) {
    let mut tasks = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, handler, open, seen) = (tls.clone(), handler.clone(), open.clone(), seen.clone());
        opened.fetch_add(1, Ordering::SeqCst);
        open.fetch_add(1, Ordering::SeqCst);
        tasks.spawn(async move {
            match tls {
                None => serve(stream, handler, seen).await,
                // Whom it does not believe it does not serve.
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, handler, seen).await;
                    }
                }
            }
            open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, handler: Handler, seen: Seen) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    let mut calls = tokio::task::JoinSet::new();
    while let Some(Ok((request, respond))) = connection.accept().await {
        let (head, body): (_, RecvStream) = Request::into_parts(request);
        seen.lock().unwrap().push(head.headers.clone());
        let path = head.uri.path().to_owned();
        calls.spawn(handler(Exchange { path, headers: head.headers, body, respond, buffer: Vec::new() }));
    }
    // Calls see for themselves that nobody listens any more.
    while calls.join_next().await.is_some() {}
}

impl Exchange {
    /// The next message of the client.
    pub(crate) async fn message(&mut self) -> Option<Bytes> {
        loop {
            if let Some(head) = self.buffer.first_chunk::<5>() {
                let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                if self.buffer.len() >= 5 + length {
                    let message = Bytes::copy_from_slice(&self.buffer[5..5 + length]);
                    self.buffer.drain(..5 + length);
                    return Some(message);
                }
            }
            let data = self.body.data().await?.ok()?;
            self.body.flow_control().release_capacity(data.remaining()).unwrap();
            self.buffer.extend_from_slice(&data);
        }
    }

    /// Begins to answer.
    pub(crate) fn begin(&mut self) -> Answering {
        self.begin_with(&[])
    }

    /// The same with more headers.
    pub(crate) fn begin_with(&mut self, headers: &[(&str, &str)]) -> Answering {
        let mut head = Response::builder().header("content-type", "application/grpc");
        for (name, value) in headers {
            head = head.header(*name, *value);
        }
        Answering(self.respond.send_response(head.body(()).unwrap(), false).unwrap())
    }

    /// Answers with one message and a good status.
    pub(crate) fn answer(&mut self, message: &[u8]) {
        let mut answering = self.begin();
        answering.send(message);
        answering.end(&[("grpc-status", "0")]);
    }

    /// Answers with these headers and nothing else.
    pub(crate) fn only_headers(&mut self, status: u16, headers: &[(&str, &str)]) {
        let mut head = Response::builder().status(status);
        for (name, value) in headers {
            head = head.header(*name, *value);
        }
        self.respond.send_response(head.body(()).unwrap(), true).unwrap();
    }

    /// Answers with a status.
    pub(crate) fn fail(&mut self, headers: &[(&str, &str)]) {
        let mut all = vec![("content-type", "application/grpc")];
        all.extend_from_slice(headers);
        self.only_headers(200, &all);
    }

    pub(crate) fn reset(&mut self, reason: Reason) {
        self.respond.send_reset(reason);
    }

    /// Waits until the client ends the call.
    pub(crate) async fn cancelled(&mut self) {
        let _ = futures::future::poll_fn(|cx| self.respond.poll_reset(cx)).await;
    }
}

/// An answer that has begun.
pub(crate) struct Answering(SendStream<Bytes>);

impl Answering {
    pub(crate) fn send(&mut self, message: &[u8]) {
        self.raw(framed(message));
    }

    pub(crate) fn raw(&mut self, bytes: impl Into<Bytes>) {
        // A client that has left is no matter.
        let _ = self.0.send_data(bytes.into(), false);
    }

    pub(crate) fn end(mut self, trailers: &[(&str, &str)]) {
        let trailers = trailers.iter().map(|(name, value)| {
            (
                fetch::http::HeaderName::try_from(*name).unwrap(),
                fetch::http::HeaderValue::try_from(*value).unwrap(),
            )
        });
        let _ = self.0.send_trailers(trailers.collect());
    }

    pub(crate) fn reset(mut self, reason: Reason) {
        self.0.send_reset(reason);
    }

    /// Ends without a status.
    pub(crate) fn close(mut self) {
        let _ = self.0.send_data(Bytes::new(), true);
    }

    /// Waits until the client resets the stream.
    pub(crate) async fn cancelled(&mut self) -> Option<Reason> {
        futures::future::poll_fn(|cx| self.0.poll_reset(cx)).await.ok()
    }
}
