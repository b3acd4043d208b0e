//! Flows that messages start: taken once their run is committed, delivered again otherwise, one run each.

use crate::crashes::serve;
use crate::delays::in_rabbitmq;
use crate::kafka_coordinator::GroupBroker;
use crate::world::{PATIENCE, publish_over_rest, runs_of};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;
use testkit::tcp_proxy::TcpProxy;
use testkit::{Backend, Client, Database, TestApp, eventually, on_both_databases};

on_both_databases! {
    a_message_is_one_run_however_many_listen
    a_message_outlives_the_process_that_got_it
    a_trigger_that_is_off_leaves_messages_where_they_are
}

/// A message is given back when the one who got it says nothing for a while; then somebody else gets it.
const LEASE: Duration = Duration::from_secs(60);

const FLOW: &str = "
triggers: [{type: message, name: placed, from: 'mq://orders/placed', limit: 4}]
inputs: {order: string, message: any}
nodes: {a: {with: {order: '${order}', whole: '${message}', id: '${trigger.id}'}}}
";

fn orders() -> Value {
    json!({ "type": "mq", "id": "orders", "name": "Orders", "config": {}, "tools": [{ "id": "placed", "peek": true }] })
}

async fn place(client: &Client, order: &str) {
    let message = json!({ "message": { "order": order }, "messageId": format!("id-{order}") });
    client.call("mq://orders/placed", message).await.is(200);
}

/// Orders by how many runs they are.
async fn runs_by_order(client: &Client, flow: &str) -> BTreeMap<String, usize> {
    let mut runs = BTreeMap::new();
    for run in runs_of(client, flow, "succeeded").await {
        *runs.entry(run["output"]["order"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    runs
}

/// How many runs of the flow ended well: one question, however many there are.
async fn succeeded(client: &Client, flow: &str) -> u64 {
    let listed = client.get(&format!("runs?flow={flow}&state=succeeded&limit=1")).await.is(200);
    listed.body["total"].as_u64().unwrap()
}

async fn waiting(database: &Database) -> Vec<(String, i64, String)> {
    let mut connection = database.connect().await;
    let rows = connection.fetch_all("SELECT queue, attempt, headers FROM queue_messages").await.unwrap();
    rows.iter().map(|row| (row.get("queue"), row.get("attempt"), row.get("headers"))).collect()
}

/// MQ-3, FL-29: every message is one run, with the message as its input, and is then gone from the queue. One whose
/// content does not fit is a run that failed.
async fn a_message_is_one_run_however_many_listen(backend: Backend) {
    let app = TestApp::start(backend).await;
    let _other = app.replica("other").await;
    app.service(orders()).await;
    publish_over_rest(&app, "orders", FLOW).await;
    for order in 0..20 {
        place(&app, &order.to_string()).await;
    }
    // The same message again, whoever sends it.
    place(&app, "7").await;
    eventually("all are runs", PATIENCE, async || runs_by_order(&app, "orders").await.len() == 20).await;
    let runs = runs_of(&app, "orders", "succeeded").await;
    let seventh = runs.iter().find(|run| run["output"]["order"] == "7").unwrap();
    assert_eq!(seventh["output"], json!({ "order": "7", "whole": { "order": "7" }, "id": "id-7" }));
    assert_eq!(seventh["trigger"], json!({ "type": "message", "name": "placed" }));
    app.call("mq://orders/placed", json!({ "message": { "order": 5 } })).await.is(200);
    eventually("it failed", PATIENCE, async || runs_of(&app, "orders", "failed").await.len() == 1).await;
    eventually("all are taken", PATIENCE, async || waiting(app.database()).await.is_empty()).await;
    assert!(runs_by_order(&app, "orders").await.values().all(|count| *count == 1));
}

/// Refuses something to everybody, as a database in trouble does.
async fn forbid(database: &Database, event: &str, table: &str) {
    let mut connection = database.connect().await;
    let statements = match database.backend() {
        Backend::Sqlite => vec![format!(
            "CREATE TRIGGER forbidden BEFORE {event} ON {table} BEGIN SELECT RAISE(ABORT, 'forbidden'); END"
        )],
        Backend::Postgres => vec![
            "CREATE OR REPLACE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'forbidden'; END $$"
                .to_owned(),
            format!(
                "CREATE TRIGGER forbidden BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION forbid()"
            ),
        ],
    };
    for statement in statements {
        connection.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
    }
}

async fn permit(database: &Database, table: &str) {
    let mut connection = database.connect().await;
    let statement = match database.backend() {
        Backend::Sqlite => "DROP TRIGGER forbidden".to_owned(),
        Backend::Postgres => format!("DROP TRIGGER forbidden ON {table}"),
    };
    connection.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
}

/// MQ-3, FL-19: a process is killed after it got a message and before the run is committed, and another after the run
/// is committed and before the message is taken. Nothing is lost, and nothing is a run twice.
async fn a_message_outlives_the_process_that_got_it(backend: Backend) {
    let database = Database::create(backend).await;
    let mut server = serve(&database, None);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", orders()).await.is(201);
    publish_over_rest(&admin, "orders", FLOW).await;
    forbid(&database, "INSERT", "runs").await;
    place(&admin, "a").await;
    eventually("it is delivered", PATIENCE, async || {
        waiting(&database).await.iter().any(|(_, attempt, _)| *attempt >= 1)
    })
    .await;
    server.kill();
    permit(&database, "runs").await;
    let mut server = serve(&database, None);
    let admin = server.client(&key);
    eventually("it is a run", LEASE, async || runs_by_order(&admin, "orders").await.len() == 1).await;
    eventually("it is taken", LEASE, async || waiting(&database).await.is_empty()).await;

    forbid(&database, "DELETE", "queue_messages").await;
    place(&admin, "b").await;
    eventually("it is a run, too", PATIENCE, async || runs_by_order(&admin, "orders").await.len() == 2).await;
    assert_eq!(waiting(&database).await.len(), 1, "it is not taken");
    server.kill();
    permit(&database, "queue_messages").await;
    let server = serve(&database, None);
    let admin = server.client(&key);
    eventually("it is taken at last", LEASE, async || waiting(&database).await.is_empty()).await;
    let runs = runs_by_order(&admin, "orders").await;
    assert_eq!(runs, BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 1)]));
}

