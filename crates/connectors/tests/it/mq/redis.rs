//! Redis: streams and channels of a real server.

use super::support::{
    Home, assert_breaks_and_comes_back, assert_leaves_a_dead_connection, cx, name, needed, run, run_raw,
    run_within,
};
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use redis::streams::{StreamInfoConsumersReply, StreamRangeReply};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::recorder::{Listening, Recorder};
use testkit::tcp_proxy::TcpProxy;
use tool::{Context, Door, ErrorKind, Start, Subscription, Verdict};

fn url() -> String {
    needed("MCP_TEST_REDIS_URL")
}

/// Past our connector, for others who use the same server.
async fn others() -> MultiplexedConnection {
    redis::Client::open(url()).unwrap().get_multiplexed_async_connection().await.unwrap()
}

fn stream_tool(stream: &str) -> Value {
    json!([{ "id": "created", "stream": stream, "peek": true, "receive": true },
           { "id": "failed", "stream": format!("{stream}:dead"), "peek": true }])
}

fn wanted() -> Subscription {
    Subscription { from: Start::Earliest, ..Subscription::new("created", "group") }
}

fn host() -> String {
    let url = url();
    let (_, host) = url.split_once('@').unwrap();
    host.trim_end_matches("/0").to_owned()
}

fn through(proxy: &TcpProxy) -> String {
    url().replace(&host(), &proxy.address().to_string())
}

/// MQ-1, MQ-4, MQ-11
#[tokio::test]
async fn others_read_what_we_publish_to_a_stream_and_we_what_they_do() {
    let (home, stream) = (Home::new().await, name("orders"));
    let orders = home.service("redis", &url(), &stream_tool(&stream));
    let arguments = json!({ "message": { "orderId": "O001" }, "key": "O001", "headers": { "Trace": "t" }, "messageId": "m-1" });
    let sent = run(&orders, "created", arguments.clone()).await.unwrap();
    assert_eq!((&sent["messageId"], &sent["destination"]), (&json!("m-1"), &json!(stream)));
    let again = run(&orders, "created", arguments).await.unwrap();
    assert_eq!((&again["duplicate"], &again["position"]), (&json!(true), &sent["position"]));
    let mut others = others().await;
    let found: StreamRangeReply = others.xrange_all(&stream).await.unwrap();
    assert_eq!(found.ids.len(), 1);
    let entry = &found.ids[0];
    assert_eq!(entry.get::<String>("message").unwrap(), r#"{"orderId":"O001"}"#);
    assert_eq!(entry.get::<String>("message-id").unwrap(), "m-1");
    assert_eq!(
        (entry.get::<String>("trace").unwrap(), json!(entry.id)),
        ("t".to_owned(), sent["position"].clone())
    );
    let _: String = others.xadd(&stream, "*", &[("sensor", "7"), ("celsius", "21")]).await.unwrap();
    let shown = run(&orders, "created_peek", json!({})).await.unwrap();
    assert_eq!(shown["messages"][0]["key"], json!("O001"));
    let foreign = &shown["messages"][1];
    assert_eq!(foreign["message"]["celsius"], json!("21"), "{foreign}");
    assert_eq!(foreign["messageId"], foreign["position"]);
    let taken = run(&orders, "created_receive", json!({ "max": 10 })).await.unwrap();
    assert_eq!(taken["messages"].as_array().unwrap().len(), 2);
    assert_eq!(run(&orders, "created_receive", json!({})).await.unwrap(), json!({ "messages": [] }));
    assert_eq!(run(&orders, "created_peek", json!({})).await.unwrap(), json!({ "messages": [] }));
    // Other groups have not read it yet, so that the stream keeps it.
    let left: usize = others.xlen(&stream).await.unwrap();
    assert_eq!(left, 2);
}

/// MQ-3, MQ-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_channel_reaches_those_who_listen_now() {
    let (home, channel) = (Home::new().await, name("news"));
    let news = home.service("redis", &url(), &json!([{ "id": "created", "channel": channel }]));
    let sent = run(&news, "created", json!({ "message": { "n": 1 } })).await.unwrap();
    assert_eq!((&sent["receivers"], sent.get("position")), (&json!(0), None));
    let sink = Recorder::taking();
    let listening = [(); 2].map(|()| Listening::start(&news, cx(), wanted(), sink.clone()));
    testkit::eventually("one of the two listens", Duration::from_secs(10), async || {
        run(&news, "created", json!({ "message": { "n": 2 } })).await.unwrap()["receivers"] == json!(1)
    })
    .await;
    sink.wait_for(1).await;
    assert_eq!(sink.got()[0].message.get(), r#"{"n":2}"#);
    let refused = run(&news, "created", json!({ "message": 1, "headers": { "a": "b" } })).await.unwrap_err();
    assert_eq!((refused.kind(), refused.parameter()), (ErrorKind::InvalidInput, Some("headers")));
    for listening in listening {
        listening.stop().await.unwrap();
    }
}

/// MQ-6, MQ-7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_reader_had_comes_to_another() {
    let (home, stream) = (Home::new().await, name("orders"));
    let orders = home.service("redis", &url(), &stream_tool(&stream));
    let sent = run(&orders, "created", json!({ "message": 1 })).await.unwrap();
    let mute = Recorder::judging(|_| None);
    let killed = Listening::start(&orders, cx(), wanted(), mute.clone());
    mute.wait_for(1).await;
    killed.kill().await;
    let sink = Recorder::taking();
    let listening =
        Listening::start(&home.service("redis", &url(), &stream_tool(&stream)), cx(), wanted(), sink.clone());
    sink.wait_for(1).await;
    listening.stop().await.unwrap();
    let got = sink.got();
    assert_eq!((json!(got[0].id), got[0].attempt), (sent["messageId"].clone(), 2));
    let pending: redis::streams::StreamPendingReply =
        others().await.xpending(&stream, "group").await.unwrap();
    assert_eq!(pending.count(), 0, "it is acknowledged");
}

