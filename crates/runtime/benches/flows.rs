//! What durable runs cost: tool nodes per second against bare durable commits of one row, with one run and with 64, and
//! what runs take that wait, on SQLite and, where `MCP_TEST_POSTGRES_URL` is set, on PostgreSQL.
//!
//! `NODES` (of a run; 200), `ROUNDS` (3) and `PARKED` (100000; 0 for none) make it longer or shorter.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails by panicking")]

mod echo;

use async_trait::async_trait;
use echo::KINDS;
use futures::StreamExt as _;
use gateway::audit::{Audit, Entry, Sink};
use gateway::{Gateway, Options, ServiceDefinition, TenantDefinition};
use runtime::Flows;
use runtime::flows::{FlowOptions, Given, NewStart, Origin, Version};
use serde_json::json;
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Executor as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::flows::{NewDraft, Publication};
use store::runs::{RunFilter, State};
use store::{PageRequest, Store};
use tokio_util::sync::CancellationToken;
use tool::{Caller, Door, Env, ErrorKind, Limits, Result, RunId, TenantId};

struct Nowhere;

#[async_trait]
impl Sink for Nowhere {
    async fn write(&self, _: &[Entry]) -> Result<()> {
        Ok(())
    }
}

/// What one node may cost.
const CPU_MICROSECONDS: f64 = 150.0;

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::main]
async fn main() {
    println!(
        "{:<10} {:>5} {:>14} {:>14} {:>7} {:>7} {:>7} {:>12} {:>7} {:>7}",
        "database", "runs", "commits/s", "nodes/s", "ratio", "target", "", "CPU µs/node", "target", ""
    );
    sqlx::any::install_default_drivers();
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite://{}?mode=rwc", folder.path().join("data.db").display());
    measure("sqlite", &file, folder.path()).await;
    if let Ok(server) = std::env::var("MCP_TEST_POSTGRES_URL") {
        let name = format!("bench_{}", std::process::id());
        let mut connection = AnyConnection::connect(&server).await.unwrap();
        connection.execute(sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}")))).await.unwrap();
        let (base, _) = server.rsplit_once('/').unwrap();
        measure("postgres", &format!("{base}/{name}"), folder.path()).await;
    }
}

async fn measure(name: &str, url: &str, folder: &Path) {
    let (nodes, rounds) = (setting("NODES", 200), setting("ROUNDS", 3));
    let world = World::start(url, folder, nodes).await;
    let mut bare = bare_connection(url).await;
    for (runs, target) in [(1, 0.7), (64, 6.0)] {
        let mut measured = Vec::new();
        for _ in 0..rounds {
            let commits = commits_per_second(&mut bare, nodes).await;
            let (begun, cpu) = (Instant::now(), cpu_time());
            world.run(runs).await;
            let count = (runs * nodes) as f64;
            let (took, cpu) = (begun.elapsed().as_secs_f64(), (cpu_time() - cpu).as_secs_f64());
            measured.push((commits, count / took, cpu * 1e6 / count));
        }
        measured.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
        let (commits, nodes, cpu) = measured[measured.len() / 2];
        let ratio = nodes / commits;
        let (is_fast, is_light) = (verdict(ratio >= target), verdict(cpu <= CPU_MICROSECONDS));
        println!(
            "{name:<10} {runs:>5} {commits:>14.0} {nodes:>14.0} {ratio:>7.2} {target:>7.1} {is_fast:>7} {cpu:>12.0} {CPU_MICROSECONDS:>7.0} {is_light:>7}"
        );
    }
    match setting("PARKED", 100_000) {
        0 => {}
        count => park(name, &world, count).await,
    }
    world.stop().await;
}

