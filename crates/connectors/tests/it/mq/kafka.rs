//! Kafka: topics of a broker in this process, which faults can be had of, and of a real one (`make test-brokers`).

use super::support::{Home, cx, name, needed, run};
use krafka::consumer::AutoOffsetReset;
use krafka::testing::FakeBroker;
use krafka::{Kafka, Record};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::recorder::{Listening, Recorder};
use tool::{ErrorKind, Start, Subscription, Verdict};

/// Each test on both brokers.
macro_rules! on_both {
    ($($(#[doc = $doc:literal])* $test:ident),* $(,)?) => {
        mod in_process {
            $($(#[doc = $doc])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let broker = super::FakeBroker::start().await.unwrap();
                super::$test(&broker.bootstrap_servers()).await;
            })*
        }
        mod brokers_tansu {
            $($(#[doc = $doc])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(&super::needed("MCP_TEST_TANSU_URL")).await;
            })*
        }
    };
}

on_both! {
    /// MQ-1, MQ-4, MQ-11
    others_read_what_we_publish_and_we_what_they_do,
    /// MQ-11
    takes_only_what_fits,
    /// MQ-3, MQ-6, MQ-7
    what_was_not_settled_comes_again,
    /// MQ-8
    hostile_records_become_dead_letters_and_the_rest_goes_on,
    /// MQ-2
    a_delayed_message_waits_as_a_call_that_is_made_later,
    says_which_topic_is_missing,
    /// MQ-9
    goes_only_where_the_policy_allows,
}

fn tools(topic: &str) -> Value {
    json!([{ "id": "created", "topic": topic, "peek": true, "receive": true },
           { "id": "failed", "topic": format!("{topic}.dead"), "peek": true }])
}

fn wanted(group: &str) -> Subscription {
    Subscription { from: Start::Earliest, ..Subscription::new("created", group) }
}

/// Past our connector, for others who use the same cluster.
async fn others(servers: &str) -> Kafka {
    Kafka::builder(servers).connect().await.unwrap()
}

async fn others_read_what_we_publish_and_we_what_they_do(servers: &str) {
    let (home, topic) = (Home::new().await, name("orders"));
    let orders = home.service("kafka", servers, &tools(&topic));
    let arguments = json!({ "message": { "orderId": "O001" }, "key": "O001", "headers": { "Trace": "t" }, "messageId": "m-1" });
    let sent = run(&orders, "created", arguments.clone()).await.unwrap();
    assert_eq!((&sent["messageId"], &sent["destination"]), (&json!("m-1"), &json!(topic)));
    let again = run(&orders, "created", arguments).await.unwrap();
    assert_eq!((&again["duplicate"], &again["position"]), (&json!(true), &sent["position"]));

    let others = others(servers).await;
    let reader =
        others.consumer_without_group().auto_offset_reset(AutoOffsetReset::Earliest).build().await.unwrap();
    reader.subscribe([&topic]).await.unwrap();
    let read = tokio::time::timeout(Duration::from_secs(20), reader.recv()).await.unwrap().unwrap().unwrap();
    assert_eq!(read.value_str(), Some(r#"{"orderId":"O001"}"#));
    assert_eq!((read.key_str(), read.header_str("trace")), (Some("O001"), Some("t")));
    assert_eq!(read.header_str("message-id"), Some("m-1"));
    assert_eq!(json!(format!("{}-{}", read.partition, read.offset)), sent["position"]);

    let producer = others.producer().build().await.unwrap();
    let _ = producer.send(Record::new(topic.as_str(), r#"{"celsius":21}"#)).await.unwrap();
    let shown = run(&orders, "created_peek", json!({})).await.unwrap();
    let shown = shown["messages"].as_array().unwrap().clone();
    assert_eq!(shown.len(), 2, "{shown:?}");
    let foreign = shown.iter().find(|shown| shown["message"]["celsius"] == json!(21)).unwrap();
    assert_eq!(foreign["messageId"], json!(format!("{topic}-{}", foreign["position"].as_str().unwrap())));
    let first = run(&orders, "created_receive", json!({ "max": 1 })).await.unwrap();
    let rest = run(&orders, "created_receive", json!({ "max": 10 })).await.unwrap();
    let count = |answer: &Value| answer["messages"].as_array().unwrap().len();
    assert_eq!((count(&first), count(&rest)), (1, 1), "{first} {rest}");
    assert_ne!(first["messages"][0]["position"], rest["messages"][0]["position"]);
    assert_eq!(count(&run(&orders, "created_receive", json!({ "waitMs": 300 })).await.unwrap()), 0);
}

async fn takes_only_what_fits(servers: &str) {
    let home = Home::new().await;
    super::room::takes_only_what_fits(&home.service("kafka", servers, &tools(&name("room")))).await;
}

async fn what_was_not_settled_comes_again(servers: &str) {
    let (home, topic) = (Home::new().await, name("orders"));
    let orders = home.service("kafka", servers, &tools(&topic));
    for n in 0..3 {
        run(&orders, "created", json!({ "message": { "n": n }, "key": "same" })).await.unwrap();
    }
    // The first is never answered for, the others are: whoever comes next gets all of them again.
    let sink =
        Recorder::judging(|delivery| (delivery.message.get() != r#"{"n":0}"#).then_some(Verdict::Taken));
    let killed = Listening::start(&orders, cx(), wanted("group"), sink.clone());
    sink.wait_for(3).await;
    killed.kill().await;
    let sink = Recorder::taking();
    let other = home.service("kafka", servers, &tools(&topic));
    let listening = Listening::start(&other, cx(), wanted("group"), sink.clone());
    sink.wait_for(3).await;
    listening.stop().await.unwrap();
    let mut got: Vec<_> = sink.got().iter().map(|delivery| delivery.message.get().to_owned()).collect();
    got.sort();
    assert_eq!(got, [r#"{"n":0}"#, r#"{"n":1}"#, r#"{"n":2}"#]);
    // And whoever comes then gets what is new alone.
    run(&orders, "created", json!({ "message": { "n": 3 }, "key": "same" })).await.unwrap();
    let sink = Recorder::taking();
    let listening = Listening::start(&other, cx(), wanted("group"), sink.clone());
    sink.wait_for(1).await;
    listening.stop().await.unwrap();
    assert_eq!(sink.got()[0].message.get(), r#"{"n":3}"#);
}

async fn hostile_records_become_dead_letters_and_the_rest_goes_on(servers: &str) {
    let (home, topic) = (Home::new().await, name("orders"));
    let orders = home.service("kafka", servers, &tools(&topic));
    run(&orders, "created", json!({ "message": { "fine": 1 } })).await.unwrap();
    let producer = others(servers).await.producer().build().await.unwrap();
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for bytes in [&b"\xff\xfe"[..], b"{", deep.as_bytes(), b""] {
        let _ = producer
            .send(Record::new(topic.as_str(), bytes.to_vec()).header("x-attempt", "no number"))
            .await
            .unwrap();
    }
    run(&orders, "created", json!({ "message": { "fine": 2 } })).await.unwrap();
    let sink = Recorder::taking();
    let listening = Listening::start(&orders, cx(), wanted("group"), sink.clone());
    sink.wait_for(2).await;
    testkit::eventually("four are dead", Duration::from_secs(20), async || {
        let dead = run(&orders, "failed_peek", json!({})).await.unwrap();
        let dead = dead["messages"].as_array().unwrap();
        let is_said =
            |letter: &Value| letter["headers"]["x-dead-reason"].as_str().unwrap().contains("is no JSON");
        assert!(dead.iter().all(is_said), "{dead:?}");
        dead.len() == 4
    })
    .await;
    listening.stop().await.unwrap();
}

async fn a_delayed_message_waits_as_a_call_that_is_made_later(servers: &str) {
    let (home, topic) = (Home::new().await, name("orders"));
    let orders = home.service("kafka", servers, &tools(&topic));
    let sent = run(&orders, "created", json!({ "message": 1, "delay": 60_000 })).await.unwrap();
    assert!(sent["availableAt"].is_string() && sent.get("position").is_none(), "{sent}");
    let shown = run(&orders, "created_peek", json!({})).await.unwrap();
    assert_eq!(shown["messages"], json!([]));
}

async fn says_which_topic_is_missing(servers: &str) {
    let (home, topic) = (Home::new().await, name("orders"));
    let settings = json!({ "broker": "kafka", "connection_string": servers, "declare": false,
        "allow_private_network": true, "tools": tools(&topic) });
    let strict = home.open(settings);
    assert_eq!(strict.health(&cx()).await.unwrap_err().kind(), ErrorKind::Missing);
    for tool in ["created", "created_peek"] {
        let arguments = if tool == "created" { json!({ "message": 1 }) } else { json!({}) };
        let error = run(&strict, tool, arguments).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing, "{error}");
        assert!(error.message().contains(&topic), "{error}");
    }
}

async fn goes_only_where_the_policy_allows(servers: &str) {
    let (home, topic) = (Home::new().await, name("orders"));
    let open = |allowed: Value| {
        home.open(json!({ "broker": "kafka", "connection_string": servers, "allow_private_network": allowed,
            "tools": tools(&topic), "retry": { "max_attempts": 1 }, "timeout_ms": 5000 }))
    };
    let refused = open(json!(false)).health(&cx()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Denied, "{refused:?}");
    let other = open(json!(["10.0.0.0/8"])).health(&cx()).await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::Denied, "{other:?}");
    let allowed = open(json!(["127.0.0.0/8"]));
    run(&allowed, "created", json!({ "message": 1 })).await.unwrap();
}

/// MQ-11: where a transaction has ended stands in the topic, and is no message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_messages_behind_the_end_of_a_transaction() {
    let broker = FakeBroker::start().await.unwrap();
    let (home, topic) = (Home::new().await, name("orders"));
    assert!(broker.create_topic(&topic, 2));
    let orders = home.service("kafka", &broker.bootstrap_servers(), &tools(&topic));
    let others = others(&broker.bootstrap_servers()).await;
    let producer = others.producer().build_transactional("tx").await.unwrap();
    for number in 0..4 {
        producer.begin().unwrap();
        let _ = producer.send(Record::new(topic.as_str(), number.to_string())).await.unwrap();
        producer.commit().await.unwrap();
    }
    let count = |answer: &Value| answer["messages"].as_array().unwrap().len();
    let mut got = 0;
    while got < 4 {
        got += count(&run(&orders, "created_receive", json!({ "max": 10 })).await.unwrap());
    }
    for tool in ["created_peek", "created_receive", "created_peek", "created_receive"] {
        let begin = Instant::now();
        assert_eq!(count(&run(&orders, tool, json!({})).await.unwrap()), 0);
        assert!(begin.elapsed() < Duration::from_secs(3), "{tool} took {:?}", begin.elapsed());
    }
    let _ = others.producer().build().await.unwrap().send(Record::new(topic.as_str(), "9")).await.unwrap();
    assert_eq!(count(&run(&orders, "created_receive", json!({})).await.unwrap()), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signs_in_and_says_when_that_is_refused() {
    let broker = FakeBroker::start().await.unwrap();
    broker.require_sasl_plain("ana", "right-password");
    let (home, topic) = (Home::new().await, name("orders"));
    let open = |password: &str| {
        home.open(
            json!({ "broker": "kafka", "connection_string": broker.bootstrap_servers(), "sasl": "PLAIN",
            "username": "ana", "password": password, "allow_private_network": true, "tools": tools(&topic),
            "retry": { "max_attempts": 1 } }),
        )
    };
    run(&open("right-password"), "created", json!({ "message": 1 })).await.unwrap();
    let error = open("wrong-password").health(&cx()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream, "{error:?}");
    assert!(error.is_about_credentials() && error.message().contains("'password'"), "{error}");
    assert!(!format!("{error:?}").contains("wrong-password"));
}

#[tokio::test]
async fn refuses_settings_that_cannot_be_meant() {
    let home = Home::new().await;
    let open = |changes: Value| {
        let mut settings = json!({ "broker": "kafka", "connection_string": "h:1", "tools": [] });
        settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        connectors::find("mq").unwrap().open(settings, &home.env).err().map(|error| format!("{error:?}"))
    };
    assert_eq!(open(json!({})), None);
    for (changes, field) in [
        (json!({ "connection_string": "kafka://h" }), "connection_string"),
        (json!({ "username": "ana" }), "sasl"),
        (json!({ "sasl": "PLAIN", "password": "p" }), "username"),
        (json!({ "sasl": "PLAIN", "username": "u" }), "password"),
        (json!({ "sasl": "GSSAPI", "username": "u", "password": "p" }), "sasl"),
        (json!({ "broker": "redis", "connection_string": "redis://h", "username": "u" }), "username"),
        (json!({ "tools": [{ "id": "a", "topic": "no topic" }] }), "topic"),
    ] {
        let refused = open(changes.clone()).unwrap_or_else(|| panic!("{changes} is taken"));
        assert!(refused.contains(field), "{changes}: {refused}");
    }
}
