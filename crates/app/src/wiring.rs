//! Wiring: from settings to a server that is ready to listen.

use crate::Failure;
use crate::pins::AllPins;
use crate::telemetry::{self, OtlpSpans};
use connectors::embeddings;
use gateway::Gateway;
use gateway::audit::Audit;
use local::mcp_config::{self, Followed, McpConfig};
use local::{FilePins, OneServer};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use runtime::flows::FlowOptions;
use runtime::{AuditSink, Background, Flows, Origin, OwnServices, SealedLinks, StoredPins};
use search::Finder;
use server::{Options, Server};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use store::{Documents, OnceResults, Queues, Store, Vault};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tool::{CallTools, Embeddings, Env, SearchMode, Secret, ToolSearch};

/// How the server is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Database, key and other files.
    pub data_dir: PathBuf,
    /// A `sqlite:` or `postgres:` URL; SQLite in the data dir unless given.
    pub database: Option<Secret>,
    /// Master keys that do not come from the data dir.
    pub master_key: Option<Secret>,
    /// An admin key that is set from outside.
    pub admin_token: Option<Secret>,
    /// Services of the owner of this process.
    pub mcp_config: Option<PathBuf>,
    /// A server of the owner of this process, which is then all that is served at the MCP doors.
    pub one_server: Option<OneServer>,
    /// Admins get tools that show and change that file.
    pub has_self_tools: bool,
    /// All services may call private addresses.
    pub allow_private_network: bool,
    /// Of how many of each tenant's last calls and failures is kept in memory what they sent and got.
    pub kept_calls: usize,
    /// The most bytes of an answer.
    pub max_result_bytes: Option<usize>,
    /// How MCP doors tell of their tools, unless a tenant has its own way.
    pub tool_search: SearchMode,
    /// Where embeddings come from; search goes by words alone without.
    pub embeddings: Option<embeddings::Settings>,
    /// Where spans go; none are made without.
    pub telemetry: Option<telemetry::Settings>,
    /// How indexes of texts are made.
    pub search: search::Options,
    /// Everything else.
    pub server: Options,
}

impl Settings {
    /// The defaults, with everything in `data_dir`.
    #[must_use]
    pub fn in_dir(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 3095)),
            data_dir: data_dir.into(),
            database: None,
            master_key: None,
            admin_token: None,
            mcp_config: None,
            one_server: None,
            has_self_tools: false,
            allow_private_network: false,
            kept_calls: 200,
            max_result_bytes: None,
            tool_search: SearchMode::Off,
            embeddings: None,
            telemetry: None,
            search: search::Options::default(),
            server: Options::default(),
        }
    }
}

/// A server that listens and is about to serve.
pub struct Started {
    /// Where it listens.
    pub address: SocketAddr,
    /// The admin key, if this start made one.
    pub admin_key: Option<Secret>,
    /// Signs a browser in once, as the holder of that key.
    pub sign_in_code: Option<Secret>,
    listener: TcpListener,
    server: Server,
    spans: Option<Arc<OtlpSpans>>,
}

impl Started {
    /// Serves until `stop` fires.
    pub async fn run(self, stop: CancellationToken) {
        self.server.serve(self.listener, stop).await;
        if let Some(spans) = self.spans {
            spans.close().await;
        }
    }
}