/// Whoever switches a trigger off finds its messages in the queue; switched on again it takes them.
async fn a_trigger_that_is_off_leaves_messages_where_they_are(backend: Backend) {
    let app = TestApp::start(backend).await;
    app.service(orders()).await;
    publish_over_rest(&app, "orders", FLOW).await;
    place(&app, "1").await;
    eventually("it is a run", PATIENCE, async || runs_by_order(&app, "orders").await.len() == 1).await;
    app.post("flows/orders/triggers/placed/disable", json!({})).await.is(200);
    eventually("nobody listens", PATIENCE, async || {
        place(&app, "probe").await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let peeked = app.call("mq://orders/placed_peek", json!({})).await.is(200);
        peeked.text.contains("id-probe")
    })
    .await;
    app.post("flows/orders/triggers/placed/enable", json!({})).await.is(200);
    eventually("they are taken", PATIENCE, async || waiting(app.database()).await.is_empty()).await;
    eventually("it is one run", PATIENCE, async || {
        runs_by_order(&app, "orders").await.get("probe") == Some(&1)
    })
    .await;
}

/// Where a broker of these tests is.
pub(crate) fn needed(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: use `scripts/servers run redis rabbitmq -- CMD`"))
}

pub(crate) fn unique(what: &str) -> String {
    format!("{what}-{}", tool::new_id::<String>())
}

/// The service `orders` over a broker elsewhere.
pub(crate) fn orders_over(broker: &str, url: &str, place: &Value) -> Value {
    let mut tool = json!({ "id": "placed" });
    tool.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
    json!({
        "type": "mq", "id": "orders", "name": "Orders",
        "config": { "broker": broker, "connection_string": url, "allow_private_network": true },
        "tools": [tool]
    })
}

/// Publishes to a broker and waits for the runs; what came before anybody listened does not count.
async fn messages_of_a_broker_start_runs(broker: &str, url: &str, place_name: Value) {
    let app = TestApp::start(Backend::Sqlite).await;
    let _other = app.replica("other").await;
    app.service(orders_over(broker, url, &place_name)).await;
    publish_over_rest(&app, "orders", FLOW).await;
    let mut probes = 0;
    // Each probe is another message: one that came before anybody listened is published, and not published again. An
    // exchange without a queue refuses it.
    eventually("somebody listens", PATIENCE, async || {
        probes += 1;
        let message = json!({ "message": { "order": format!("probe-{probes}") } });
        app.call("mq://orders/placed", message).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        succeeded(&app, "orders").await >= 1
    })
    .await;
    for order in 0..10 {
        place(&app, &order.to_string()).await;
        place(&app, &order.to_string()).await;
    }
    // A look must not take long: on a busy machine all runs would be read again and again until the time is up.
    eventually("all are runs", PATIENCE, async || succeeded(&app, "orders").await >= 11).await;
    eventually("each is a run", PATIENCE, async || {
        let runs = runs_by_order(&app, "orders").await;
        runs.keys().filter(|order| !order.starts_with("probe")).count() == 10
    })
    .await;
    let runs = runs_by_order(&app, "orders").await;
    assert!(runs.values().all(|count| *count == 1), "{runs:?}");
}

/// MQ-3: a stream of Redis, shared by two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_redis_start_runs() {
    let url = needed("MCP_TEST_REDIS_URL");
    messages_of_a_broker_start_runs("redis", &url, json!({ "stream": unique("orders") })).await;
}

/// MQ-3: a channel of Redis, which one of two processes listens to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_a_channel_start_runs() {
    let url = needed("MCP_TEST_REDIS_URL");
    messages_of_a_broker_start_runs("redis", &url, json!({ "channel": unique("orders") })).await;
}

