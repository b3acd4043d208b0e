//! Readers of a topic that share it as a group: on a coordinator in this process, and on a real broker (`make test-brokers`).

use super::kafka_coordinator::GroupBroker;
use super::support::{Home, cx, name, needed, run};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use testkit::conformance::triggers;
use testkit::recorder::{Listening, Recorder};
use tool::{Connector, Delivery, Sink, Start, Subscription, Verdict};

const PLENTY: Duration = Duration::from_secs(60);

async fn triggers_conform(servers: &str) {
    let home = Home::new().await;
    let tools: Value = json!([{ "id": "created", "topic": name("orders"), "receive": true }]);
    let connector: Arc<dyn Connector> = home.service("kafka", servers, &tools);
    triggers::check(&triggers::Source { connector, tool: "created" }).await;
}

/// MQ-3, MQ-4, MQ-7, MQ-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn triggers_of_kafka_conform() {
    let broker = GroupBroker::start().await;
    triggers_conform(&broker.address).await;
}

/// MQ-3, MQ-4, MQ-7, MQ-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn brokers_triggers_of_kafka_conform() {
    triggers_conform(&needed("MCP_TEST_TANSU_URL")).await;
}

/// Takes everything, and its time.
struct Slow {
    recorder: Arc<Recorder>,
    work: Duration,
}

#[async_trait]
impl Sink for Slow {
    async fn take(&self, delivery: Delivery) -> Verdict {
        tokio::time::sleep(self.work).await;
        self.recorder.take(delivery).await
    }
}

/// MQ-7: F19, of one service and so of one client: nobody is taken for gone while others join, and what somebody is at work
/// on when a partition goes to somebody else comes to nobody a second time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_of_kafka_comes_once_while_readers_come_and_go() {
    let (broker, home, topic) = (GroupBroker::start().await, Home::new().await, name("orders"));
    broker.create_topic(&topic, 4);
    let orders = home.service("kafka", &broker.address, &json!([{ "id": "created", "topic": topic }]));
    let wanted = || Subscription { from: Start::Earliest, ..Subscription::new("created", "group") };
    let (recorder, work) = (Recorder::taking(), Duration::from_millis(150));
    let sink = Arc::new(Slow { recorder: recorder.clone(), work });
    let steady = Listening::start(&orders, cx(), wanted(), sink.clone());
    let mut sent = Vec::new();
    for _ in 1..=4 {
        let passing = Listening::start(&orders, cx(), wanted(), sink.clone());
        sent.extend(publish(&orders, 20).await);
        testkit::eventually("both are in", PLENTY, async || broker.has_settled("group", 2)).await;
        sent.extend(publish(&orders, 20).await);
        passing.stop().await.unwrap();
    }
    testkit::eventually("all came", PLENTY, async || recorder.got().len() >= sent.len()).await;
    // At most two for each who came and went: whoever comes as another goes makes one generation of both.
    let generation = broker.generation("group");
    steady.stop().await.unwrap();
    assert!(generation <= 9, "the group came together {generation} times");
    let mut came = recorder.ids();
    came.sort();
    sent.sort();
    assert_eq!(came, sent);
}

async fn publish(orders: &Arc<dyn Connector>, count: usize) -> Vec<String> {
    let mut sent = Vec::new();
    for number in 0..count {
        let answer = run(orders, "created", json!({ "message": number })).await.unwrap();
        sent.push(answer["messageId"].as_str().unwrap().to_owned());
    }
    sent
}
