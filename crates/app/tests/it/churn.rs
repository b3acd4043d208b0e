//! An hour of a bad day in half a minute: services are killed, the file is rewritten, clients vanish.

use crate::binary::serve;
use crate::setup::{PATIENCE, example};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use testkit::mcp::http::Behaviour;
use testkit::process::Server;
use testkit::{Backend, Database, mcp, proc};
use tokio::task::JoinSet;

/// The gateway, and somebody who treats it badly.
struct Day {
    gateway: Server,
    config: PathBuf,
    /// A text in the command line of every process that the gateway starts.
    mark: String,
    remote: mcp::http::Server,
    http: reqwest::Client,
    _database: Database,
}

/// What must not grow.
#[derive(Debug)]
struct Held {
    resident_kib: u64,
    files: usize,
    tasks: u64,
}

impl Day {
    async fn begin() -> Self {
        let database = Database::create(Backend::Sqlite).await;
        std::fs::create_dir_all(database.data_dir()).unwrap();
        let config = database.data_dir().join("mcp.json");
        let mark = format!("--churn-{}", std::process::id());
        let remote = mcp::http::Server::start(Behaviour::default()).await;
        std::fs::write(&config, services(&mark, &remote, 0)).unwrap();
        let mut command = serve(&database);
        command.arg("--mcp-config").arg(&config);
        let gateway = Server::start(command);
        // No connection is kept: each client is another one.
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        Self { gateway, config, mark, remote, http, _database: database }
    }

    async fn call(&self, tool: &str, arguments: Value) -> Option<String> {
        let url = format!("http://{}/api/v1/mcp/tools/call", self.gateway.address());
        let request = self.http.post(url).bearer_auth(self.gateway.admin_key().unwrap());
        let body = json!({ "name": tool, "arguments": arguments }).to_string();
        let reply = request.header("content-type", "application/json").body(body).send().await.ok()?;
        let reply: Value = serde_json::from_str(&reply.text().await.ok()?).ok()?;
        reply["content"][0]["text"].as_str().map(str::to_owned)
    }

    /// A client that opens a session and a stream, and is gone in the middle of it.
    async fn listen_and_vanish(&self) {
        let url = format!("http://{}/mcp", self.gateway.address());
        let key = self.gateway.admin_key().unwrap();
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let request = self.http.post(&url).bearer_auth(key).body(hello.to_string());
        let request = request.header("accept", "application/json, text/event-stream");
        let Ok(reply) = request.header("content-type", "application/json").send().await else { return };
        let Some(session) = reply.headers().get("mcp-session-id").cloned() else { return };
        let stream = self.http.get(&url).bearer_auth(key).header("mcp-session-id", session);
        let stream = stream.header("accept", "text/event-stream").send().await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        drop(stream);
    }

    /// One minute of that hour.
    async fn round(&self, number: usize) {
        let text = match number % 7 {
            6 => "{ this is broken".to_owned(),
            _ => services(&self.mark, &self.remote, number % 4),
        };
        std::fs::write(&self.config, text).unwrap();
        if number.is_multiple_of(3) {
            self.remote.forget_sessions();
        }
        let vanish = Duration::from_millis(20 + 15 * (number as u64 % 5));
        let vanishing = ["a__never", "b__slow", "remote__slow", "a__echo"];
        for tool in vanishing {
            // Dropping the request closes its connection.
            let _ = tokio::time::timeout(vanish, self.call(tool, json!({ "ms": 60_000, "text": "x" }))).await;
        }
        if let Some(pid) = self.call("b__pid", json!({})).await.and_then(|pid| pid.parse::<u32>().ok()) {
            kill(pid);
        }
        self.call("a__die", json!({})).await;
        self.listen_and_vanish().await;
    }

