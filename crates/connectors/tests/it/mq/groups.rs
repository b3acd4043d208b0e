//! Readers that share a subscription: they join and leave, and each message is one run.

use super::support::{Home, cx, name, needed, run};
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use testkit::recorder::{Listening, Recorder};
use testkit::tcp_proxy::TcpProxy;
use tool::{Start, Subscription};

const PLENTY: Duration = Duration::from_secs(60);

/// The runs that a journal would have: one for each id, however often a message is delivered.
fn runs(sink: &Recorder) -> BTreeSet<String> {
    sink.ids().into_iter().collect()
}

/// Each reader is a service of its own, as in another process.
async fn come_and_go(broker: &str, url: &str, place: &str) {
    let (home, place_name) = (Home::new().await, name("orders"));
    let tools = json!([{ "id": "created", place: place_name, "receive": true }]);
    let open = || home.service(broker, url, &tools);
    let wanted = || Subscription { from: Start::Earliest, ..Subscription::new("created", "group") };
    let (orders, sink) = (open(), Recorder::taking());
    let steady = Listening::start(&orders, cx(), wanted(), sink.clone());
    let mut sent = BTreeSet::new();
    for _ in 0..20 {
        let passing = Listening::start(&open(), cx(), wanted(), sink.clone());
        for _ in 0..5 {
            let answer = run(&orders, "created", json!({ "message": sent.len() })).await.unwrap();
            sent.insert(answer["messageId"].as_str().unwrap().to_owned());
        }
        testkit::eventually("it goes on", PLENTY, async || runs(&sink).len() + 4 >= sent.len()).await;
        passing.stop().await.unwrap();
    }
    testkit::eventually("all are runs", PLENTY, async || runs(&sink).len() >= sent.len()).await;
    steady.stop().await.unwrap();
    assert_eq!(runs(&sink), sent);
    // And all are acknowledged: nothing comes again.
    assert_eq!(sent.len(), 100);
    let late = Recorder::taking();
    let again = Listening::start(&open(), cx(), wanted(), late.clone());
    tokio::time::sleep(Duration::from_secs(2)).await;
    again.stop().await.unwrap();
    assert_eq!(late.ids(), Vec::<String>::new());
}

/// MQ-7: F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_of_redis_runs_once_while_readers_come_and_go() {
    come_and_go("redis", &needed("MCP_TEST_REDIS_URL"), "stream").await;
}

/// MQ-7: F19
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_of_rabbitmq_runs_once_while_readers_come_and_go() {
    come_and_go("rabbitmq", &needed("MCP_TEST_RABBITMQ_URL"), "queue").await;
}

/// MQ-7: F19, whoever stops before it has begun leaves nobody behind that gets messages and reads none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_stops_while_it_joins_keeps_no_message_from_others() {
    let (home, queue) = (Home::new().await, name("orders"));
    let tools = json!([{ "id": "created", "queue": queue, "receive": true }]);
    let url = needed("MCP_TEST_RABBITMQ_URL");
    let host = url.split(['@', '/']).find(|part| part.starts_with("127.")).unwrap();
    let proxy = TcpProxy::start(host).await;
    proxy.delay(Duration::from_millis(50));
    let orders = home.service("rabbitmq", &url, &tools);
    let wanted = || Subscription { from: Start::Earliest, ..Subscription::new("created", "group") };
    let steady = Recorder::taking();
    let listening = Listening::start(&orders, cx(), wanted(), steady.clone());
    let through = url.replace(host, &proxy.address().to_string());
    for at in 1..=16 {
        let joining =
            Listening::start(&home.service("rabbitmq", &through, &tools), cx(), wanted(), Recorder::taking());
        tokio::time::sleep(Duration::from_millis(50 * at)).await;
        joining.stop().await.unwrap();
    }
    testkit::eventually("all are gone", Duration::from_secs(10), async || proxy.open() == 0).await;
    for number in 0..40 {
        run(&orders, "created", json!({ "message": number })).await.unwrap();
    }
    steady.wait_for(40).await;
    listening.stop().await.unwrap();
}