/// Redis keeps every consumer that ever read: whoever stops deletes itself, unless somebody has to take over what it had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_stop_leave_no_consumer_behind_and_lose_nothing() {
    let (home, stream) = (Home::new().await, name("orders"));
    let orders = home.service("redis", &url(), &stream_tool(&stream));
    let mut others = others().await;
    for round in 1..=3 {
        run(&orders, "created", json!({ "message": round })).await.unwrap();
        let sink = Recorder::taking();
        let listening = Listening::start(&orders, cx(), wanted(), sink.clone());
        sink.wait_for(1).await;
        listening.stop().await.unwrap();
        let left: StreamInfoConsumersReply = others.xinfo_consumers(&stream, "group").await.unwrap();
        assert_eq!(left.consumers.len(), 0, "after {round} rounds");
    }
    run(&orders, "created", json!({ "message": "kept" })).await.unwrap();
    let mute = Recorder::judging(|_| None);
    let listening = Listening::start(&orders, cx(), wanted(), mute.clone());
    mute.wait_for(1).await;
    listening.stop().await.unwrap();
    let left: StreamInfoConsumersReply = others.xinfo_consumers(&stream, "group").await.unwrap();
    assert_eq!((left.consumers.len(), left.consumers[0].pending), (1, 1), "it is there for others");
    let sink = Recorder::taking();
    let listening = Listening::start(&orders, cx(), wanted(), sink.clone());
    sink.wait_for(1).await;
    listening.stop().await.unwrap();
    assert_eq!(sink.got()[0].message.get(), r#""kept""#);
    // One that was killed is forgotten when nobody has heard of it for long.
    testkit::eventually("all are gone", Duration::from_secs(40), async || {
        Listening::start(&orders, cx(), wanted(), Recorder::taking()).stop().await.unwrap();
        let left: StreamInfoConsumersReply = others.clone().xinfo_consumers(&stream, "group").await.unwrap();
        left.consumers.is_empty()
    })
    .await;
}

/// MQ-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_entries_become_dead_letters_and_the_rest_goes_on() {
    let (home, stream) = (Home::new().await, name("orders"));
    let orders = home.service("redis", &url(), &stream_tool(&stream));
    let mut others = others().await;
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for bytes in [&b"\xff\xfe"[..], b"{", deep.as_bytes(), b""] {
        let _: String = others.xadd(&stream, "*", &[("message", bytes)]).await.unwrap();
    }
    run(&orders, "created", json!({ "message": { "fine": true } })).await.unwrap();
    let sink = Recorder::judging(|_| Some(Verdict::Taken));
    let listening = Listening::start(&orders, cx(), wanted(), sink.clone());
    sink.wait_for(1).await;
    listening.stop().await.unwrap();
    assert_eq!(sink.got()[0].message.get(), r#"{"fine":true}"#);
    let dead = run(&orders, "failed_peek", json!({})).await.unwrap();
    let dead = dead["messages"].as_array().unwrap();
    assert_eq!(dead.len(), 4);
    for letter in dead {
        let reason = letter["headers"]["x-dead-reason"].as_str().unwrap();
        assert!(reason.contains("is no JSON"), "{reason}");
    }
}

