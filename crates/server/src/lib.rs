//! What a client can reach over HTTP: management, calls, health, metrics.

mod auth;
mod body;
mod call_error;
mod connections;
mod edge;
mod error;
mod finish;
mod health;
mod hooks;
mod json;
mod keyless;
mod linger;
mod listen;
pub mod manage;
pub mod mcp;
mod objects;
mod pace;
mod ui;

pub use connections::ClientLimits;
pub use error::code_of;
pub use manage::openapi_document;

use auth::{Attempts, Auth, Hashing};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use connections::Connections;
use error::{Code, Problem};
use gateway::Gateway;
use http::{HeaderName, HeaderValue, Method, header};
use metrics_exporter_prometheus::PrometheusHandle;
use runtime::{Background, Flows, OwnServices, Reload, SealedLinks};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::{Documents, Store};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tool::Secret;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use tower_http::cors::{AllowHeaders, CorsLayer};

/// How large a request's body may be unless that is said: 10 MiB of content in Base64, and what stands around it.
pub const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// How the server behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// The most bytes of a request's body.
    pub max_body_bytes: usize,
    /// How long the database may take to answer.
    pub store_timeout: Duration,
    /// How long a call may take, unless its URI says less.
    pub call_timeout: Duration,
    /// Calls in flight at shutdown may take this long to end.
    pub shutdown_timeout: Duration,
    /// Web pages that may call us from a browser; none unless configured.
    pub cors_origins: Vec<HeaderValue>,
    /// Audit records older than this are deleted.
    pub audit_retention: Option<Duration>,
    /// Clients of 2024-11-05 may come in over HTTP with SSE.
    pub serves_sse: bool,
    /// What stands before every path, e.g. `/tools`; nothing, or a path without a slash at its end.
    pub base_path: String,
    /// How clients reach this server, where somebody has said so: without a slash at its end.
    pub public_url: Option<String>,
    /// MCP clients on this machine may call without a key. Only for servers that others cannot reach.
    pub asks_no_key: bool,
    /// The service of the tenant `default` that is all its MCP doors offer.
    pub only_service: Option<Arc<str>>,
    /// What clients may cost, whoever they are.
    pub clients: ClientLimits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_body_bytes: MAX_BODY_BYTES,
            store_timeout: Duration::from_secs(10),
            call_timeout: Duration::from_secs(300),
            shutdown_timeout: Duration::from_secs(30),
            cors_origins: Vec::new(),
            audit_retention: Some(Duration::from_secs(90 * 24 * 60 * 60)),
            serves_sse: false,
            base_path: String::new(),
            public_url: None,
            asks_no_key: false,
            only_service: None,
            clients: ClientLimits::default(),
        }
    }
}

/// Each holds a connection and a little memory.
pub(crate) const MAX_STREAMS: usize = 10_000;

/// What every handler shares.
pub(crate) type Shared = Arc<AppState>;

/// Everything a handler may need.
pub(crate) struct AppState {
    pub(crate) store: Store,
    pub(crate) documents: Documents,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) auth: Arc<Auth>,
    pub(crate) attempts: Attempts,
    pub(crate) hashing: Hashing,
    pub(crate) sessions: mcp::Sessions,
    /// Opens links to objects, whoever made them.
    pub(crate) links: SealedLinks,
    /// Streams of notifications that may be open at the same time.
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) connections: Arc<Connections>,
    /// Where MCP clients over HTTP come in.
    pub(crate) door: Arc<mcp::Door>,
    pub(crate) sse_connections: mcp::sse::SseConnections,
    /// We listen on this machine's own address alone; known once we do.
    is_local: OnceLock<bool>,
    pub(crate) reload: Arc<Reload>,
    pub(crate) metrics: PrometheusHandle,
    pub(crate) options: Options,
    /// Calls run here, so that a client that goes away does not drop them unaudited.
    pub(crate) calls: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

impl AppState {
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// A place for one more stream, as long as it is held.
    pub(crate) fn stream_place(&self) -> error::Result<OwnedSemaphorePermit> {
        let place = self.streams.clone().try_acquire_owned();
        place.map_err(|_| Problem::new(Code::Unavailable, "too many streams are open; try again later"))
    }

