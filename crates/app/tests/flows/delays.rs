//! Messages that wait, for their time or for the database, and then start runs: never early, each once, whoever is killed.

use crate::crashes::serve;
use crate::messages::{needed, orders_over, unique};
use crate::world::{PATIENCE, publish_over_rest, runs_of};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::conformance::{bind_and_call, call, context};
use testkit::{Backend, Client, Database, TestApp, eventually, on_both_databases, process};
use tool::{Env, Secret};

on_both_databases! {
    a_message_that_is_held_back_outlives_its_process
}

/// How soon another process does the work of one that was killed.
const TAKEN_OVER: Duration = Duration::from_secs(30);

const FLOW: &str = "
triggers: [{type: message, name: placed, from: 'mq://orders/placed', limit: 4}]
inputs: {order: string}
nodes: {a: {with: {order: '${order}', id: '${trigger.id}'}}}
";

/// Publishes the flow, and waits until it gets messages.
async fn listen(client: &Client) {
    publish_over_rest(client, "orders", FLOW).await;
    let mut probes = 0;
    eventually("somebody listens", PATIENCE, async || {
        probes += 1;
        client.call("mq://orders/placed", json!({ "message": { "order": format!("probe-{probes}") } })).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        !runs_of(client, "orders", "succeeded").await.is_empty()
    })
    .await;
}

/// The ids of the messages of an order that are runs.
async fn ids(client: &Client, order: &str) -> Vec<Value> {
    let runs = runs_of(client, "orders", "succeeded").await;
    let mine = runs.into_iter().filter(|run| run["output"]["order"] == order);
    mine.map(|run| run["output"]["id"].clone()).collect()
}

async fn hold_back(client: &Client, order: &str, delay: Duration) -> (Value, Instant) {
    let message = json!({ "message": { "order": order }, "delay": delay.as_millis() });
    let sent = client.call("mq://orders/placed", message).await.is(200).body;
    assert_eq!(sent["isError"], false, "{sent}");
    (sent["structuredContent"]["messageId"].clone(), Instant::now())
}

/// Waits for the one run of an order, which must not come before its time.
async fn runs_in_time(client: &Client, order: &str, delay: Duration, (id, sent): (Value, Instant)) {
    eventually("it is a run", delay + TAKEN_OVER, async || !ids(client, order).await.is_empty()).await;
    let waited = sent.elapsed();
    // What was sent is known a moment after it began to wait.
    assert!(waited + Duration::from_millis(100) >= delay, "early, after {waited:?}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let ids = ids(client, order).await;
    // A channel of Redis carries no id.
    assert!(ids.len() == 1 && (ids[0] == id || id.is_null()), "{ids:?} for {id}");
}

/// MQ-2, MQ-5: the process is killed while the message waits.
async fn a_message_that_is_held_back_outlives_its_process(backend: Backend) {
    let database = Database::create(backend).await;
    let mut server = serve(&database, None);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    let place = json!({ "stream": unique("orders") });
    admin.post("services", orders_over("redis", &needed("MCP_TEST_REDIS_URL"), &place)).await.is(201);
    listen(&admin).await;
    let delay = Duration::from_secs(8);
    let sent = hold_back(&admin, "late", delay).await;
    server.kill();
    let server = serve(&database, None);
    let admin = server.client(&key);
    assert!(ids(&admin, "late").await.is_empty());
    runs_in_time(&admin, "late", delay, sent).await;
}

/// MQ-5: F18, the replica is killed that releases what was held back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_replica_releases_what_was_held_back() {
    let database = Database::create(Backend::Postgres).await;
    let mut first = serve(&database, None);
    let (admin, key) = (first.admin(), first.admin_key().unwrap().to_owned());
    let place = json!({ "stream": unique("orders") });
    admin.post("services", orders_over("redis", &needed("MCP_TEST_REDIS_URL"), &place)).await.is(201);
    listen(&admin).await;
    // Who was alone when it was released has the lease.
    let short = Duration::from_millis(200);
    let sent = hold_back(&admin, "soon", short).await;
    runs_in_time(&admin, "soon", short, sent).await;
    let second = serve(&database, Some("second"));
    let admin = second.client(&key);
    let delay = Duration::from_secs(2);
    let sent = hold_back(&admin, "late", delay).await;
    first.kill();
    runs_in_time(&admin, "late", delay, sent).await;
}

