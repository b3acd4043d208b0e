//! RocketMQ: topics of a real cluster, name server, broker and proxy (`make test-brokers`).

use super::support::{Home, assert_breaks_and_comes_back, cx, name, needed, run};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::recorder::{Listening, Recorder};
use testkit::rocketmq::make_topic;
use testkit::tcp_proxy::TcpProxy;
use tool::{Connector, ErrorKind, Subscription, Verdict};

fn url() -> String {
    needed("MCP_TEST_ROCKETMQ_URL")
}

fn settings(url: &str, tools: &Value) -> Value {
    json!({ "broker": "rocketmq", "connection_string": url, "username": "tester", "password": "tester-password",
        "allow_private_network": true, "tools": tools, "retry": { "max_attempts": 2, "initial_delay_ms": 10 },
        "circuit_breaker": { "failures": 0 } })
}

fn tools(topic: &str) -> Value {
    json!([{ "id": "created", "topic": topic, "peek": true, "receive": true }])
}

/// A service over a topic of its own, which the proxy knows.
async fn service(home: &Home, topic: &str, message_type: &str) -> Arc<dyn Connector> {
    make_topic(&needed("MCP_TEST_ROCKETMQ_BROKER"), topic, 1, message_type).await;
    let service = home.open(settings(&url(), &tools(topic)));
    testkit::eventually("the proxy knows the topic", Duration::from_secs(30), async || {
        service.health(&cx()).await.is_ok()
    })
    .await;
    service
}

fn wanted(group: &str) -> Subscription {
    Subscription::new("created", group)
}

fn messages(answer: &Value) -> Vec<Value> {
    answer["messages"].as_array().unwrap().clone()
}

/// Takes until nothing comes any more, or enough has.
async fn receive(service: &Arc<dyn Connector>, count: usize) -> Vec<Value> {
    let (mut got, begin) = (Vec::new(), Instant::now());
    while got.len() < count && begin.elapsed() < Duration::from_secs(40) {
        let answer = run(service, "created_receive", json!({ "max": 10, "waitMs": 5000 })).await.unwrap();
        got.extend(messages(&answer));
    }
    got
}

/// MQ-1, MQ-4, MQ-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishes_shows_and_takes() {
    let (home, topic) = (Home::new().await, name("orders"));
    let orders = service(&home, &topic, "MIXED").await;
    let arguments = json!({ "message": { "orderId": "O001" }, "key": "O 001", "headers": { "Trace": "t" }, "messageId": "m-1" });
    let sent = run(&orders, "created", arguments.clone()).await.unwrap();
    assert_eq!((&sent["messageId"], &sent["destination"]), (&json!("m-1"), &json!(topic)));
    assert_eq!(run(&orders, "created", arguments).await.unwrap()["duplicate"], json!(true));
    run(&orders, "created", json!({ "message": 2 })).await.unwrap();
    for _ in 0..2 {
        testkit::eventually("both are shown", Duration::from_secs(40), async || {
            messages(&run(&orders, "created_peek", json!({})).await.unwrap()).len() == 2
        })
        .await;
    }
    let taken = receive(&orders, 2).await;
    assert_eq!(taken.len(), 2, "{taken:?}");
    let first = taken.iter().find(|one| one["messageId"] == json!("m-1")).unwrap();
    assert_eq!((&first["message"], &first["key"]), (&json!({ "orderId": "O001" }), &json!("O 001")));
    assert_eq!(first["headers"], json!({ "trace": "t" }));
    assert!(first["publishedAt"].is_string(), "{first}");
    assert_eq!(messages(&run(&orders, "created_receive", json!({})).await.unwrap()), Vec::<Value>::new());
}

/// MQ-2, MQ-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_messages_back_each_for_its_own_time() {
    let (home, topic) = (Home::new().await, name("orders"));
    let orders = service(&home, &topic, "MIXED").await;
    let begin = Instant::now();
    for delay in [4000, 2000] {
        let sent = run(&orders, "created", json!({ "message": delay, "delay": delay })).await.unwrap();
        assert!(sent["availableAt"].is_string(), "{sent}");
    }
    for delay in [2000, 4000] {
        let taken = receive(&orders, 1).await;
        assert_eq!(taken[0]["message"], json!(delay));
        assert!(begin.elapsed() >= Duration::from_millis(delay), "early, after {:?}", begin.elapsed());
    }
    let plain = service(&home, &name("orders"), "NORMAL").await;
    let refused = run(&plain, "created", json!({ "message": 1, "delay": 1000 })).await.unwrap_err();
    assert_eq!((refused.kind(), refused.parameter()), (ErrorKind::InvalidInput, Some("delay")));
}

