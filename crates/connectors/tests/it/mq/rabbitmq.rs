//! RabbitMQ: queues and exchanges of a real server.

use super::support::{Home, assert_leaves_a_dead_connection, cx, name, needed, run, run_raw, run_within};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::conformance::context;
use testkit::recorder::{Listening, Recorder};
use testkit::tcp_proxy::TcpProxy;
use tool::{Context, Door, ErrorKind, Subscription, TenantId, Verdict};

fn url() -> String {
    needed("MCP_TEST_RABBITMQ_URL")
}

fn host() -> String {
    url().split_once('@').unwrap().1.to_owned()
}

fn queue_tools(queue: &str) -> Value {
    json!([{ "id": "created", "queue": queue, "peek": true, "receive": true },
           { "id": "failed", "queue": format!("{queue}.dead"), "receive": true }])
}

fn wanted() -> Subscription {
    Subscription::new("created", &name("group"))
}

/// Asks the server itself.
fn ctl(arguments: &[&str]) -> String {
    let output = Command::new(needed("MCP_TEST_RABBITMQCTL")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// MQ-1, MQ-4, MQ-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishes_shows_and_takes() {
    let (home, queue) = (Home::new().await, name("orders"));
    let orders = home.service("rabbitmq", &url(), &queue_tools(&queue));
    let arguments = json!({ "message": { "orderId": "O001" }, "key": "O001", "headers": { "Trace": "t" }, "messageId": "m-1" });
    let sent = run(&orders, "created", arguments.clone()).await.unwrap();
    assert_eq!((&sent["messageId"], &sent["destination"]), (&json!("m-1"), &json!(queue)));
    assert_eq!(run(&orders, "created", arguments).await.unwrap()["duplicate"], json!(true));
    run(&orders, "created", json!({ "message": 2 })).await.unwrap();
    for _ in 0..2 {
        let shown = run(&orders, "created_peek", json!({})).await.unwrap();
        let shown = shown["messages"].as_array().unwrap().clone();
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert_eq!((&shown[0]["messageId"], &shown[0]["key"]), (&json!("m-1"), &json!("O001")));
        assert_eq!((&shown[0]["headers"], &shown[1]["message"]), (&json!({ "trace": "t" }), &json!(2)));
    }
    let taken = run(&orders, "created_receive", json!({ "max": 10 })).await.unwrap();
    assert_eq!(taken["messages"].as_array().unwrap().len(), 2);
    assert_eq!(run(&orders, "created_receive", json!({})).await.unwrap(), json!({ "messages": [] }));
}

/// MQ-2, MQ-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_messages_back_each_for_its_own_time() {
    let (home, queue) = (Home::new().await, name("orders"));
    let orders = home.service("rabbitmq", &url(), &queue_tools(&queue));
    let begin = Instant::now();
    for delay in [1500, 500] {
        run(&orders, "created", json!({ "message": delay, "delay": delay })).await.unwrap();
    }
    for delay in [500, 1500] {
        let taken = run(&orders, "created_receive", json!({ "waitMs": 10_000 })).await.unwrap();
        assert_eq!(taken["messages"][0]["message"], json!(delay));
        assert!(begin.elapsed() >= Duration::from_millis(delay), "early, after {:?}", begin.elapsed());
    }
    let error = run(&orders, "created", json!({ "message": 1, "delay": 2_592_000_000_u64 })).await;
    error.unwrap();
}

/// MQ-3, MQ-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_without_a_queue_is_missing_and_with_one_delivers() {
    let (home, exchange) = (Home::new().await, name("orders"));
    let tools = json!([{ "id": "created", "exchange": exchange, "routing_key": "order.created" }]);
    let orders = home.service("rabbitmq", &url(), &tools);
    let lost = run(&orders, "created", json!({ "message": 1, "messageId": "m" })).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::Missing, "{lost}");
    let sink = Recorder::taking();
    let listening = Listening::start(&orders, cx(), wanted(), sink.clone());
    testkit::eventually("a queue is bound", Duration::from_secs(10), async || {
        // What surely was not published may be tried again under the same id.
        run(&orders, "created", json!({ "message": 1, "messageId": "m" })).await.is_ok()
    })
    .await;
    sink.wait_for(1).await;
    assert_eq!(sink.ids(), ["m"]);
    listening.stop().await.unwrap();
}

/// MQ-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_keep_their_reason() {
    let (home, queue) = (Home::new().await, name("orders"));
    let orders = home.service("rabbitmq", &url(), &queue_tools(&queue));
    run(&orders, "created", json!({ "message": "bad", "key": "k" })).await.unwrap();
    let sink = Recorder::judging(|_| Some(Verdict::Again(Duration::from_millis(50))));
    let listening =
        Listening::start(&orders, cx(), Subscription { max_attempts: 3, ..wanted() }, sink.clone());
    sink.wait_for(3).await;
    let dead = run(&orders, "failed_receive", json!({ "waitMs": 10_000 })).await.unwrap();
    listening.stop().await.unwrap();
    let dead = &dead["messages"][0];
    assert_eq!((&dead["message"], &dead["key"]), (&json!("bad"), &json!("k")));
    assert_eq!(dead["headers"]["x-dead-reason"], json!("it failed 3 times"));
}

