//! What publishing with `mq` costs over the same without it, in one run: a row of its own for each message, a bare Redis
//! command, a bare confirmed publish.
//!
//! The queue of our own is a SQLite file with 32 callers; brokers are those at `MCP_TEST_REDIS_URL` and `MCP_TEST_RABBITMQ_URL` where
//! they are set: `scripts/servers run redis rabbitmq -- cargo bench -p connectors --features full --bench mq`.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on stops and says so")]
#![expect(clippy::print_stdout, reason = "a bench prints")]

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions};
use lapin::{BasicProperties, ConnectionProperties};
use serde_json::{Map, Value, json};
use sqlx::{Connection, Executor};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{NewTenant, Options, Queues, Store, Vault};
use tokio::task::JoinSet;
use tool::{Call, Caller, Connector, Context, Door, Env, TenantId};

const CALLERS: usize = 32;
const EACH: usize = 100;
const ROUNDS: usize = 5;
const SINGLE: usize = 300;

#[tokio::main]
async fn main() {
    println!(
        "{:<10} {:<24} {:>12} {:>12} {:>7} {:>7}",
        "broker", "what", "bare µs", "mq µs", "ratio", "target"
    );
    embedded().await;
    if let Ok(url) = std::env::var("MCP_TEST_REDIS_URL") {
        redis(&url).await;
    }
    if let Ok(url) = std::env::var("MCP_TEST_RABBITMQ_URL") {
        rabbitmq(&url).await;
    }
}

fn report(broker: &str, what: &str, (bare, ours): (Duration, Duration), count: usize, target: f64) {
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    let (bare, ours) = (each(bare), each(ours));
    let ratio = ours / bare;
    println!("{broker:<10} {what:<24} {bare:>12.1} {ours:>12.1} {ratio:>7.2} {target:>7.1}");
}

fn median(mut times: Vec<(Duration, Duration)>) -> (Duration, Duration) {
    times.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    times[times.len() / 2]
}

fn ratio((bare, ours): &(Duration, Duration)) -> f64 {
    ours.as_secs_f64() / bare.as_secs_f64()
}

fn open(settings: Value, env: &Env) -> Arc<dyn Connector> {
    connectors::find("mq").unwrap().open(settings, env).unwrap()
}

async fn publish(connector: &Arc<dyn Connector>) {
    let caller = Arc::new(Caller::local());
    let cx = Context::new(TenantId::default_tenant(), caller, Door::Local, Duration::from_secs(60));
    let message = json!({ "orderId": "O001", "text": "x".repeat(1000) });
    let call = Call::new("bench", Map::from_iter([("message".to_owned(), message)]).into());
    connector.call(&cx, call).await.unwrap();
}

/// 32 callers, each with a message after the other; bare, each message is an INSERT of its own, as durable.
async fn embedded() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("data.db").display());
    let store = Store::open(&Options::new(url), Vault::load(folder.path(), None).unwrap()).await.unwrap();
    store.tenants().create(default_tenant()).await.unwrap();
    let queue = Arc::new(Queues::new(store, Duration::from_secs(10)));
    let env = Env { queue: Some(queue), ..Env::default() };
    let connector = open(json!({ "tools": [{ "id": "bench" }] }), &env);
    let file = format!("sqlite://{}?mode=rwc", folder.path().join("bare.db").display());
    let mut bare = sqlx::SqliteConnection::connect(&file).await.unwrap();
    bare.execute("PRAGMA journal_mode = WAL").await.unwrap();
    bare.execute("PRAGMA synchronous = FULL").await.unwrap();
    bare.execute("CREATE TABLE m (id INTEGER PRIMARY KEY, body TEXT)").await.unwrap();
    let bare = Arc::new(tokio::sync::Mutex::new(bare));
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let connection = bare.clone();
        let insert = move || insert(connection.clone());
        many(insert).await;
        let plain = begin.elapsed();
        let begin = Instant::now();
        let shared = connector.clone();
        many(move || {
            let connector = shared.clone();
            async move { publish(&connector).await }
        })
        .await;
        times.push((plain, begin.elapsed()));
    }
    let found = median(times);
    report("embedded", "publish, 32 callers", found, CALLERS * EACH, 1.0);
    println!("embedded   {:.0} confirmed messages a second", (CALLERS * EACH) as f64 / found.1.as_secs_f64());
}

async fn insert(connection: Arc<tokio::sync::Mutex<sqlx::SqliteConnection>>) {
    let body = json!({ "orderId": "O001", "text": "x".repeat(1000) }).to_string();
    let insert = sqlx::query("INSERT INTO m (body) VALUES (?1)").bind(body);
    insert.execute(&mut *connection.lock().await).await.unwrap();
}

fn default_tenant() -> NewTenant {
    let (id, name, limits) = (TenantId::default_tenant(), "default".to_owned(), Default::default());
    NewTenant { id, name, limits, allow_private_network: None, table_quota_bytes: None }
}

async fn many<Work: Future<Output = ()> + Send + 'static>(work: impl Fn() -> Work + Clone + Send + 'static) {
    let mut tasks = JoinSet::new();
    for _ in 0..CALLERS {
        let work = work.clone();
        tasks.spawn(async move {
            for _ in 0..EACH {
                work().await;
            }
        });
    }
    tasks.join_all().await;
}

fn over(broker: &str, url: &str, place: &str, name: &str) -> Arc<dyn Connector> {
    let settings = json!({ "broker": broker, "connection_string": url, "allow_private_network": true,
                           "tools": [{ "id": "bench", place: name }] });
    open(settings, &Env::default())
}

async fn redis(url: &str) {
    let name = format!("bench-{}", tool::new_id::<String>());
    let connector = over("redis", url, "stream", &name);
    let mut bare = ::redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap();
    publish(&connector).await;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..SINGLE {
            let body = json!({ "orderId": "O001", "text": "x".repeat(1000) }).to_string();
            let mut add = ::redis::cmd("XADD");
            add.arg(&name).arg("*").arg("message").arg(body).arg("message-id").arg(tool::new_id::<String>());
            let _: String = add.query_async(&mut bare).await.unwrap();
        }
        let plain = begin.elapsed();
        let begin = Instant::now();
        for _ in 0..SINGLE {
            publish(&connector).await;
        }
        times.push((plain, begin.elapsed()));
    }
    report("redis", "publish to a stream", median(times), SINGLE, 1.2);
}

async fn rabbitmq(url: &str) {
    let name = format!("bench-{}", tool::new_id::<String>());
    let connector = over("rabbitmq", url, "queue", &name);
    let connection = lapin::Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(name.as_str().into(), durable, Default::default()).await.unwrap();
    publish(&connector).await;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..SINGLE {
            let body = json!({ "orderId": "O001", "text": "x".repeat(1000) }).to_string();
            let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
            let properties = BasicProperties::default().with_delivery_mode(2);
            let sent =
                channel.basic_publish("".into(), name.as_str().into(), options, body.as_bytes(), properties);
            assert!(sent.await.unwrap().await.unwrap().is_ack());
        }
        let plain = begin.elapsed();
        let begin = Instant::now();
        for _ in 0..SINGLE {
            publish(&connector).await;
        }
        times.push((plain, begin.elapsed()));
    }
    report("rabbitmq", "confirmed publish", median(times), SINGLE, 1.2);
}
