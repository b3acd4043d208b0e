//! Many callers of a broker that is slow, and settings that change while calls run, on brokers whose answers can be held up on
//! their way.

use super::support::{Home, name, needed, run};
use super::turns::all_get_theirs;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use testkit::tcp_proxy::TcpProxy;
use tool::Connector;

const PLENTY: Duration = Duration::from_secs(30);

/// A broker behind a proxy.
struct Behind {
    broker: &'static str,
    place: &'static str,
    proxy: TcpProxy,
    /// Up to the host, and behind the port.
    url: (String, String),
    home: Home,
}

impl Behind {
    async fn start(broker: &'static str, variable: &str, place: &'static str) -> Self {
        let url = needed(variable);
        let (before, rest) = url.rsplit_once('@').unwrap();
        let (host, behind) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let proxy = TcpProxy::start(host).await;
        Self { broker, place, proxy, url: (before.to_owned(), behind.to_owned()), home: Home::new().await }
    }

    async fn redis() -> Self {
        Self::start("redis", "MCP_TEST_REDIS_URL", "stream").await
    }

    async fn rabbitmq() -> Self {
        Self::start("rabbitmq", "MCP_TEST_RABBITMQ_URL", "queue").await
    }

    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    fn open(&self, place: &str, more: Value) -> Arc<dyn Connector> {
        let destination = self.place;
        let mut settings = json!({ "broker": self.broker, "allow_private_network": true,
            "connection_string": format!("{}@{}{}", self.url.0, self.proxy.address(), self.url.1),
            "tools": [{ "id": "created", destination: place, "receive": true }],
            "retry": { "max_attempts": 1 }, "circuit_breaker": { "failures": 0 } });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.home.open(settings)
    }
}

/// All get their turn, or their time is over; others do not notice.
async fn many_callers_wait_for_their_turn(behind: Behind) {
    let place = name("orders");
    let orders = behind.open(&place, json!({ "max_concurrent_calls": 10 }));
    run(&orders, "created", json!({ "message": 0 })).await.unwrap();
    behind.proxy.delay(Duration::from_millis(20));
    let others = behind.home.open(json!({ "tools": [{ "id": "created" }] }));
    all_get_theirs(&orders, &others, Duration::from_millis(100)).await;
    behind.proxy.delay(Duration::ZERO);
    // Ten at once may overtake one another, and nobody else; who had no time is not among them.
    for at in 0..=500 {
        let taken = run(&orders, "created_receive", json!({})).await.unwrap();
        let number = taken["messages"][0]["message"].as_u64();
        assert!(number.is_some_and(|number| number.abs_diff(at) <= 20), "{taken} is at {at}");
    }
}

/// Calls under way end on the settings they began with, and nothing stays connected for settings that are gone.
async fn changed_settings_leave_nothing_behind(behind: Behind) {
    let place = name("orders");
    let mut orders = behind.open(&place, json!({}));
    run(&orders, "created", json!({ "message": 0 })).await.unwrap();
    let connections_of_one = behind.proxy.open();
    for round in 0..10 {
        behind.proxy.delay(Duration::from_millis(200));
        let old = orders.clone();
        let under_way = tokio::spawn(async move { run(&old, "created", json!({ "message": 1 })).await });
        // So that it is on its way.
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!under_way.is_finished());
        orders = behind.open(&place, json!({ "max_message_bytes": 2000 + round }));
        under_way.await.unwrap().unwrap();
        behind.proxy.delay(Duration::ZERO);
        run(&orders, "created", json!({ "message": 2 })).await.unwrap();
    }
    testkit::eventually("one service is connected", PLENTY, async || {
        behind.proxy.open() <= connections_of_one
    })
    .await;
    drop(orders);
    testkit::eventually("nobody is", PLENTY, async || behind.proxy.open() == 0).await;
}

/// F26
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_of_redis_wait_for_their_turn() {
    many_callers_wait_for_their_turn(Behind::redis().await).await;
}

/// F26
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_of_rabbitmq_wait_for_their_turn() {
    many_callers_wait_for_their_turn(Behind::rabbitmq().await).await;
}

/// F28
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_of_redis_that_change_leave_nothing_behind() {
    changed_settings_leave_nothing_behind(Behind::redis().await).await;
}

/// F28
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_of_rabbitmq_that_change_leave_nothing_behind() {
    changed_settings_leave_nothing_behind(Behind::rabbitmq().await).await;
}