    /// Only programs on this machine can reach us, unless something forwards to us.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local.get().copied().unwrap_or(false)
    }
}

/// A server that has loaded its configuration and not yet begun to listen.
pub struct Server {
    state: Shared,
    background: Vec<Background>,
}

impl Server {
    /// Loads everyone and everything from the store.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn new(
        store: Store,
        documents: Documents,
        gateway: Arc<Gateway>,
        flows: Arc<Flows>,
        metrics: PrometheusHandle,
        own: OwnServices,
        options: Options,
    ) -> tool::Result<Self> {
        let key = store.meta().jwt_key().await?;
        let auth = Arc::new(Auth::load(&store, &key).await?);
        gateway.look_up_callers(auth.clone());
        let reload = Arc::new(
            Reload::new(
                store.clone(),
                gateway.clone(),
                vec![auth.clone()],
                own,
                flows.clone(),
                options.store_timeout,
            )
            .await?,
        );
        let (calls, stopping) = (TaskTracker::new(), CancellationToken::new());
        let state = AppState {
            door: Arc::new(mcp::Door::new(gateway.clone(), calls.clone(), stopping.clone())),
            store,
            documents,
            gateway,
            flows,
            auth,
            attempts: Attempts::default(),
            hashing: Hashing::default(),
            sessions: mcp::Sessions::new(&key)?,
            links: SealedLinks::new(&key, "")?,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            connections: Arc::new(Connections::new(&options.clients)),
            sse_connections: mcp::sse::SseConnections::default(),
            is_local: OnceLock::new(),
            reload,
            metrics,
            options,
            calls,
            stopping,
        };
        Ok(Self { state: Arc::new(state), background: Vec::new() })
    }

    /// Adds work that goes on while the server runs.
    #[must_use]
    pub fn with_background(mut self, work: Background) -> Self {
        self.background.push(work);
        self
    }

    /// A code that signs a browser in once, as whoever holds a key.
    #[must_use]
    pub fn sign_in_code(&self, key: &Secret) -> Option<String> {
        let auth = &self.state.auth;
        let who = auth.identify(key.expose()).ok()?;
        auth.issue_browser(auth::Purpose::Code, &who).ok().map(|token| token.text)
    }

    /// Serves until `stop` fires, then lets requests and calls in flight end, then writes the
    /// rest of the audit.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) {
        let state = self.state;
        let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
        let _ = state.is_local.set(is_local);
        let background = TaskTracker::new();
        background.spawn(state.reload.clone().follow(state.stopping.clone()));
        background.spawn(tidy_metrics(state.clone()));
        let (store, retention) = (state.store.clone(), state.options.audit_retention);
        background.spawn(runtime::upkeep(store, retention, state.stopping.clone()));
        background.spawn(state.flows.clone().run(state.stopping.clone()));
        for work in self.background {
            background.spawn(work(state.stopping.clone()));
        }
        let router = router(state.clone());
        let stopped = {
            let (stop, stopping) = (stop.clone(), state.stopping.clone());
            async move {
                stop.cancelled().await;
                stopping.cancel();
            }
        };
        let body_limit = DefaultBodyLimit::max(state.options.max_body_bytes);
        let (limits, clients) = (&state.options.clients, state.connections.clone());
        let serving = listen::serve(listener, router, body_limit, limits, clients, stopped);
        let time = state.options.shutdown_timeout;
        let too_late = async {
            stop.cancelled().await;
            tokio::time::sleep(time).await;
        };
        tokio::select! {
            () = serving => {}
            () = too_late => tracing::warn!("requests did not end within {time:?}; they are cut"),
        }
        state.calls.close();
        if tokio::time::timeout(time, state.calls.wait()).await.is_err() {
            tracing::warn!("calls did not end within {time:?}; they are dropped");
        }
        background.close();
        // The calls that runs let end, and those made later, are in the audit, too.
        if tokio::time::timeout(time, background.wait()).await.is_err() {
            tracing::warn!("work in the background did not end within {time:?}");
        }
        state.gateway.close(time).await;
        let rest = async {
            background.wait().await;
            state.store.close().await;
        };
        if tokio::time::timeout(state.options.store_timeout, rest).await.is_err() {
            tracing::warn!("the database does not answer; its connections are dropped");
        }
    }
}