/// Opens everything: data dir, database, gateway, listener.
///
/// # Errors
/// What cannot be opened, and what to do about it.
pub async fn start(mut settings: Settings) -> Result<Started, Failure> {
    check_no_auth(&settings)?;
    check_admin_token(&settings)?;
    let listener = listen(settings.listen).await?;
    let address = listener.local_addr().map_err(|error| Failure::new("no address").because(error))?;
    let store =
        open_store(&settings.data_dir, settings.database.clone(), settings.master_key.as_ref()).await?;
    let metrics = metrics()?;
    let admin_key = runtime::first_start::prepare(&store, settings.admin_token.as_ref()).await;
    let admin_key = admin_key.map_err(|error| database_failure("the first tenant cannot be made", error))?;
    let documents = Documents::new(store.clone(), settings.server.store_timeout);
    let queues = Queues::new(store.clone(), settings.server.store_timeout);
    let here = || format!("http://{address}{}", settings.server.base_path);
    let links = links(&store, &settings.server.public_url.clone().unwrap_or_else(here)).await?;
    let spans = settings.telemetry.as_ref().map(OtlpSpans::start).transpose()?;
    let mut env = Env {
        spans: spans.clone().map(|spans| spans as _),
        allow_private_network: settings.allow_private_network,
        tables: Some(Arc::new(documents.clone())),
        queue: Some(Arc::new(queues.clone())),
        once: Some(Arc::new(OnceResults::new(store.clone(), settings.server.store_timeout))),
        links: Some(Arc::new(links)),
        data_dir: Some(settings.data_dir.clone()),
        result_budget_bytes: settings.max_result_bytes.unwrap_or(gateway::RESULT_BUDGET_BYTES),
        ..Env::default()
    };
    let flows = flows(&store, &settings).await?;
    env.runs = Some(flows.clone());
    let embeddings = embeddings_from(settings.embeddings, &env)?;
    env.embeddings = embeddings.clone();
    let finder = Finder::new(store.clone(), embeddings.clone(), settings.server.store_timeout);
    env.search = Some(Arc::new(finder));
    let indexing = indexing(store.clone(), documents.clone(), embeddings, settings.search);
    let spill = settings.data_dir.join("audit-spill.jsonl");
    let sink = AuditSink::new(store.clone(), spill, settings.server.store_timeout, server::code_of);
    let audit = Audit::keeping(Arc::new(sink), settings.kept_calls);
    let options = gateway::Options {
        result_budget_bytes: settings.max_result_bytes,
        tool_search: ToolSearch { mode: settings.tool_search, pinned: Vec::new() },
    };
    let followed = settings.mcp_config.map(|path| Followed {
        path,
        pins: settings.data_dir.join("pins.json"),
        has_self_tools: settings.has_self_tools,
    });
    let own_pins = own_pins(followed.as_ref(), settings.one_server.as_ref(), &settings.data_dir);
    let stored = StoredPins::new(store.clone(), settings.server.store_timeout);
    let pins = Arc::new(AllPins { own: own_pins, stored });
    let gateway = Gateway::with_pins(connectors::REGISTRY, env.clone(), audit, options, pins);
    let later = later_calls(store.clone(), queues, &gateway);
    flows.attach(&gateway);
    settings.server.only_service = settings.one_server.as_ref().map(|_| OneServer::ID.into());
    let own = own_services(followed, settings.one_server.as_ref(), env.shutdown)?;
    let server = Server::new(store, documents, gateway, flows, metrics, own, settings.server).await;
    let server = server.map_err(|error| database_failure("the configuration cannot be loaded", error))?;
    let server = server.with_background(indexing).with_background(later).with_background(giving_back());
    let sign_in_code = admin_key.as_ref().and_then(|key| server.sign_in_code(key)).map(Secret::new);
    Ok(Started { address, admin_key, sign_in_code, listener, server, spans })
}

/// Characters of an admin token that nobody guesses.
const SHORTEST_TOKEN: usize = 16;

fn check_no_auth(settings: &Settings) -> Result<(), Failure> {
    if !settings.server.asks_no_key || settings.listen.ip().is_loopback() {
        return Ok(());
    }
    Err(Failure::new(format!("--no-auth cannot be used with --listen {}", settings.listen)).advice(
        "without keys everybody who reaches the server may call; listen on 127.0.0.1, or leave --no-auth out",
    ))
}

/// A short token can be guessed by whoever reaches the server, and whoever guesses it may do everything. On this
/// machine alone that is its owner's affair.
fn check_admin_token(settings: &Settings) -> Result<(), Failure> {
    let count = settings.admin_token.as_ref().map(|token| token.expose().chars().count());
    let Some(count) = count.filter(|count| *count < SHORTEST_TOKEN) else { return Ok(()) };
    let advice = format!("take at least {SHORTEST_TOKEN} characters, made at random (openssl rand -hex 32)");
    if settings.listen.ip().is_loopback() {
        tracing::warn!("the admin token has {count} characters and can be guessed; {advice}");
        return Ok(());
    }
    Err(Failure::new(format!(
        "an admin token of {count} characters cannot be used with --listen {}",
        settings.listen
    ))
    .advice(advice))
}

/// Where the pins of services are that belong to the owner of this machine.
fn own_pins(followed: Option<&Followed>, one: Option<&OneServer>, data_dir: &Path) -> Option<FilePins> {
    match (followed, one) {
        (Some(followed), _) => Some(FilePins::new(followed.pins.clone(), &followed.path)),
        (None, Some(one)) => Some(FilePins::new(data_dir.join("pins.json"), &one.pinned_as())),
        (None, None) => None,
    }
}

/// The runs of flows; nobody works on them before the server runs.
async fn flows(store: &Store, settings: &Settings) -> Result<Arc<Flows>, Failure> {
    let options = FlowOptions {
        call_timeout: settings.server.call_timeout,
        store_timeout: settings.server.store_timeout,
        shutdown_timeout: settings.server.shutdown_timeout,
        data_dir: Some(settings.data_dir.clone()),
        ..FlowOptions::new(server::code_of)
    };
    let flows = Flows::new(store.clone(), options).await;
    flows.map_err(|error| database_failure("flows cannot be run", error))
}

/// Links to objects at the address by which clients know us.
async fn links(store: &Store, base_url: &str) -> Result<SealedLinks, Failure> {
    let failed = |error| database_failure("links cannot be made", error);
    let key = store.meta().jwt_key().await.map_err(|error| failed(error.into()))?;
    SealedLinks::new(&key, base_url).map_err(failed)
}