    async fn churn(self: &std::sync::Arc<Self>, time: Duration) -> usize {
        let begun = Instant::now();
        let mut rounds = 0;
        while begun.elapsed() < time {
            let mut round = JoinSet::new();
            for offset in 0..4 {
                let day = self.clone();
                round.spawn(async move { day.round(rounds + offset).await });
            }
            round.join_all().await;
            rounds += 4;
        }
        rounds
    }

    /// Everybody has gone home and the file is as in the beginning.
    async fn evening(&self) -> Held {
        std::fs::write(&self.config, services(&self.mark, &self.remote, 0)).unwrap();
        let works = async |tool: &str| {
            testkit::eventually(&format!("{tool} works"), PATIENCE, async || {
                self.call(tool, json!({ "text": "fine" })).await.as_deref() == Some("fine")
            })
            .await;
        };
        for tool in ["a__echo", "b__echo", "remote__echo"] {
            works(tool).await;
        }
        self.only_two_services_run().await;
        // What is being ended has ended when the numbers stand still.
        let mut held = self.held().await;
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(250)).await;
            let now = self.held().await;
            if now.tasks == held.tasks && now.files == held.files {
                return now;
            }
            held = now;
        }
        held
    }

    async fn only_two_services_run(&self) {
        let begun = Instant::now();
        loop {
            let (marked, children) = (proc::with_argument(&self.mark), proc::children(self.gateway.id()));
            // Each service has a guard that ends it should we be killed. The crashing one is tried
            // again now and then, and has ended a moment later.
            if marked.len() == 2 && children.len() == 4 {
                return;
            }
            let described: Vec<_> = children.iter().chain(&marked).map(|id| proc::describe(*id)).collect();
            assert!(begun.elapsed() < PATIENCE, "two services should run, and no zombie: {described:#?}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn held(&self) -> Held {
        let url = format!("http://{}/metrics", self.gateway.address());
        let metrics = self.http.get(url).send().await.unwrap().text().await.unwrap();
        let tasks = metrics.lines().find_map(|line| line.strip_prefix("mcp_all_in_one_alive_tasks "));
        let id = self.gateway.id();
        Held {
            resident_kib: proc::resident_kib(id),
            files: proc::open_files(id),
            tasks: tasks.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap(),
        }
    }
}

/// Two services that stay, a remote one, some that come and go, one that never works.
fn services(mark: &str, remote: &mcp::http::Server, more: usize) -> String {
    let command = example("mcp_test_server");
    let local = |extra: &str| json!({ "command": command, "args": [mark, extra] });
    let mut services = json!({
        "a": local("--noise"), "b": local("--linger"),
        "remote": { "type": "http", "url": remote.url() },
        "crashing": local("--crash"),
    });
    for number in 0..more {
        services[format!("more-{number}")] = local("--start-ms");
    }
    json!({ "mcpServers": services }).to_string()
}

fn kill(process: u32) {
    // It may have ended by itself in the meantime.
    let _ = std::process::Command::new("kill").args(["-9", &process.to_string()]).output();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_hour_of_churn_leaves_nothing_behind() {
    let day = std::sync::Arc::new(Day::begin().await);
    // Caches, pools and the allocator take their share first.
    day.churn(Duration::from_secs(6)).await;
    let before = day.evening().await;
    let rounds = day.churn(Duration::from_secs(14)).await;
    let after = day.evening().await;
    let numbers = format!("{rounds} rounds: {before:?} became {after:?}");
    assert!(rounds >= 20, "{numbers}");
    assert!(after.tasks <= before.tasks + 4, "tasks leak, {numbers}");
    assert!(after.files <= before.files + 6, "files leak, {numbers}");
    assert!(after.resident_kib <= before.resident_kib * 5 / 4 + 16 * 1024, "memory leaks, {numbers}");
    let mut day = std::sync::Arc::into_inner(day).expect("all clients have gone");
    day.gateway.terminate();
    assert!(day.gateway.wait(PATIENCE).success());
    assert_eq!(proc::with_argument(&day.mark), [0_u32; 0], "processes outlive the gateway");
}