/// MQ-8: what cannot be moved to its dead letters keeps its place and no other, and is moved as soon as that can be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_letter_without_a_queue_waits_for_one() {
    let (home, queue) = (Home::new().await, name("orders"));
    let lenient = home.service("rabbitmq", &url(), &queue_tools(&queue));
    let strict = home.open(json!({ "broker": "rabbitmq", "connection_string": url(), "declare": false,
        "allow_private_network": true, "tools": queue_tools(&queue) }));
    let publish =
        async |message: Value| run(&lenient, "created", json!({ "message": message })).await.unwrap();
    for _ in 0..3 {
        publish(json!("bad")).await;
    }
    publish(json!("good")).await;
    let sink = Recorder::judging(|delivery| match delivery.message.get() {
        r#""bad""# => Some(Verdict::Dead("it is bad".to_owned())),
        _ => Some(Verdict::Taken),
    });
    let good = || sink.got().iter().filter(|delivery| delivery.message.get() == r#""good""#).count();
    let listening =
        Listening::start(&strict, cx(), Subscription { max_in_flight: 4, ..wanted() }, sink.clone());
    sink.wait_for(4).await;
    publish(json!("bad")).await;
    sink.wait_for(5).await;
    publish(json!("good")).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(good(), 1, "all places are taken");
    let none = run(&lenient, "failed_receive", json!({})).await.unwrap();
    assert_eq!(none["messages"], json!([]));
    testkit::eventually("it goes on", Duration::from_secs(30), async || good() == 2).await;
    let mut dead = 0;
    testkit::eventually("four are dead", Duration::from_secs(30), async || {
        let more = run(&lenient, "failed_receive", json!({ "max": 10 })).await.unwrap();
        dead += more["messages"].as_array().unwrap().len();
        dead == 4
    })
    .await;
    listening.stop().await.unwrap();
}

/// MQ-6: F17, where the user of the broker may make no queue that delays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_put_off_at_the_broker_waits_here() {
    let (home, queue) = (Home::new().await, name("orders"));
    let orders = home.service("rabbitmq", &url(), &queue_tools(&queue));
    let user = name("reader");
    ctl(&["add_user", &user, "secret"]);
    ctl(&["set_permissions", &user, "^$", ".*", ".*"]);
    let restricted = home.service(
        "rabbitmq",
        &url().replace("guest:guest", &format!("{user}:secret")),
        &queue_tools(&queue),
    );
    for number in 0..12 {
        run(&orders, "created", json!({ "message": number })).await.unwrap();
    }
    let is_up = Arc::new(AtomicBool::new(false));
    let up = is_up.clone();
    let sink = Recorder::judging(move |_| {
        let is_up = up.load(Ordering::SeqCst);
        Some(if is_up { Verdict::Taken } else { Verdict::Again(Duration::from_millis(50)) })
    });
    let wanted = Subscription { max_in_flight: 4, max_attempts: u32::MAX, ..wanted() };
    let listening = Listening::start(&restricted, cx(), wanted, sink.clone());
    sink.wait_for(20).await;
    let seen: BTreeSet<_> = sink.ids().into_iter().collect();
    assert_eq!(seen.len(), 4, "no more than that are in memory");
    is_up.store(true, Ordering::SeqCst);
    testkit::eventually("all are runs", Duration::from_secs(30), async || {
        sink.ids().into_iter().collect::<BTreeSet<_>>().len() == 12
    })
    .await;
    listening.stop().await.unwrap();
    assert_eq!(run(&orders, "created_receive", json!({})).await.unwrap(), json!({ "messages": [] }));
    ctl(&["delete_user", &user]);
}

/// MQ-2, MQ-9: an exchange is asked for a queue when the message is due, since RabbitMQ tells nobody what became of it then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delayed_message_for_an_exchange_waits_as_a_call_that_is_made_later() {
    let (home, exchange) = (Home::new().await, name("orders"));
    let tools = json!([{ "id": "created", "exchange": exchange, "routing_key": "order.created" }]);
    let orders = home.service("rabbitmq", &url(), &tools);
    let sent = run(&orders, "created", json!({ "message": { "a": 1 }, "delay": 200 })).await.unwrap();
    assert!(sent["availableAt"].is_string(), "{sent}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    let due = home.queues.later().due(&TenantId::default_tenant(), "mq://orders").await.unwrap();
    let kept: Vec<_> = due.iter().map(|call| call.arguments.get()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let arguments: Value = serde_json::from_str(kept[0]).unwrap();
    let ours = Context { door: Door::System, ..cx() };
    let lost = run_within(&orders, &ours, "created", arguments).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::Missing, "{lost}");
}