fn embeddings_from(
    settings: Option<embeddings::Settings>,
    env: &Env,
) -> Result<Option<Arc<dyn Embeddings>>, Failure> {
    let Some(settings) = settings else { return Ok(None) };
    match embeddings::Client::new(settings, env) {
        Ok(client) => Ok(Some(Arc::new(client))),
        Err(error) => Err(Failure::new("search cannot use embeddings")
            .because(error)
            .advice("check the settings --embeddings-…")),
    }
}

/// Indexes what Tools search, in the background.
fn indexing(
    store: Store,
    documents: Documents,
    embeddings: Option<Arc<dyn Embeddings>>,
    options: search::Options,
) -> Background {
    Box::new(move |stop| Box::pin(search::run(store, documents, embeddings, options, stop)))
}

/// Makes calls whose time has come, in the background.
fn giving_back() -> Background {
    Box::new(|stop| {
        Box::pin(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = crate::memory::give_back_what_is_unused() => {}
            }
        })
    })
}

fn later_calls(store: Store, queues: Queues, gateway: &Arc<Gateway>) -> Background {
    let tools: Weak<dyn CallTools> = Arc::downgrade(gateway) as Weak<dyn CallTools>;
    Box::new(move |stop| Box::pin(runtime::make_later_calls(store, queues, tools, stop)))
}

/// The services of the file, now and after every change, or the one server of the command line.
fn own_services(
    followed: Option<Followed>,
    one_server: Option<&OneServer>,
    shutdown: CancellationToken,
) -> Result<OwnServices, Failure> {
    let Some(followed) = followed else {
        let shown = one_server.map(|one| (OneServer::ID.to_owned(), one.shown())).into_iter().collect();
        let definitions = one_server.map(OneServer::service).into_iter().collect();
        return Ok(OwnServices::new(watch::channel(definitions).1, Origin::CommandLine(shown)));
    };
    let config = McpConfig::open(&followed.path)?;
    let origin = Origin::File { path: followed.path.clone(), show: mcp_config::shown };
    Ok(OwnServices::new(mcp_config::follow(followed, &config, shutdown), origin))
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| {
        Failure::new(format!("cannot listen on {address}"))
            .because(error)
            .advice("end the other program there, or choose another address with --listen")
    })
}

/// Opens the database with its master key; the folder is made when it is missing.
///
/// # Errors
/// What cannot be opened, and what to do about it.
pub async fn open_store(
    data_dir: &Path,
    database: Option<Secret>,
    master_key: Option<&Secret>,
) -> Result<Store, Failure> {
    tokio::fs::create_dir_all(data_dir).await.map_err(|error| {
        Failure::new(format!("cannot make the folder {}", data_dir.display()))
            .because(error)
            .advice("choose another with --data-dir or MCP_ALL_IN_ONE_HOME")
    })?;
    let vault = load_vault(data_dir, master_key)?;
    let opened = Store::open(&store_options(data_dir, database), vault).await;
    opened.map_err(|error| database_failure("the database cannot be opened", error))
}

/// Connects to the database of a server, as it is: nothing in it is brought up to date, and no key is made.
///
/// # Errors
/// What cannot be opened, and what to do about it.
pub async fn connect_store(
    data_dir: &Path,
    database: Option<Secret>,
    master_key: Option<&Secret>,
) -> Result<Store, Failure> {
    let key = data_dir.join("master.key");
    if master_key.is_none() && !key.exists() {
        let failure = Failure::new(format!("there is no master key in {}", data_dir.display()));
        return Err(failure.advice(
            "give the server's own folder with --data-dir, put its master.key there, or set MCP_ALL_IN_ONE_MASTER_KEY",
        ));
    }
    let vault = load_vault(data_dir, master_key)?;
    let connected = Store::connect(&store_options(data_dir, database), vault).await;
    connected.map_err(|error| database_failure("the database cannot be opened", error))
}

fn load_vault(data_dir: &Path, master_key: Option<&Secret>) -> Result<Vault, Failure> {
    let loaded = Vault::load(data_dir, master_key);
    loaded.map_err(|error| Failure::new("the master key cannot be used").because(error))
}

fn store_options(data_dir: &Path, database: Option<Secret>) -> store::Options {
    store::Options::new(match database {
        Some(url) => url.expose().to_owned(),
        None => format!("sqlite:{}", data_dir.join("data.db").display()),
    })
}

fn database_failure(message: &str, error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    Failure::new(message)
        .because(error)
        .advice("check --database and --data-dir, that the database runs, and that it is ours to write")
}

/// One recorder for the process: metrics are a property of the process.
fn metrics() -> Result<PrometheusHandle, Failure> {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let builder = PrometheusBuilder::new().set_buckets(&gateway::BUCKETS_SECONDS);
    match builder.map(PrometheusBuilder::install_recorder) {
        Ok(Ok(handle)) => Ok(HANDLE.get_or_init(|| handle).clone()),
        // Another start in this process was faster.
        Ok(Err(_)) => HANDLE.get().cloned().ok_or_else(|| Failure::new("metrics cannot be recorded")),
        Err(error) => Err(Failure::new("metrics cannot be recorded").because(error)),
    }
}