/// MQ-3: a queue of RabbitMQ, shared by two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_rabbitmq_start_runs() {
    let url = needed("MCP_TEST_RABBITMQ_URL");
    messages_of_a_broker_start_runs("rabbitmq", &url, json!({ "queue": unique("orders") })).await;
}

/// MQ-3: an exchange of RabbitMQ: the group of both processes has one queue there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_an_exchange_start_runs() {
    let url = needed("MCP_TEST_RABBITMQ_URL");
    let place = json!({ "exchange": unique("orders"), "routing_key": "order.placed" });
    messages_of_a_broker_start_runs("rabbitmq", &url, place).await;
}

/// MQ-3: a topic of Kafka, shared by two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_kafka_start_runs() {
    let broker = GroupBroker::start().await;
    let topic = unique("orders");
    broker.create_topic(&topic, 2);
    messages_of_a_broker_start_runs("kafka", &broker.address, json!({ "topic": topic })).await;
}

/// A broker whose messages this test counts past every process.
struct Kept {
    broker: &'static str,
    url: String,
    place: String,
}

impl Kept {
    fn new(broker: &'static str, variable: &str) -> Self {
        Self { broker, url: needed(variable), place: unique("orders") }
    }

    fn host(&self) -> &str {
        self.url.rsplit('@').next().unwrap().split('/').next().unwrap()
    }

    fn orders(&self, host: &str) -> Value {
        let place = match self.broker {
            "redis" => json!({ "stream": self.place }),
            _ => json!({ "queue": self.place }),
        };
        orders_over(self.broker, &self.url.replace(self.host(), host), &place)
    }

    /// How many messages nobody has acknowledged, as the broker itself counts them.
    fn unacknowledged(&self) -> usize {
        match self.broker {
            "redis" => self.pending_of_redis(),
            _ => in_rabbitmq(&self.place).0,
        }
    }

    fn pending_of_redis(&self) -> usize {
        let (user, password) =
            self.url.split_once("://").unwrap().1.split_once('@').unwrap().0.split_once(':').unwrap();
        let mut connection = TcpStream::connect(self.host()).unwrap();
        let group = "mcp-all-in-one.default.orders.placed";
        let user = if user.is_empty() { "default" } else { user };
        write!(connection, "AUTH {user} {password}\r\nXPENDING {} {group}\r\n", self.place).unwrap();
        let lines: Vec<_> = BufReader::new(connection).lines().take(3).map(Result::unwrap).collect();
        lines[2].trim_start_matches(':').parse().unwrap_or_else(|_| panic!("{lines:?}"))
    }
}

/// A process is killed after the run of a message is committed and before the broker has heard so.
async fn a_message_of_a_broker_outlives_its_process(kept: Kept) {
    let (proxy, database) = (TcpProxy::start(kept.host()).await, Database::create(Backend::Sqlite).await);
    let publisher = TestApp::start(Backend::Sqlite).await;
    publisher.service(kept.orders(kept.host())).await;
    let mut server = serve(&database, None);
    let (admin, key) = (server.admin(), server.admin_key().unwrap().to_owned());
    admin.post("services", kept.orders(&proxy.address().to_string())).await.is(201);
    publish_over_rest(&admin, "orders", FLOW).await;
    eventually("somebody listens", PATIENCE, async || {
        publisher.call("mq://orders/placed", json!({ "message": { "order": "probe" } })).await.is(200);
        tokio::time::sleep(Duration::from_millis(300)).await;
        succeeded(&admin, "orders").await >= 1
    })
    .await;
    eventually("all probes are taken", PATIENCE, async || kept.unacknowledged() == 0).await;
    let mut lock = database.connect().await;
    lock.execute("BEGIN IMMEDIATE").await.unwrap();
    place(&publisher, "a").await;
    // It has come by then, and its run waits for the database.
    tokio::time::sleep(Duration::from_secs(1)).await;
    proxy.stall();
    lock.execute("COMMIT").await.unwrap();
    eventually("it is a run", PATIENCE, async || runs_by_order(&admin, "orders").await.contains_key("a"))
        .await;
    server.kill();
    proxy.cut();
    assert_eq!(kept.unacknowledged(), 1, "the broker has not heard of it");
    proxy.restore();
    let server = serve(&database, None);
    let admin = server.client(&key);
    eventually("it is taken at last", LEASE, async || kept.unacknowledged() == 0).await;
    assert_eq!(runs_by_order(&admin, "orders").await.get("a"), Some(&1));
}

/// MQ-6: F16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_rabbitmq_outlives_the_process_that_got_it() {
    a_message_of_a_broker_outlives_its_process(Kept::new("rabbitmq", "MCP_TEST_RABBITMQ_URL")).await;
}

/// MQ-6: F16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_redis_outlives_the_process_that_got_it() {
    a_message_of_a_broker_outlives_its_process(Kept::new("redis", "MCP_TEST_REDIS_URL")).await;
}