/// MQ-8, MQ-11: a look is no attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_looks_takes_no_attempt_from_a_message() {
    let (home, queue) = (Home::new().await, name("orders"));
    let orders = home.service("rabbitmq", &url(), &queue_tools(&queue));
    run(&orders, "created", json!({ "message": 1 })).await.unwrap();
    run(&orders, "created_peek", json!({})).await.unwrap();
    let sink = Recorder::judging(|_| Some(Verdict::Again(Duration::from_millis(50))));
    let wanted = Subscription { max_attempts: 2, ..wanted() };
    let listening = Listening::start(&orders, cx(), wanted, sink.clone());
    let dead = run(&orders, "failed_receive", json!({ "waitMs": 10_000 })).await.unwrap();
    listening.stop().await.unwrap();
    assert_eq!(dead["messages"][0]["headers"]["x-dead-reason"], json!("it failed 2 times"));
    let attempts: Vec<_> = sink.got().iter().map(|delivery| delivery.attempt).collect();
    assert_eq!(attempts, [1, 2]);
}

/// MQ-9: F13, the connection is cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_connection_leaves_doubt_and_the_next_call_connects_again() {
    let (home, queue) = (Home::new().await, name("orders"));
    let proxy = TcpProxy::start(host()).await;
    let through = url().replace(&host(), &proxy.address().to_string());
    let orders = home.service("rabbitmq", &through, &queue_tools(&queue));
    run(&orders, "created", json!({ "message": 1 })).await.unwrap();
    proxy.stall();
    let cx = context(Duration::from_secs(20));
    let (doubt, ()) =
        tokio::join!(run_within(&orders, &cx, "created", json!({ "message": 2, "messageId": "m" })), async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            proxy.cut();
        });
    let doubt = doubt.unwrap_err();
    assert_eq!((doubt.kind(), doubt.is_retryable()), (ErrorKind::Unavailable, false), "{doubt:?}");
    assert!(doubt.message().contains("may have been published"), "{doubt}");
    proxy.restore();
    testkit::eventually("it connects again", Duration::from_secs(10), async || {
        run(&orders, "created", json!({ "message": 3 })).await.is_ok()
    })
    .await;
    let again = run(&orders, "created", json!({ "message": 2, "messageId": "m" })).await.unwrap_err();
    assert!(again.message().contains("nothing was sent now"), "{again}");
}

/// MQ-9: F14, the server is short of memory. All connections notice, so that no other test runs beside it (`.config/nextest.toml`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_nothing_is_a_time_out_and_health_says_so() {
    let (home, queue) = (Home::new().await, name("orders"));
    let orders = home.service("rabbitmq", &url(), &queue_tools(&queue));
    run(&orders, "created", json!({ "message": 1 })).await.unwrap();
    ctl(&["set_vm_memory_high_watermark", "absolute", "1"]);
    let begin = Instant::now();
    let late = async {
        loop {
            let cx = context(Duration::from_millis(700));
            let result = run_within(&orders, &cx, "created", json!({ "message": 2 })).await;
            if result.is_err() || begin.elapsed() > Duration::from_secs(20) {
                return result;
            }
        }
    }
    .await;
    let health = orders.health(&context(Duration::from_secs(2))).await;
    ctl(&["set_vm_memory_high_watermark", "0.4"]);
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Timeout);
    assert!(health.is_err(), "health must fail");
    testkit::eventually("it goes on", Duration::from_secs(20), async || {
        run(&orders, "created", json!({ "message": 3 })).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn says_what_is_wrong_with_address_sign_in_and_place() {
    let (home, queue) = (Home::new().await, name("orders"));
    let wrong = url().replace("guest:guest", "guest:wrong-password");
    let error = home.service("rabbitmq", &wrong, &queue_tools(&queue)).health(&cx()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream, "{error:?}");
    assert!(error.message().contains("'connection_string'") && error.is_about_credentials(), "{error}");
    let of = |more: Value| {
        let mut settings =
            json!({ "broker": "rabbitmq", "connection_string": url(), "tools": queue_tools(&queue) });
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        home.open(settings)
    };
    let error = of(json!({})).health(&cx()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "loopback is refused: {error}");
    let strict = of(json!({ "allow_private_network": true, "declare": false }));
    assert_eq!(strict.health(&cx()).await.unwrap_err().kind(), ErrorKind::Missing);
    let error = run(&strict, "created", json!({ "message": 1 })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing, "{error}");
}

/// MQ-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_answers_no_more_is_not_used_again() {
    let (home, queue) = (Home::new().await, name("orders"));
    let proxy = TcpProxy::start(host()).await;
    let through = url().replace(&host(), &proxy.address().to_string());
    let orders = home.service("rabbitmq", &through, &queue_tools(&queue));
    assert_leaves_a_dead_connection(&orders, &proxy).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_keep_their_digits() {
    let (home, queue) = (Home::new().await, name("orders"));
    let orders = home.service("rabbitmq", &url(), &queue_tools(&queue));
    let exact = r#"{"id":12345678901234567890123,"price":1.10}"#;
    run_raw(&orders, "created", &format!(r#"{{"message":{exact}}}"#)).await;
    for tool in ["created_peek", "created_receive"] {
        let shown = run_raw(&orders, tool, "{}").await;
        assert!(shown.contains(exact), "{tool}: {shown}");
    }
}
