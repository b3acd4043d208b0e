//! Listening to queues of our own: what happens when readers are killed, join and leave, and when their store is away.

use super::{Home, call, cx, hasty, service, settings};
use async_trait::async_trait;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use store::Store;
use store::flows::NewDraft;
use store::runs::{Inserted, NewRun};
use testkit::recorder::{Listening, Recorder};
use tool::{Connector, Delivery, Sink, Subscription, TenantId, Verdict};

const SHORT: Duration = Duration::from_millis(400);
const PLENTY: Duration = Duration::from_secs(30);

/// What a flow's trigger will do: a run in the journal under the unique subscription and id, and only then `Taken`.
struct Journal {
    store: Store,
    is_up: AtomicBool,
    /// How many came, began a run, and were known.
    came: AtomicUsize,
    began: AtomicUsize,
    known: AtomicUsize,
    /// The journal is written, but the answer never comes.
    is_mute: AtomicBool,
}

impl Journal {
    async fn new(store: &Store) -> Arc<Self> {
        let draft = NewDraft { name: "Orders".into(), source: "nodes: {}".into(), references: Vec::new() };
        store.flows().create(&TenantId::default_tenant(), "orders", &draft, "ada").await.unwrap();
        Arc::new(Self {
            store: store.clone(),
            is_up: true.into(),
            came: 0.into(),
            began: 0.into(),
            known: 0.into(),
            is_mute: false.into(),
        })
    }

    fn counts(&self) -> (usize, usize) {
        (self.began.load(Ordering::SeqCst), self.known.load(Ordering::SeqCst))
    }

    async fn reach(&self, began: usize) {
        let what = format!("{began} runs");
        testkit::eventually(&what, PLENTY, async || self.counts().0 >= began).await;
    }
}

#[async_trait]
impl Sink for Journal {
    async fn take(&self, delivery: Delivery) -> Verdict {
        self.came.fetch_add(1, Ordering::SeqCst);
        if !self.is_up.load(Ordering::SeqCst) {
            return Verdict::Again(Duration::from_millis(20) * 2_u32.pow(delivery.attempt.min(5)));
        }
        let run = NewRun {
            id: None,
            flow: "orders".into(),
            agent: None,
            version: Some(1),
            source: None,
            inputs: delivery.message.get().to_owned(),
            is_secret: false,
            origin: "{}".into(),
            caller: "{}".into(),
            parent: None,
            slots: None,
            dedupe: Some((format!("created/{}", delivery.id), PLENTY)),
            conversation: None,
            records: Vec::new(),
        };
        match self.store.runs().insert(&TenantId::default_tenant(), &run, 100_000).await.unwrap() {
            Inserted::Created(_) => self.began.fetch_add(1, Ordering::SeqCst),
            Inserted::Known(_) => self.known.fetch_add(1, Ordering::SeqCst),
            other => panic!("{other:?}"),
        };
        if self.is_mute.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        Verdict::Taken
    }
}

async fn publish(connector: &Arc<dyn Connector>, count: usize) {
    for number in 0..count {
        call(connector, "created", json!({ "message": { "n": number } })).await.unwrap();
    }
}

fn wanted() -> Subscription {
    Subscription::new("created", "group")
}

/// MQ-6: F16, killed after the journal and before the acknowledgement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_is_killed_after_the_journal_starts_no_second_run() {
    let home = Home::new().await;
    let journal = Journal::new(&home.store).await;
    let killed = hasty(&home.env(), SHORT);
    publish(&killed, 3).await;
    journal.is_mute.store(true, Ordering::SeqCst);
    let listening = Listening::start(&killed, cx(), wanted(), journal.clone());
    journal.reach(3).await;
    listening.kill().await;
    journal.is_mute.store(false, Ordering::SeqCst);
    let listening = Listening::start(&hasty(&home.replica().await, SHORT), cx(), wanted(), journal.clone());
    testkit::eventually("all are delivered again", PLENTY, async || journal.counts().1 == 3).await;
    listening.stop().await.unwrap();
    assert_eq!(journal.counts(), (3, 3), "no second run");
    let left = call(&killed, "created_peek", json!({})).await.unwrap();
    assert_eq!(left, json!({ "messages": [] }), "and all are acknowledged");
}

