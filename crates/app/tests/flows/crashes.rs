//! Processes that are killed, stopped and told to end, while their runs are at work.

use crate::world::{PATIENCE, publish, publish_with, shop, start, until};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};
use store::flows::NewTrigger;
use testkit::process::{self, Server};
use testkit::{Backend, Client, Database, eventually, http, on_both_databases};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_mcp-all-in-one");

on_both_databases! {
    a_run_goes_on_soon_after_its_process_was_killed
    no_outcome_is_lost_to_random_kills
    another_process_takes_over
    no_instant_of_a_schedule_is_lost_with_the_process_that_watches
    a_process_that_ends_gives_its_runs_back
    a_process_that_ends_has_the_calls_of_its_runs_in_the_audit
}

pub(crate) fn serve(database: &Database, name: Option<&str>) -> Server {
    let data_dir = name.map_or_else(|| database.data_dir(), |name| database.replica_data_dir(name));
    let mut command = process::serve(BINARY, database, &data_dir);
    command.arg("--allow-private-network");
    Server::start(command)
}

const CHAIN: &str = "
inputs: {ms: int, id: string}
nodes:
  first: {exec: 'api://shop/ship', args: {id: '${id}'}, next: slow}
  slow: {exec: 'api://shop/slow', args: {ms: '${ms}'}, next: last}
  last: {exec: 'api://shop/ship', args: {id: '${id}'}, with: \"'done'\"}
output: ${last}
";

fn count(upstream: &http::Server, path: &str) -> usize {
    upstream.requests().iter().filter(|request| request.path == path).count()
}

/// FL-13, FL-19, FL-20: after kill -9 and a restart on the same data, the run goes on within 5 s. What had ended is not
/// done again; what was under way is, under the same key; a call that may not be made twice is not.
async fn a_run_goes_on_soon_after_its_process_was_killed(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let mut server = serve(&database, None);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", shop(&upstream)).await.is(201);
    publish(&admin, &database, "chain", CHAIN).await;
    let once = "nodes: {slow: {exec: 'api://shop/slow', args: {ms: 4001}, delivery: at_most_once}}";
    publish(&admin, &database, "once", once).await;
    let chain = start(&admin, "chain", json!({ "ms": 4000, "id": "a" })).await;
    let once = start(&admin, "once", json!({})).await;
    let retried = "nodes: {lost: {exec: 'api://shop/lost', retry: {attempts: 2, delay: 4s, on: any}}}";
    publish(&admin, &database, "retried", retried).await;
    let retried = start(&admin, "retried", json!({})).await;
    until(&admin, &retried, &["waiting"]).await;
    eventually("the calls are under way", PATIENCE, async || {
        count(&upstream, "/slow/4000") == 1 && count(&upstream, "/slow/4001") == 1
    })
    .await;
    server.kill();
    let again = serve(&database, None);
    let (begun, admin) = (Instant::now(), again.client(&key));
    eventually("the call is made again", PATIENCE, async || count(&upstream, "/slow/4000") == 2).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(until(&admin, &chain, &["succeeded"]).await["output"], "done");
    assert_eq!(count(&upstream, "/ship"), 2, "what had ended is not done again");
    let keys: Vec<_> = upstream
        .requests()
        .iter()
        .filter(|request| request.path == "/slow/4000")
        .map(|request| request.header("idempotency-key").unwrap().to_owned())
        .collect();
    assert_eq!(keys, vec![format!("{chain}:slow"); 2]);
    let failed = until(&admin, &once, &["failed"]).await;
    assert_eq!(failed["error"]["code"], "INTERRUPTED", "{failed}");
    assert_eq!(count(&upstream, "/slow/4001"), 1);
    until(&admin, &retried, &["failed"]).await;
    assert_eq!(count(&upstream, "/status/404"), 2, "the second attempt came, once");
}

/// A call that is made at most once, and may be interrupted.
const ONCE: &str = "
inputs: {id: string}
nodes:
  send: {exec: 'api://shop/ship', args: {id: 'once-${id}-'}, delivery: at_most_once, fail: lost}
  lost: {with: send.error.code}
";

/// FL-19, FL-21: whenever processes die, every run comes to its end, every node of it ends once, and what may be called at
/// most once is.
#[expect(clippy::print_stdout, reason = "whoever asks for many kills wants to know what they did")]
async fn no_outcome_is_lost_to_random_kills(backend: Backend) {
    let kills: usize = std::env::var("MCP_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(4);
    let mut chance = Chance::new();
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let mut server = serve(&database, None);
    let (mut admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", shop(&upstream)).await.is(201);
    publish(&admin, &database, "chain", CHAIN).await;
    publish(&admin, &database, "once", ONCE).await;
    let (mut runs, mut once) = (Vec::new(), Vec::new());
    for round in 0..kills {
        once.push(start(&admin, "once", json!({ "id": round.to_string() })).await);
        for number in 0..4 {
            let inputs = json!({ "ms": 20, "id": format!("{round}-{number}") });
            runs.push(start(&admin, "chain", inputs).await);
        }
        // Where in their lives the runs are is left to chance.
        tokio::time::sleep(Duration::from_millis(chance.below(180))).await;
        server.kill();
        server = serve(&database, None);
        admin = server.client(&key);
    }
    for run in &runs {
        assert_eq!(until(&admin, run, &["succeeded", "failed"]).await["output"], "done");
        assert_eq!(
            ends(&admin, run).await,
            HashMap::from([("first", 1), ("slow", 1), ("last", 1)].map(owned))
        );
    }
    let keys = keys_of_calls(&upstream);
    for run in &runs {
        for node in ["first", "slow", "last"] {
            let own: Vec<_> = keys.keys().filter(|key| key.starts_with(&format!("{run}:{node}"))).collect();
            assert_eq!(own.len(), 1, "every attempt at '{node}' of {run} has one key: {own:?}");
        }
    }
    let again = keys.values().filter(|count| **count > 1).count();
    println!("{kills} kills, {} runs, {} keys, {again} of them sent again", runs.len(), keys.len());
    for (round, run) in once.iter().enumerate() {
        let ended = until(&admin, run, &["succeeded", "failed"]).await;
        let (sent, output) = (format!("once-{round}-"), &ended["output"]);
        let calls = upstream.requests().iter().filter(|request| request.body.contains(&sent)).count();
        assert!(
            calls == 1 && output != "INTERRUPTED" || calls <= 1 && output == "INTERRUPTED",
            "{calls}: {ended}"
        );
    }
}

/// Numbers by chance that can be had again: the seed is printed, and `MCP_TEST_SEED` sets it.
struct Chance(u64);

impl Chance {
    #[expect(clippy::print_stdout, reason = "a run that failed can be had again")]
    fn new() -> Self {
        let given = std::env::var("MCP_TEST_SEED").ok().and_then(|text| text.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed = given.unwrap_or(now.as_secs() ^ u64::from(now.subsec_nanos()) << 20) | 1;
        println!("MCP_TEST_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// How often each idempotency key was sent.
fn keys_of_calls(upstream: &http::Server) -> HashMap<String, usize> {
    let mut keys = HashMap::new();
    for request in upstream.requests() {
        if let Some(key) = request.header("idempotency-key") {
            *keys.entry(key.to_owned()).or_default() += 1;
        }
    }
    keys
}

fn owned((path, count): (&str, usize)) -> (String, usize) {
    (path.to_owned(), count)
}

/// How often each node of a run ended well, by its events.
async fn ends(admin: &Client, run: &str) -> HashMap<String, usize> {
    let events = admin.get(&format!("runs/{run}/events")).await.is(200).text;
    let mut ends = HashMap::new();
    for line in events.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(line).unwrap();
        if event["kind"] == "succeeded" {
            *ends.entry(event["path"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    ends
}

fn send(server: &Server, signal: &str) {
    let status = Command::new("kill").args([signal, &server.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// FL-21: a run whose process is gone is taken over within 20 s. A process that was only stopped, for a minute, writes nothing
/// behind its successor.
async fn another_process_takes_over(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let stopped = serve(&database, None);
    let admin = stopped.admin();
    admin.post("services", shop(&upstream)).await.is(201);
    publish(&admin, &database, "chain", CHAIN).await;
    let id = start(&admin, "chain", json!({ "ms": 1000, "id": "a" })).await;
    eventually("the call is under way", PATIENCE, async || count(&upstream, "/slow/1000") == 1).await;
    send(&stopped, "-STOP");
    let begun = Instant::now();
    let other = serve(&database, Some("other"));
    let there = other.client(stopped.admin_key().unwrap());
    eventually("the other process makes the call", PATIENCE, async || count(&upstream, "/slow/1000") == 2)
        .await;
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    until(&there, &id, &["succeeded"]).await;
    tokio::time::sleep(Duration::from_secs(60).saturating_sub(begun.elapsed())).await;
    send(&stopped, "-CONT");
    // Its answer is there by now, and is refused.
    eventually("it notices", PATIENCE, async || stopped.stderr().contains("is left for later")).await;
    assert_eq!(ends(&there, &id).await, HashMap::from([("first", 1), ("slow", 1), ("last", 1)].map(owned)));
    assert_eq!(count(&upstream, "/ship"), 2);
}

/// FL-27: whoever waited for its turn makes up for what came meanwhile, without any `catch_up`.
async fn no_instant_of_a_schedule_is_lost_with_the_process_that_watches(backend: Backend) {
    let database = Database::create(backend).await;
    let mut watching = serve(&database, None);
    let (admin, key) = (watching.admin(), watching.admin_key().unwrap().to_owned());
    let text = "
triggers: [{type: schedule, name: tick, cron: '* * * * * *', overlap: allow, inputs: {at: '${trigger.at}'}}]
inputs: {at: string}
nodes: {a: {with: at}}
";
    let tick = NewTrigger { name: "tick".into(), kind: "schedule".into(), settings: "{}".into() };
    publish_with(&admin, &database, "ticks", text, vec![tick]).await;
    let instants = async |at: &Client| {
        let mut seconds = Vec::new();
        for run in at.get("runs?flow=ticks&state=succeeded&limit=1000").await.is(200).items() {
            let view = at.get(&format!("runs/{}", run["id"].as_str().unwrap())).await.is(200).body;
            let instant: DateTime<Utc> = view["output"].as_str().unwrap().parse().unwrap();
            seconds.push(instant.timestamp());
        }
        seconds.sort_unstable();
        seconds
    };
    eventually("it has fired", PATIENCE, async || !instants(&admin).await.is_empty()).await;
    let waiting = serve(&database, Some("other"));
    let (there, up) = (waiting.client(&key), Utc::now().timestamp());
    eventually("it fires while another process waits", PATIENCE, async || {
        instants(&there).await.last().is_some_and(|last| *last > up)
    })
    .await;
    watching.kill();
    let killed = Utc::now().timestamp();
    eventually("the other process fires", PATIENCE, async || {
        instants(&there).await.last().is_some_and(|last| *last > killed + 2)
    })
    .await;
    // What the killed process had begun is taken over.
    eventually("each second has its run", PATIENCE, async || {
        instants(&there).await.windows(2).all(|pair| pair[1] == pair[0] + 1)
    })
    .await;
}

/// SIGTERM gives runs back within 10 s, long before their calls would end.
async fn a_process_that_ends_gives_its_runs_back(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let mut ending = serve(&database, None);
    let admin = ending.admin();
    admin.post("services", shop(&upstream)).await.is(201);
    publish(&admin, &database, "chain", CHAIN).await;
    start(&admin, "chain", json!({ "ms": 60000, "id": "a" })).await;
    eventually("the call is under way", PATIENCE, async || count(&upstream, "/slow/60000") == 1).await;
    let _other = serve(&database, Some("other"));
    let begun = Instant::now();
    ending.terminate();
    eventually("the other process makes the call", PATIENCE, async || count(&upstream, "/slow/60000") == 2)
        .await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(ending.wait(Duration::from_secs(60)).success(), "{}", ending.stderr());
}

/// HT-5.6: a call that a run lets end while its process stops has its record as any other.
async fn a_process_that_ends_has_the_calls_of_its_runs_in_the_audit(backend: Backend) {
    let (upstream, database) = (http::Server::start().await, Database::create(backend).await);
    let mut ending = serve(&database, None);
    let (admin, key) = (ending.admin(), ending.admin_key().unwrap().to_owned());
    admin.post("services", shop(&upstream)).await.is(201);
    publish(&admin, &database, "chain", CHAIN).await;
    let run = start(&admin, "chain", json!({ "ms": 3000, "id": "a" })).await;
    eventually("the call is under way", PATIENCE, async || count(&upstream, "/slow/3000") == 1).await;
    ending.terminate();
    assert!(ending.wait(Duration::from_secs(60)).success(), "{}", ending.stderr());
    let again = serve(&database, None);
    let admin = again.client(&key);
    until(&admin, &run, &["succeeded"]).await;
    assert_eq!(count(&upstream, "/slow/3000"), 1, "its outcome was recorded");
    let audited = admin.get("audit?tool=shop__slow").await.is(200);
    assert_eq!(audited.body["total"], 1, "{}", audited.text);
    assert_eq!(audited.items()[0]["run_id"], *run);
}

/// FL-21: two processes on one PostgreSQL, one of them behind a proxy that says nothing for longer than a claim holds, and
/// then cuts its connections: every run comes to its end, and every node of it ends once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_runs_though_one_is_cut_off() {
    let (upstream, database) = (http::Server::start().await, Database::create(Backend::Postgres).await);
    let (proxy, url) = database.behind_proxy().await;
    let near = serve(&database, None);
    let (admin, key) = (near.admin(), near.admin_key().unwrap().to_owned());
    admin.post("services", shop(&upstream)).await.is(201);
    publish(&admin, &database, "chain", CHAIN).await;
    let mut command = process::command(BINARY);
    command.args(["serve", "--listen", "127.0.0.1:0", "--allow-private-network", "--database", &url]);
    command.arg("--data-dir").arg(database.replica_data_dir("far"));
    let other = Server::start(command);
    let far = other.client(&key);
    for is_silent in [true, false] {
        let mut runs = Vec::new();
        for number in 0..20 {
            let client = if number % 2 == 0 { &far } else { &admin };
            let inputs = json!({ "ms": 3000, "id": format!("{is_silent}-{number}") });
            runs.push(start(client, "chain", inputs).await);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        if is_silent {
            proxy.stall()
        } else {
            proxy.cut()
        }
        for run in &runs {
            assert_eq!(until(&admin, run, &["succeeded", "failed"]).await["output"], "done");
        }
        proxy.restore();
        eventually("the other one is back", PATIENCE, async || {
            far.get(&format!("runs/{}", runs[0])).await.status == 200
        })
        .await;
        let once = HashMap::from([("first", 1), ("slow", 1), ("last", 1)].map(owned));
        for run in &runs {
            assert_eq!(ends(&far, run).await, once);
        }
    }
}