async fn releases(broker: &str, url: &str, place: &Value, has_id: bool) {
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(orders_over(broker, url, place)).await;
    listen(&app).await;
    let delay = Duration::from_millis(1500);
    let (id, sent) = hold_back(&app, "late", delay).await;
    runs_in_time(&app, "late", delay, (if has_id { id } else { Value::Null }, sent)).await;
}

/// MQ-2, MQ-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_back_comes_out_of_kafka_in_time() {
    let broker = krafka::testing::FakeBroker::start().await.unwrap();
    releases("kafka", &broker.bootstrap_servers(), &json!({ "topic": unique("orders") }), true).await;
}

/// MQ-2, MQ-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_back_comes_out_of_an_exchange_in_time() {
    let place = json!({ "exchange": unique("orders"), "routing_key": "order.placed" });
    releases("rabbitmq", &needed("MCP_TEST_RABBITMQ_URL"), &place, true).await;
}

/// MQ-2, MQ-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_back_comes_out_of_a_channel_in_time() {
    let place = json!({ "channel": unique("orders") });
    releases("redis", &needed("MCP_TEST_REDIS_URL"), &place, false).await;
}

/// How many messages RabbitMQ has in queues of that name, and how many of them somebody has not acknowledged.
pub(crate) fn in_rabbitmq(name: &str) -> (usize, usize) {
    let arguments = ["list_queues", "name", "messages", "messages_unacknowledged"];
    let output = process::sheltered(needed("MCP_TEST_RABBITMQCTL")).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<usize>().ok()).unwrap_or(0);
    let of = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        (number(words.next()), number(words.next()))
    };
    let found = text.lines().filter(|line| line.contains(name)).map(of);
    found.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

/// MQ-6: F17, the database is away while messages come: none is lost, few are in memory, and all run later, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_while_the_database_is_away_runs_later() {
    let database = Arc::new(Database::create(Backend::Postgres).await);
    let (proxy, url) = database.behind_proxy().await;
    let app = TestApp::start_on(&database, |settings| settings.database = Some(Secret::new(url))).await;
    let queue = unique("orders");
    let service = orders_over("rabbitmq", &needed("MCP_TEST_RABBITMQ_URL"), &json!({ "queue": queue }));
    app.service(service.clone()).await;
    listen(&app).await;
    eventually("all probes are taken", PATIENCE, async || in_rabbitmq(&queue).0 == 0).await;
    proxy.cut();
    let mut settings = service["config"].clone();
    settings["tools"] = service["tools"].clone();
    let others = connectors::find("mq").unwrap().open(settings, &Env::default()).unwrap();
    for order in 0..20 {
        let arguments = json!({ "message": { "order": format!("o-{order}") } }).as_object().cloned().unwrap();
        bind_and_call(&*others, &context(PATIENCE), call("placed", arguments)).await.unwrap();
    }
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        // Those that are put off wait in a queue of their own.
        let (_, taken) = in_rabbitmq(&queue);
        assert!(taken <= 4, "{taken} are in memory");
    }
    proxy.restore();
    eventually("all are runs", PATIENCE * 2, async || {
        let listed = app.get("runs?flow=orders&state=succeeded&limit=1").await;
        listed.status == 200 && listed.body["total"].as_u64() >= Some(21)
    })
    .await;
    eventually("all are acknowledged", PATIENCE, async || in_rabbitmq(&queue).0 == 0).await;
    for order in 0..20 {
        assert_eq!(ids(&app, &format!("o-{order}")).await.len(), 1);
    }
}