/// MQ-6: F17, the store of the sink is away while messages come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_journal_is_down_nothing_is_acknowledged_and_all_run_later() {
    let home = Home::new().await;
    let journal = Journal::new(&home.store).await;
    let orders = service(settings(), &home.env());
    publish(&orders, 30).await;
    journal.is_up.store(false, Ordering::SeqCst);
    let wanted = Subscription { max_in_flight: 4, max_attempts: u32::MAX, ..wanted() };
    let sink = Recorder::judging(|_| None);
    let listening = Listening::start(&orders, cx(), wanted, journal.clone());
    // Each of the four comes again and again; nobody else does.
    testkit::eventually("many attempts", PLENTY, async || journal.came.load(Ordering::SeqCst) >= 20).await;
    let waiting = call(&orders, "created_peek", json!({ "max": 100 })).await.unwrap();
    assert!(waiting["messages"].as_array().unwrap().len() >= 26, "at most four are in memory");
    assert_eq!(journal.counts(), (0, 0));
    journal.is_up.store(true, Ordering::SeqCst);
    journal.reach(30).await;
    listening.stop().await.unwrap();
    assert_eq!((journal.counts(), sink.got().len()), ((30, 0), 0));
}

/// MQ-7: F19, readers join and leave.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_message_runs_once_while_readers_come_and_go() {
    let home = Home::new().await;
    let journal = Journal::new(&home.store).await;
    let orders = service(settings(), &home.env());
    let steady = Listening::start(&orders, cx(), wanted(), journal.clone());
    for round in 0..20 {
        publish(&orders, 5).await;
        let passing =
            Listening::start(&service(settings(), &home.replica().await), cx(), wanted(), journal.clone());
        journal.reach(round * 5 + 1).await;
        passing.stop().await.unwrap();
    }
    journal.reach(100).await;
    steady.stop().await.unwrap();
    assert_eq!(journal.counts().0, 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_stays_with_a_reader_that_is_slow() {
    let home = Home::new().await;
    let orders = hasty(&home.env(), SHORT);
    publish(&orders, 1).await;
    let slow = Recorder::judging(|_| None);
    let listening = Listening::start(&orders, cx(), wanted(), slow.clone());
    slow.wait_for(1).await;
    tokio::time::sleep(SHORT * 4).await;
    let left = call(&orders, "created_peek", json!({})).await.unwrap();
    assert_eq!(left, json!({ "messages": [] }), "it was renewed");
    listening.kill().await;
    testkit::eventually("others get it then", PLENTY, async || {
        call(&orders, "created_peek", json!({})).await.unwrap() != json!({ "messages": [] })
    })
    .await;
}

/// MQ-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_used_is_a_dead_letter_with_its_reason() {
    let home = Home::new().await;
    let env = home.env();
    let loose = service(settings(), &env);
    let typed = json!({ "tools": [
        { "id": "created", "message_schema": { "type": "object", "properties": { "n": { "type": "integer" } } } },
        { "id": "failed", "queue": "created.dead", "receive": true } ] });
    let strict = service(typed, &env);
    for message in [json!({ "n": "one" }), json!({ "n": 2 }), json!({ "n": 3 })] {
        call(&loose, "created", json!({ "message": message })).await.unwrap();
    }
    let sink = Recorder::judging(|delivery| match delivery.message.get() {
        "{\"n\":2}" => Some(Verdict::Dead("no such customer".to_owned())),
        _ => Some(Verdict::Taken),
    });
    let listening = Listening::start(&strict, cx(), wanted(), sink.clone());
    sink.wait_for(2).await;
    listening.stop().await.unwrap();
    let dead = call(&strict, "failed_receive", json!({ "max": 9, "waitMs": 2000 })).await.unwrap();
    let reasons: BTreeSet<_> = dead["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dead| dead["headers"]["x-dead-reason"].as_str().unwrap().to_owned())
        .collect();
    let reasons: Vec<_> = reasons.into_iter().collect();
    assert_eq!(reasons[0], "no such customer");
    assert!(reasons[1].contains("not of its schema") && reasons[1].contains("'n'"), "{reasons:?}");
}