/// MQ-3, MQ-6, MQ-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_reader_had_comes_to_another() {
    let (home, topic) = (Home::new().await, name("orders"));
    let orders = service(&home, &topic, "MIXED").await;
    let sent = run(&orders, "created", json!({ "message": 1 })).await.unwrap();
    let mute = Recorder::judging(|_| None);
    let killed = Listening::start(&orders, cx(), wanted("group.of.tests"), mute.clone());
    mute.wait_for(1).await;
    killed.kill().await;
    let sink = Recorder::taking();
    let other = home.open(settings(&url(), &tools(&topic)));
    let listening = Listening::start(&other, cx(), wanted("group.of.tests"), sink.clone());
    testkit::eventually("it comes again", Duration::from_secs(60), async || !sink.got().is_empty()).await;
    listening.stop().await.unwrap();
    let got = sink.got();
    assert_eq!((json!(got[0].id), got[0].attempt), (sent["messageId"].clone(), 2));
}

/// MQ-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_messages_become_dead_letters_and_the_rest_goes_on() {
    let (home, topic) = (Home::new().await, name("orders"));
    let orders = service(&home, &topic, "MIXED").await;
    let raw = home.open(settings(&url(), &json!([{ "id": "created", "topic": topic, "format": "base64" }])));
    for bytes in ["//4=", "ew=="] {
        run(&raw, "created", json!({ "message": bytes })).await.unwrap();
    }
    run(&orders, "created", json!({ "message": { "fine": true } })).await.unwrap();
    let group = name("dead");
    let sink = Recorder::judging(|_| Some(Verdict::Taken));
    let listening = Listening::start(&orders, cx(), wanted(&group), sink.clone());
    sink.wait_for(1).await;
    assert_eq!(sink.got()[0].message.get(), r#"{"fine":true}"#);
    let letters =
        json!([{ "id": "created", "topic": format!("%DLQ%{group}"), "format": "base64", "receive": true }]);
    let letters = home.open(settings(&url(), &letters));
    testkit::eventually("there are dead letters", Duration::from_secs(30), async || {
        letters.health(&cx()).await.is_ok()
    })
    .await;
    let dead: Vec<_> = receive(&letters, 2).await.iter().map(|one| one["message"].clone()).collect();
    assert!(dead.contains(&json!("//4=")) && dead.contains(&json!("ew==")), "{dead:?}");
    listening.stop().await.unwrap();
}

/// MQ-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_breaks_is_made_anew_and_doubt_is_told() {
    let (home, topic) = (Home::new().await, name("orders"));
    service(&home, &topic, "MIXED").await;
    let proxy = TcpProxy::start(url()).await;
    let orders = home.open(settings(&proxy.address().to_string(), &tools(&topic)));
    assert_breaks_and_comes_back(&orders, &proxy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn says_what_is_wrong_with_address_sign_in_and_place() {
    let (home, topic) = (Home::new().await, name("orders"));
    service(&home, &topic, "MIXED").await;
    let with = |changes: Value| {
        let mut settings = settings(&url(), &tools(&topic));
        settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        home.open(settings)
    };
    let error = with(json!({ "password": "wrong-password" })).health(&cx()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream, "{error:?}");
    assert!(error.is_about_credentials() && error.message().contains("'password'"), "{error}");
    assert!(!format!("{error:?}").contains("wrong-password"));
    let error = with(json!({ "allow_private_network": false })).health(&cx()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "loopback is refused: {error}");
    let missing = name("missing");
    let strict = with(json!({ "tools": tools(&missing) }));
    for error in [
        strict.health(&cx()).await.unwrap_err(),
        run(&strict, "created", json!({ "message": 1 })).await.unwrap_err(),
        run(&strict, "created_receive", json!({})).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Missing, "{error:?}");
        assert!(error.message().contains(&missing), "{error}");
    }
}
