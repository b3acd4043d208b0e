//! What publishing with `mq` costs over the same without it, in one run: a row of its own for each message, a bare Redis
//! command, a bare confirmed publish; and what 100,000 messages cost that wait.
//!
//! The queue of our own is a SQLite file with 32 callers; Kafka is the library's broker in this process; the others are those at
//! `MCP_TEST_REDIS_URL` and `MCP_TEST_RABBITMQ_URL`: `scripts/servers run redis rabbitmq -- cargo bench -p connectors --features
//! full --bench mq`. What is not set is left out, and said so.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on stops and says so")]
#![expect(clippy::print_stdout, reason = "a bench prints")]

use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions};
use lapin::{BasicProperties, ConnectionProperties};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use sqlx::{Connection, Executor};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{NewTenant, Options, Queues, Store, Vault};
use tokio::task::JoinSet;
use tool::queue::{LaterCall, NewMessage};
use tool::{Call, Caller, Connector, Context, Door, Env, Queue as _, TenantId};

const CALLERS: usize = 32;
const EACH: usize = 100;
const ROUNDS: usize = 5;
const SINGLE: usize = 300;
/// What the contract asks of our own queues.
const LEAST_A_SECOND: f64 = 5000.0;
/// And of messages that wait: so many cost no more than that.
const WAITING: usize = 100_000;
const MOST_MIB: f64 = 10.0;
const HOUR: Duration = Duration::from_secs(3600);

#[tokio::main]
async fn main() {
    println!(
        "{:<10} {:<24} {:>12} {:>12} {:>7} {:>7}",
        "broker", "what", "bare µs", "mq µs", "ratio", "target"
    );
    embedded().await;
    kafka().await;
    if let Some(url) = url_of("redis", "MCP_TEST_REDIS_URL") {
        redis(&url).await;
    }
    if let Some(url) = url_of("rabbitmq", "MCP_TEST_RABBITMQ_URL") {
        rabbitmq(&url).await;
    }
    waiting().await;
}

/// Where a broker is; that it is left out stands where its numbers would.
fn url_of(broker: &str, variable: &str) -> Option<String> {
    let url = std::env::var(variable).ok();
    if url.is_none() {
        println!("{broker:<10} NOT MEASURED: {variable} is not set; use `scripts/servers run {broker} -- …`");
    }
    url
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}

fn report(broker: &str, what: &str, (bare, ours): (Duration, Duration), count: usize, target: f64) {
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    let (bare, ours) = (each(bare), each(ours));
    let ratio = ours / bare;
    let verdict = verdict(ratio <= target);
    println!("{broker:<10} {what:<24} {bare:>12.1} {ours:>12.1} {ratio:>7.2} {target:>7.1} {verdict}");
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
    let queue = Arc::new(queues(&folder).await);
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
    let a_second = (CALLERS * EACH) as f64 / found.1.as_secs_f64();
    let verdict = verdict(a_second >= LEAST_A_SECOND);
    println!("embedded   {a_second:.0} confirmed messages a second, at least {LEAST_A_SECOND}: {verdict}");
}

async fn queues(folder: &tempfile::TempDir) -> Queues {
    let url = format!("sqlite:{}", folder.path().join("data.db").display());
    let store = Store::open(&Options::new(url), Vault::load(folder.path(), None).unwrap()).await.unwrap();
    store.tenants().create(default_tenant()).await.unwrap();
    Queues::new(store, Duration::from_secs(60))
}

/// Messages that wait: as rows of our own queues, and as calls that are made later for brokers that hold nothing back.
async fn waiting() {
    let folder = tempfile::tempdir().unwrap();
    let queues = queues(&folder).await;
    let shared = queues.clone();
    let publish = move |number: usize| {
        let queues = shared.clone();
        async move {
            let (id, key, headers) = (number.to_string(), None, Default::default());
            let message = NewMessage { id, body: body(), key, headers, delay: HOUR };
            queues.publish(&TenantId::default_tenant(), "bench", message).await.unwrap();
        }
    };
    fill("our own queues", publish).await;
    let call = move |number: usize| {
        let queues = queues.clone();
        async move {
            let (id, uri) = (number.to_string(), "mq://bench/bench".to_owned());
            let call = LaterCall { id, uri, arguments: body(), delay: HOUR };
            queues.call_later(&TenantId::default_tenant(), call).await.unwrap();
        }
    };
    fill("calls made later", call).await;
}

fn body() -> Box<RawValue> {
    RawValue::from_string(json!({ "orderId": "O001", "text": "x".repeat(1000) }).to_string()).unwrap()
}

/// Adds them with 32 callers. The first ones warm caches up, and show what one costs while few wait.
async fn fill<Work: Future<Output = ()> + Send + 'static>(
    what: &str,
    add: impl Fn(usize) -> Work + Clone + Send + 'static,
) {
    let each = async |range: std::ops::Range<usize>| {
        let (begin, count) = (Instant::now(), range.len());
        let mut tasks = JoinSet::new();
        for caller in 0..CALLERS {
            let (add, mine) = (add.clone(), range.clone().skip(caller).step_by(CALLERS));
            tasks.spawn(async move {
                for number in mine {
                    add(number).await;
                }
            });
        }
        tasks.join_all().await;
        begin.elapsed().as_secs_f64() * 1e6 / count as f64
    };
    let first = each(0..WAITING / 10).await;
    let before = testkit::proc::resident_kib(std::process::id());
    each(WAITING / 10..WAITING - WAITING / 10).await;
    let last = each(WAITING - WAITING / 10..WAITING).await;
    let more = testkit::proc::resident_kib(std::process::id()).saturating_sub(before) as f64 / 1024.0;
    let verdict = verdict(more <= MOST_MIB);
    println!(
        "waiting    {WAITING} in {what}: {more:.1} MiB more, at most {MOST_MIB}: {verdict}; {first:.0} µs each at first, {last:.0} at last"
    );
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

async fn kafka() {
    let broker = krafka::testing::FakeBroker::start().await.unwrap();
    let (servers, name) = (broker.bootstrap_servers(), format!("bench-{}", tool::new_id::<String>()));
    broker.create_topic(&name, 1);
    let connector = over("kafka", &servers, "topic", &name);
    let bare = krafka::Kafka::builder(servers.as_str()).connect().await.unwrap();
    let bare = bare.producer().linger(Duration::ZERO).build().await.unwrap();
    publish(&connector).await;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        // It looks through what it remembers at each request.
        broker.clear_requests();
        let begin = Instant::now();
        for _ in 0..SINGLE {
            let record = krafka::Record::new(name.as_str(), body().get().as_bytes().to_vec());
            let record = record.header("message-id", tool::new_id::<String>());
            let _ = bare.send(record).await.unwrap();
        }
        let plain = begin.elapsed();
        broker.clear_requests();
        let begin = Instant::now();
        for _ in 0..SINGLE {
            publish(&connector).await;
        }
        times.push((plain, begin.elapsed()));
    }
    report("kafka", "confirmed publish", median(times), SINGLE, 1.2);
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