/// MQ-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_breaks_is_made_anew_and_doubt_is_told() {
    let (home, stream) = (Home::new().await, name("orders"));
    let proxy = TcpProxy::start(host()).await;
    let orders = home.service("redis", &through(&proxy), &stream_tool(&stream));
    assert_breaks_and_comes_back(&orders, &proxy).await;
}

#[tokio::test]
async fn says_what_is_wrong_with_address_sign_in_and_place() {
    let (home, stream) = (Home::new().await, name("orders"));
    let wrong = url().replace("tester-password", "wrong-password");
    let error = home.service("redis", &wrong, &stream_tool(&stream)).health(&cx()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream);
    assert!(error.message().contains("'connection_string'") && error.is_about_credentials(), "{error}");
    let settings = json!({ "broker": "redis", "connection_string": url(), "tools": stream_tool(&stream) });
    let error = home.open(settings).health(&cx()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "loopback is refused: {error}");
    let settings = json!({ "broker": "redis", "connection_string": url(), "declare": false,
        "allow_private_network": true, "tools": stream_tool(&stream) });
    let strict = home.open(settings);
    assert_eq!(strict.health(&cx()).await.unwrap_err().kind(), ErrorKind::Missing);
    for (tool, arguments) in [
        ("created", json!({ "message": 1 })),
        ("created", json!({ "message": 1, "delay": 60_000 })),
        ("created_peek", json!({})),
        ("created_receive", json!({})),
    ] {
        let error = run(&strict, tool, arguments.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Missing, "{tool} {arguments}: {error}");
    }
    let _: () = others().await.set(&stream, "a text").await.unwrap();
    let error = run(&strict, "created", json!({ "message": 1 })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing, "{error}");
}

/// MQ-2
#[tokio::test]
async fn a_delayed_message_waits_as_a_call_that_is_made_later() {
    let (home, stream) = (Home::new().await, name("orders"));
    let orders = home.service("redis", &url(), &stream_tool(&stream));
    let sent =
        run(&orders, "created", json!({ "message": { "a": 1 }, "delay": 60_000, "key": "k" })).await.unwrap();
    assert!(sent["availableAt"].is_string() && sent.get("position").is_none(), "{sent}");
    let left: usize = others().await.xlen(&stream).await.unwrap();
    assert_eq!(left, 0);
    // What the scheduler will call: the id travels along, and is not taken for a repetition.
    let id = sent["messageId"].as_str().unwrap();
    let made = json!({ "message": { "a": 1 }, "key": "k", "headers": { "message-id": id } });
    for _ in 0..2 {
        let ours = Context { door: Door::System, ..cx() };
        assert_eq!(
            run_within(&orders, &ours, "created", made.clone()).await.unwrap()["messageId"],
            json!(id)
        );
    }
    let left: usize = others().await.xlen(&stream).await.unwrap();
    assert_eq!(left, 2, "at least once");
}

/// MQ-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_answers_no_more_is_not_used_again() {
    let (home, stream) = (Home::new().await, name("orders"));
    let proxy = TcpProxy::start(host()).await;
    let orders = home.service("redis", &through(&proxy), &stream_tool(&stream));
    assert_leaves_a_dead_connection(&orders, &proxy).await;
}

/// A message is what its publisher wrote, with every digit, in both directions.
#[tokio::test]
async fn messages_keep_their_digits() {
    let (home, stream) = (Home::new().await, name("orders"));
    let orders = home.service("redis", &url(), &stream_tool(&stream));
    let exact = r#"{"id":12345678901234567890123,"price":1.10}"#;
    run_raw(&orders, "created", &format!(r#"{{"message":{exact}}}"#)).await;
    let mut others = others().await;
    let found: StreamRangeReply = others.xrange_all(&stream).await.unwrap();
    assert_eq!(found.ids[0].get::<String>("message").unwrap(), exact);
    let theirs = r#"{ "n": 98765432109876543210.10 }"#;
    let _: String = others.xadd(&stream, "*", &[("message", theirs)]).await.unwrap();
    for tool in ["created_peek", "created_receive"] {
        let shown = run_raw(&orders, tool, r#"{"max":10}"#).await;
        assert!(shown.contains(exact) && shown.contains(theirs), "{tool}: {shown}");
    }
}