/// How much memory so many runs take that wait, and how late others are beside them whose time has come.
async fn park(name: &str, world: &World, count: usize) {
    const TIMERS: usize = 1000;
    const WAIT_MS: i64 = 5000;
    world.publish("parked", "nodes: {w: {wait: {signal: go}}}").await;
    world.publish("timer", &format!("nodes: {{w: {{wait: {WAIT_MS}}}}}")).await;
    // Whatever is made once is there before it is counted.
    world.start_many("parked", 1000).await;
    world.until_idle().await;
    let before = resident_bytes();
    world.start_many("parked", count).await;
    world.until_idle().await;
    let more = resident_bytes().saturating_sub(before) as f64 / f64::from(1 << 20);
    let timers = world.start_many("timer", TIMERS).await;
    let mut late = Vec::new();
    for id in timers {
        world.flows.wait(&world.tenant, &id, Duration::from_secs(300)).await.unwrap();
        let run = world.store.runs().get(&world.tenant, &id).await.unwrap();
        late.push(run.ended_at.unwrap() - run.started_at.unwrap() - WAIT_MS);
    }
    late.sort_unstable();
    let p99 = late[late.len() * 99 / 100];
    let (is_small, is_punctual) = (verdict(more <= 20.0), verdict(p99 <= 1000));
    println!(
        "{name:<10} {count} parked runs: {more:.1} MiB more (target 20: {is_small}); timers p99 {p99} ms late (target 1000: {is_punctual})"
    );
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// A connection past the program, as durable as the store's own.
async fn bare_connection(url: &str) -> AnyConnection {
    let mut connection = AnyConnection::connect(url).await.unwrap();
    if url.starts_with("sqlite") {
        connection.execute("PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000").await.unwrap();
    }
    connection.execute("CREATE TABLE bare (id BIGINT PRIMARY KEY, text TEXT)").await.unwrap();
    connection
}

async fn commits_per_second(connection: &mut AnyConnection, count: usize) -> f64 {
    connection.execute("DELETE FROM bare").await.unwrap();
    let begun = Instant::now();
    for id in 0..count {
        let mut write = connection.begin().await.unwrap();
        let row = sqlx::query("INSERT INTO bare (id, text) VALUES ($1, 'as long as a short record is')");
        row.bind(i64::try_from(id).unwrap()).execute(&mut *write).await.unwrap();
        write.commit().await.unwrap();
    }
    count as f64 / begun.elapsed().as_secs_f64()
}

/// What this process has used of all processors.
fn cpu_time() -> Duration {
    /// As Linux counts it, everywhere that matters.
    const TICKS_PER_SECOND: u64 = 100;
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

/// A process that works on runs of one flow.
struct World {
    store: Store,
    flows: Arc<Flows>,
    tenant: TenantId,
    stop: CancellationToken,
    work: tokio::task::JoinHandle<()>,
    _gateway: Arc<Gateway>,
}

impl World {
    async fn start(url: &str, folder: &Path, nodes: usize) -> Self {
        let vault = store::Vault::load(folder, None).unwrap();
        let store = Store::open(&store::Options::new(url), vault).await.unwrap();
        let tenant = TenantId::default_tenant();
        let flows = Flows::new(store.clone(), FlowOptions::new(code_of)).await.unwrap();
        let gateway =
            Gateway::new(&KINDS, Env::default(), Audit::start(Arc::new(Nowhere)), Options::default());
        let service = ServiceDefinition {
            scheme: "bench".into(),
            id: "one".into(),
            name: String::new(),
            settings: json!({}),
            is_enabled: true,
            is_trusted: false,
            variables: Vec::new(),
            problem: None,
            built_in: None,
            version: 1,
            made_at_ms: None,
        };
        let mut discovery = gateway
            .load(TenantDefinition {
                tool_search: None,
                id: tenant.clone(),
                limits: Limits::default(),
                may_use_private_network: true,
                services: vec![service],
                tools: Vec::new(),
                instances: Vec::new(),
            })
            .await;
        discovery.ended().await;
        flows.attach(&gateway);
        let items: Vec<_> = (0..nodes).collect();
        let text = json!({
            "inputs": { "items": { "type": "array", "default": items } },
            "nodes": { "all": {
                "each": "items => item",
                "nodes": { "call": { "exec": "bench://one/echo", "args": { "item": "${item}" } } },
                "with": "size(items)",
            } },
        })
        .to_string();
        let stop = CancellationToken::new();
        let work = tokio::spawn(flows.clone().run(stop.clone()));
        let world = Self { store, flows, tenant, stop, work, _gateway: gateway };
        world.publish("chain", &text).await;
        world
    }

    async fn publish(&self, id: &str, text: &str) {
        let draft = NewDraft { name: id.into(), source: text.into(), references: Vec::new() };
        self.store.flows().create(&self.tenant, id, &draft, "bench").await.unwrap();
        let publication = Publication {
            source: text.into(),
            bound: "[]".into(),
            references: Vec::new(),
            triggers: Vec::new(),
            published_by: "bench".into(),
            rights: None,
        };
        self.store.flows().publish(&self.tenant, id, &publication, None).await.unwrap();
    }

    /// Starts so many runs, several at once, as fast as they are taken.
    async fn start_many(&self, flow: &str, runs: usize) -> Vec<RunId> {
        let version = self.flows.current(&self.tenant, flow).await.unwrap();
        let starts = (0..runs).map(|_| self.start_one(flow, &version));
        futures::stream::iter(starts).buffered(64).collect().await
    }

    /// Whoever finds the queue full tries again.
    async fn start_one(&self, flow: &str, version: &Arc<Version>) -> RunId {
        loop {
            let origin = Origin::door(Door::System, "bench");
            let start = NewStart::new(flow, version.clone(), Given::default(), origin, &Caller::system());
            match self.flows.start(&self.tenant, start).await {
                Ok(started) => return started.run.id,
                Err(error) if error.kind() == ErrorKind::RateLimited => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Waits until nobody works on anything.
    async fn until_idle(&self) {
        for state in [State::Queued, State::Running] {
            let filter = RunFilter { state: Some(state), ..RunFilter::default() };
            let page = PageRequest { page: 1, limit: 1 };
            while self.store.runs().list(&self.tenant, &filter, page).await.unwrap().total > 0 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }

    /// So many runs at once, to their ends.
    async fn run(&self, runs: usize) {
        for id in self.start_many("chain", runs).await {
            self.flows.wait(&self.tenant, &id, Duration::from_secs(300)).await.unwrap();
            let run = self.store.runs().get(&self.tenant, &id).await.unwrap();
            assert_eq!(run.state.as_str(), "succeeded", "the run ends well");
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.work.await.unwrap();
        self.store.close().await;
    }
}

fn code_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "TOOL_NOT_FOUND",
        _ => "FAILED",
    }
}
