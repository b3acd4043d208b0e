//! Kafka that restarts, is slow, and names brokers elsewhere; and settings that change meanwhile.

use super::support::{Home, cx, name, run};
use super::turns::all_get_theirs;
use futures::future::join_all;
use krafka::testing::{ApiKey, Control, FakeBroker};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tool::{Connector, ErrorKind};

const PLENTY: Duration = Duration::from_secs(30);

fn service(home: &Home, servers: &str, topic: &str, more: &Value) -> Arc<dyn Connector> {
    let mut settings = json!({ "broker": "kafka", "connection_string": servers, "allow_private_network": true,
        "tools": [{ "id": "created", "topic": topic }], "retry": { "max_attempts": 2, "initial_delay_ms": 10 },
        "circuit_breaker": { "failures": 0 } });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    home.open(settings)
}

/// Publishes one after the other until told to stop: which were confirmed.
async fn load(orders: Arc<dyn Connector>, caller: usize, is_over: Arc<AtomicBool>) -> Vec<(String, bool)> {
    let mut ends = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        let id = format!("{caller}-{}", ends.len());
        let sent = run(&orders, "created", json!({ "message": { "id": id }, "messageId": id })).await;
        ends.push((id, sent.is_ok()));
    }
    ends
}

/// MQ-9: F15, the broker restarts under load, and answers get lost: every confirmed message is in the log, none twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_restarts_loses_and_doubles_nothing() {
    let broker = FakeBroker::start().await.unwrap();
    let (home, topic) = (Home::new().await, name("orders"));
    // Some are written, and the connection breaks before the answer: the library asks again.
    broker.on(ApiKey::Produce, |request| match request.api_call_index % 5 {
        3 => Control::ApplyThen(Box::new(Control::Disconnect)),
        _ => Control::Pass,
    });
    let orders = service(&home, &broker.bootstrap_servers(), &topic, &json!({}));
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> =
        (0..4).map(|caller| tokio::spawn(load(orders.clone(), caller, is_over.clone()))).collect();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(800)).await;
        broker.crash(0);
        tokio::time::sleep(Duration::from_millis(400)).await;
        broker.restart(0);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    is_over.store(true, Ordering::SeqCst);
    let ends: Vec<_> = join_all(callers).await.into_iter().flat_map(Result::unwrap).collect();
    let mut in_log: HashMap<String, usize> = HashMap::new();
    for record in broker.all_records(&topic).unwrap() {
        *in_log.entry(record.header_str("message-id").unwrap().to_owned()).or_default() += 1;
    }
    assert!(in_log.values().all(|count| *count == 1), "twice in the log: {in_log:?}");
    let lost: Vec<_> = ends.iter().filter(|(id, confirmed)| *confirmed && !in_log.contains_key(id)).collect();
    assert!(lost.is_empty(), "confirmed, and not in the log: {lost:?}");
    let confirmed = ends.iter().filter(|(_, confirmed)| *confirmed).count();
    assert!(confirmed > 20, "{confirmed} of {} were confirmed", ends.len());
}

/// The bootstrap server is allowed, and says that the topic is kept where nobody may go: told at once, before anything is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_is_named_where_nobody_may_go_is_refused_at_once() {
    let broker = FakeBroker::start_cluster(2).await.unwrap();
    let (home, topic) = (Home::new().await, name("orders"));
    broker.create_topic(&topic, 1);
    broker.set_leader(&topic, 0, 1);
    broker.with_state(|state| state.brokers[1].host = "127.0.0.2".to_owned());
    let first = broker.broker_addr(0).unwrap().to_string();
    let narrow = json!({ "allow_private_network": ["127.0.0.1/32"], "timeout_ms": 20_000 });
    let orders = service(&home, &first, &topic, &narrow);
    let begin = Instant::now();
    let error = run(&orders, "created", json!({ "message": 1 })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error:?}");
    for word in ["127.0.0.2", "nothing was published", "allow_private_network", &topic] {
        assert!(error.message().contains(word), "no {word:?} in {error}");
    }
    assert!(begin.elapsed() < Duration::from_secs(5), "told after {:?}", begin.elapsed());
    assert_eq!(broker.request_count(ApiKey::Produce), 0);
    assert_eq!(orders.health(&cx()).await.unwrap_err().kind(), ErrorKind::Denied);
    // Once the cluster says otherwise, it is looked at anew.
    broker.with_state(|state| state.brokers[1].host = "127.0.0.1".to_owned());
    run(&orders, "created", json!({ "message": 2 })).await.unwrap();
}

/// F26: many callers, few places, a slow broker: all get their turn in order, or their time is over; others do not notice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_wait_for_their_turn_until_their_time_is_over() {
    let broker = FakeBroker::start().await.unwrap();
    let (home, topic) = (Home::new().await, name("orders"));
    broker.create_topic(&topic, 1);
    let orders = service(&home, &broker.bootstrap_servers(), &topic, &json!({ "max_concurrent_calls": 10 }));
    run(&orders, "created", json!({ "message": "first" })).await.unwrap();
    broker.on(ApiKey::Produce, |_| Control::Delay(Duration::from_millis(100)));
    let others = home.open(json!({ "tools": [{ "id": "created" }] }));
    let sent = all_get_theirs(&orders, &others, Duration::from_millis(300)).await;
    for (n, sent) in sent.into_iter().enumerate() {
        let position = sent["position"].as_str().unwrap().to_owned();
        let offset: usize = position.strip_prefix("0-").unwrap().parse().unwrap();
        // The first was published before; ten at once may overtake one another.
        assert!(offset.abs_diff(n + 1) <= 20, "caller {n} is at {offset}");
    }
}

/// F28: calls under way end on the settings they began with, and nothing stays connected for settings that are gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_that_change_leave_no_call_and_no_connection_behind() {
    let broker = Arc::new(FakeBroker::start().await.unwrap());
    let (home, topic) = (Home::new().await, name("orders"));
    let open = |max: usize| {
        service(&home, &broker.bootstrap_servers(), &topic, &json!({ "max_message_bytes": max }))
    };
    let mut orders = open(1000);
    run(&orders, "created", json!({ "message": 0 })).await.unwrap();
    let connections_of_one = broker.open_connections();
    for round in 0..10 {
        broker.on_once(ApiKey::Produce, |_| Control::Delay(Duration::from_millis(300)));
        let (old, before) = (orders.clone(), broker.request_count(ApiKey::Produce));
        let under_way = tokio::spawn(async move { run(&old, "created", json!({ "message": 1 })).await });
        testkit::eventually("the call is under way", PLENTY, async || {
            broker.request_count(ApiKey::Produce) > before
        })
        .await;
        orders = open(2000 + round);
        under_way.await.unwrap().unwrap();
        run(&orders, "created", json!({ "message": 2 })).await.unwrap();
    }
    testkit::eventually("one service is connected", PLENTY, async || {
        broker.open_connections() <= connections_of_one
    })
    .await;
    drop(orders);
    testkit::eventually("nobody is", PLENTY, async || broker.open_connections() == 0).await;
    assert!(run(&open(1000), "created", json!({ "message": 3 })).await.is_ok());
}