fn router(state: Shared) -> Router {
    // What the document says is made again when somebody asks for it.
    let (api, _document) = manage::router(&state.options);
    let recorder = manage::Recorder { state: state.clone(), rest: api.clone().with_state(state.clone()) };
    let api = api
        .layer(from_fn_with_state(recorder, manage::record))
        .layer(from_fn_with_state(state.clone(), auth::session::accept))
        .layer(compression());
    let sse = match state.options.serves_sse {
        true => Router::new()
            .route("/sse", get(mcp::sse::get))
            .route("/servers/{service}/sse", get(mcp::sse::get))
            .route("/messages", post(mcp::sse::post)),
        false => Router::new(),
    };
    let hook_limit = DefaultBodyLimit::max(state.options.max_body_bytes.min(hooks::MAX_BODY_BYTES));
    let guard = from_fn_with_state(state.clone(), keyless::guard);
    let keyless = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route_layer(guard.clone());
    let router = Router::new()
        .merge(sse)
        .merge(api)
        .merge(keyless)
        .route("/mcp", post(mcp::http::post).get(mcp::http::get))
        .route("/mcp/{api_key}", post(mcp::http::post).get(mcp::http::get))
        .route("/mcp/{api_key}/ws", get(mcp::ws::get))
        .route("/servers/{service}/mcp", post(mcp::http::post).get(mcp::http::get))
        .route("/servers/{service}/ws", get(mcp::ws::get))
        .route("/ws", get(mcp::ws::get))
        .route("/hooks/{hook_id}", post(hooks::receive).layer(hook_limit))
        .route("/tools/by-table/{table_id}", get(manage::tools::by_table::list))
        .route("/o/{token}", get(objects::get).put(objects::put))
        .route("/metrics", get(health::metrics))
        .route("/", get(ui::page))
        .route("/ui", get(ui::home))
        .route("/ui/", get(ui::home))
        .route("/ui/{*path}", get(ui::page))
        .route("/assets/{*path}", get(ui::asset))
        .fallback(edge::no_such_path)
        .method_not_allowed_fallback(edge::no_such_method);
    let base = state.options.base_path.clone();
    let router = match base.as_str() {
        "" => router,
        // Nested, `/` is the base alone; the links that we print end with a slash.
        base => Router::new()
            .nest(base, router)
            .route(&format!("{base}/"), get(ui::page))
            .fallback(edge::no_such_path),
    };
    // Its pages name themselves by their whole paths.
    let router = router.merge(manage::documentation(&base).route_layer(guard));
    // Off unless configured: the layer would say 200 to every OPTIONS.
    let router = match state.options.cors_origins.as_slice() {
        [] => router,
        origins => router.layer(cors(origins)),
    };
    router.with_state(state)
}

/// What a page of a configured origin may do: all that REST and MCP offer. Headers are allowed as the page asks for
/// them, as those that carry arguments of tools (`Mcp-Param-…`) have names that nobody can list.
fn cors(origins: &[HeaderValue]) -> CorsLayer {
    const BROWSERS_REMEMBER: Duration = Duration::from_secs(600);
    let exposed = ["mcp-protocol-version", "mcp-session-id", "x-request-id"].map(HeaderName::from_static);
    let exposed = exposed.into_iter().chain([
        header::CONTENT_DISPOSITION,
        header::LOCATION,
        header::RETRY_AFTER,
        header::WWW_AUTHENTICATE,
    ]);
    CorsLayer::new()
        .allow_origin(origins.to_vec())
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(exposed.collect::<Vec<_>>())
        .max_age(BROWSERS_REMEMBER)
}

/// Answers of REST are compressed where that is worth it; events are sent one by one.
fn compression() -> CompressionLayer<impl Predicate> {
    const WORTHWHILE_BYTES: u64 = 1024;
    let worthwhile =
        SizeAbove::new(WORTHWHILE_BYTES).and(NotForContentType::SSE).and(NotForContentType::IMAGES);
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(worthwhile)
}

/// Keeps the metrics small.
async fn tidy_metrics(state: Shared) {
    const PAUSE: Duration = Duration::from_secs(10);
    while state.stopping.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_some() {
        state.metrics.run_upkeep();
    }
}
