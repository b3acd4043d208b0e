//! Queues: what is published waits durably, and each message goes to one reader at a time.

use crate::backend::{Backend, acme, eventually, other};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{QUEUE_QUOTA_BYTES, QUEUE_QUOTA_MESSAGES, Queues, Store};
use tokio::task::JoinSet;
use tool::queue::{DEAD_REASON, NewMessage, Order, QueuedMessage, Settlement};
use tool::{ErrorKind, Queue as _};

on_both! {
    keeps_messages_in_order_and_shows_them_without_taking_them
    gives_a_delayed_message_to_nobody_before_its_time
    gives_each_message_to_one_of_two_processes
    gives_a_message_to_another_when_its_reader_falls_silent
    brings_a_message_again_after_its_pause
    in_strict_order_nobody_overtakes_the_first
    puts_dead_letters_aside_with_their_reason
    keeps_tenants_apart
    refuses_more_than_the_tenant_has_room_for
    joins_what_many_publish_at_once
    one_unusable_message_hinders_no_other
    forgets_what_nobody_came_for
}

const TIMEOUT: Duration = Duration::from_secs(10);
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

fn queues(store: &Store) -> Queues {
    Queues::new(store.clone(), TIMEOUT)
}

fn message(id: &str) -> NewMessage {
    NewMessage {
        id: id.to_owned(),
        body: RawValue::from_string(serde_json::json!({ "n": id }).to_string()).unwrap(),
        key: Some("k".to_owned()),
        headers: BTreeMap::from([("a".to_owned(), "1".to_owned())]),
        delay: Duration::ZERO,
    }
}

fn ids(messages: &[QueuedMessage]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

async fn claim(queues: &Queues, max: usize, order: Order, lease: Duration) -> Vec<QueuedMessage> {
    queues.claim(&acme(), "q", max, order, lease).await.unwrap()
}

async fn settle(queues: &Queues, message: &QueuedMessage, settlement: Settlement) {
    queues.settle(&acme(), "q", message.claim(), settlement).await.unwrap();
}

async fn keeps_messages_in_order_and_shows_them_without_taking_them(db: Arc<Backend>) {
    let first = queues(&db.open_with_tenants().await);
    for (index, id) in ["a", "b", "c"].into_iter().enumerate() {
        let published = first.publish(&acme(), "q", message(id)).await.unwrap();
        assert_eq!(published.position, i64::try_from(index).unwrap() + 1);
    }
    // Another process, after the first has ended.
    let queues = queues(&db.open().await);
    for _ in 0..2 {
        let found = queues.peek(&acme(), "q", 0, 2).await.unwrap();
        assert_eq!(ids(&found), ["a", "b"]);
        assert_eq!((found[0].body.get(), found[0].key.as_deref()), ("{\"n\":\"a\"}", Some("k")));
        assert_eq!((found[0].headers["a"].as_str(), found[0].position), ("1", 1));
        assert!(found[0].published_at > 1_700_000_000_000);
    }
    assert_eq!(ids(&queues.peek(&acme(), "q", 2, 2).await.unwrap()), ["c"]);
    for expected in [&["a", "b"][..], &["c"], &[]] {
        let taken = claim(&queues, 2, Order::Any, LONG).await;
        assert_eq!(ids(&taken), expected);
        for message in &taken {
            settle(&queues, message, Settlement::Done).await;
        }
    }
}

/// MQ-2, MQ-5
async fn gives_a_delayed_message_to_nobody_before_its_time(db: Arc<Backend>) {
    let queues = queues(&db.open_with_tenants().await);
    let begin = Instant::now();
    let delay = Duration::from_millis(700);
    let published = queues.publish(&acme(), "q", NewMessage { delay, ..message("late") }).await.unwrap();
    queues.publish(&acme(), "q", message("soon")).await.unwrap();
    assert_eq!(ids(&claim(&queues, 9, Order::Any, LONG).await), ["soon"]);
    assert!(queues.peek(&acme(), "q", 0, 9).await.unwrap().is_empty());
    // A process that starts later finds it, too.
    let queues = Queues::new(db.open().await, TIMEOUT);
    let found = loop {
        let found = claim(&queues, 9, Order::Any, LONG).await;
        if !found.is_empty() {
            break found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert!(begin.elapsed() >= delay, "{:?}", begin.elapsed());
    assert_eq!(ids(&found), ["late"]);
    let waited = published.available_at - found[0].published_at;
    assert_eq!(waited, 700);
}

/// MQ-7
async fn gives_each_message_to_one_of_two_processes(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let all = [queues(&store), queues(&db.open().await)];
    for number in 0..200 {
        all[0].publish(&acme(), "q", message(&number.to_string())).await.unwrap();
    }
    let mut tasks = JoinSet::new();
    for queues in all {
        tasks.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claimed = claim(&queues, 7, Order::Any, LONG).await;
                if claimed.is_empty() {
                    return mine;
                }
                for message in claimed {
                    settle(&queues, &message, Settlement::Done).await;
                    mine.push(message.id);
                }
            }
        });
    }
    let taken = tasks.join_all().await.concat();
    assert_eq!((taken.len(), taken.iter().collect::<BTreeSet<_>>().len()), (200, 200));
}

async fn gives_a_message_to_another_when_its_reader_falls_silent(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let (killed, alive) = (queues(&store), queues(&db.open().await));
    killed.publish(&acme(), "q", message("a")).await.unwrap();
    let first = claim(&killed, 1, Order::Any, SHORT).await.remove(0);
    assert_eq!(first.attempt, 1);
    assert!(claim(&alive, 1, Order::Any, SHORT).await.is_empty());
    killed.renew(&acme(), "q", first.claim(), SHORT * 2).await.unwrap();
    tokio::time::sleep(SHORT).await;
    assert!(claim(&alive, 1, Order::Any, SHORT).await.is_empty(), "renewed");
    eventually("the lease ends", TIMEOUT, || async {
        !alive.peek(&acme(), "q", 0, 1).await.unwrap().is_empty()
    })
    .await;
    let second = claim(&alive, 1, Order::Any, LONG).await.remove(0);
    assert_eq!((second.id.as_str(), second.attempt), ("a", 2));
    // It was not dead, only late.
    for settlement in [Settlement::Done, Settlement::Back, Settlement::Dead("late".to_owned())] {
        let refused = killed.settle(&acme(), "q", first.claim(), settlement).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Missing);
    }
    assert_eq!(killed.renew(&acme(), "q", first.claim(), LONG).await.unwrap_err().kind(), ErrorKind::Missing);
    settle(&alive, &second, Settlement::Done).await;
}

async fn brings_a_message_again_after_its_pause(db: Arc<Backend>) {
    let queues = queues(&db.open_with_tenants().await);
    queues.publish(&acme(), "q", message("a")).await.unwrap();
    let first = claim(&queues, 1, Order::Any, LONG).await.remove(0);
    let begin = Instant::now();
    settle(&queues, &first, Settlement::Again(SHORT)).await;
    assert!(claim(&queues, 1, Order::Any, LONG).await.is_empty());
    eventually("it comes again", TIMEOUT, || async {
        !queues.peek(&acme(), "q", 0, 1).await.unwrap().is_empty()
    })
    .await;
    assert!(begin.elapsed() >= SHORT);
    let second = claim(&queues, 1, Order::Any, LONG).await.remove(0);
    assert_eq!(second.attempt, 2);
    settle(&queues, &second, Settlement::Back).await;
    assert_eq!(claim(&queues, 1, Order::Any, LONG).await[0].attempt, 2, "given back, it does not count");
}

async fn in_strict_order_nobody_overtakes_the_first(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let (one, another) = (queues(&store), queues(&db.open().await));
    for id in ["a", "b"] {
        one.publish(&acme(), "q", message(id)).await.unwrap();
    }
    let first = claim(&one, 9, Order::Strict, LONG).await;
    assert_eq!(ids(&first), ["a"]);
    assert!(claim(&another, 9, Order::Strict, LONG).await.is_empty());
    settle(&one, &first[0], Settlement::Again(SHORT)).await;
    assert!(claim(&another, 9, Order::Strict, LONG).await.is_empty(), "it waits for its turn again");
    let again = loop {
        let found = claim(&another, 9, Order::Strict, LONG).await;
        if !found.is_empty() {
            break found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(ids(&again), ["a"]);
    settle(&another, &again[0], Settlement::Done).await;
    assert_eq!(ids(&claim(&one, 9, Order::Strict, LONG).await), ["b"]);
}

/// MQ-8
async fn puts_dead_letters_aside_with_their_reason(db: Arc<Backend>) {
    let queues = queues(&db.open_with_tenants().await);
    for id in ["bad", "good"] {
        queues.publish(&acme(), "q", message(id)).await.unwrap();
    }
    let first = claim(&queues, 1, Order::Any, LONG).await.remove(0);
    settle(&queues, &first, Settlement::Dead("no\0 order".to_owned())).await;
    assert_eq!(ids(&claim(&queues, 9, Order::Any, LONG).await), ["good"]);
    let dead = queues.peek(&acme(), "q.dead", 0, 9).await.unwrap();
    assert_eq!(ids(&dead), ["bad"]);
    assert_eq!(
        (dead[0].headers[DEAD_REASON].as_str(), dead[0].headers["a"].as_str()),
        ("no\u{fffd} order", "1")
    );
    assert_eq!(dead[0].published_at, first.published_at);
}

async fn keeps_tenants_apart(db: Arc<Backend>) {
    let queues = queues(&db.open_with_tenants().await);
    queues.publish(&acme(), "q", message("a")).await.unwrap();
    assert!(queues.peek(&other(), "q", 0, 9).await.unwrap().is_empty());
    assert!(queues.claim(&other(), "q", 9, Order::Any, LONG).await.unwrap().is_empty());
    let mine = claim(&queues, 1, Order::Any, LONG).await.remove(0);
    let refused = queues.settle(&other(), "q", mine.claim(), Settlement::Done).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Missing);
    let nobody = "nobody".parse().unwrap();
    assert_eq!(queues.publish(&nobody, "q", message("a")).await.unwrap_err().kind(), ErrorKind::NotFound);
}

async fn refuses_more_than_the_tenant_has_room_for(db: Arc<Backend>) {
    let queues = queues(&db.open_with_tenants().await);
    queues.publish(&acme(), "q", message("a")).await.unwrap();
    for column in [("messages", QUEUE_QUOTA_MESSAGES), ("bytes", QUEUE_QUOTA_BYTES)] {
        db.execute(&format!("UPDATE queues SET {} = {} WHERE tenant = 'acme'", column.0, column.1)).await;
        let refused = queues.publish(&acme(), "another", message("b")).await.unwrap_err();
        assert_eq!((refused.kind(), refused.is_retryable()), (ErrorKind::RateLimited, true));
        queues.publish(&other(), "q", message("b")).await.unwrap();
        db.execute(&format!("UPDATE queues SET {} = 1", column.0)).await;
    }
    // What is read makes room again.
    db.execute(&format!("UPDATE queues SET messages = {QUEUE_QUOTA_MESSAGES} WHERE tenant = 'acme'")).await;
    let taken = claim(&queues, 1, Order::Any, LONG).await.remove(0);
    settle(&queues, &taken, Settlement::Done).await;
    queues.publish(&acme(), "q", message("b")).await.unwrap();
}

async fn joins_what_many_publish_at_once(db: Arc<Backend>) {
    let queues = queues(&db.open_with_tenants().await);
    let mut tasks = JoinSet::new();
    for caller in 0..32 {
        let queues = queues.clone();
        tasks.spawn(async move {
            let mut positions = Vec::new();
            for number in 0..20 {
                let tenant = if caller % 2 == 0 { acme() } else { other() };
                let id = format!("{caller}-{number}");
                positions
                    .push((caller % 2, queues.publish(&tenant, "q", message(&id)).await.unwrap().position));
            }
            assert!(positions.is_sorted(), "each caller's messages are in its order");
            positions
        });
    }
    let positions: BTreeSet<_> = tasks.join_all().await.concat().into_iter().collect();
    assert_eq!(positions.len(), 640, "every position once");
    assert_eq!(queues.peek(&acme(), "q", 0, 1000).await.unwrap().len(), 320);
    let mut tasks = JoinSet::new();
    for message in claim(&queues, 320, Order::Any, LONG).await {
        let queues = queues.clone();
        tasks.spawn(async move { settle(&queues, &message, Settlement::Done).await });
    }
    tasks.join_all().await;
    let mut raw = db.raw().await;
    let row = sqlx::query("SELECT messages, bytes FROM queues WHERE tenant = 'acme'")
        .fetch_one(&mut raw)
        .await
        .unwrap();
    assert_eq!((sqlx::Row::get::<i64, _>(&row, 0), sqlx::Row::get::<i64, _>(&row, 1)), (0, 0));
}

async fn one_unusable_message_hinders_no_other(db: Arc<Backend>) {
    let queues = queues(&db.open_with_tenants().await);
    let mut tasks = JoinSet::new();
    for number in 0..40 {
        let queues = queues.clone();
        tasks.spawn(async move {
            let id = if number % 4 == 0 { "\0".to_owned() } else { number.to_string() };
            let tenant = if number % 4 == 1 { "nobody".parse().unwrap() } else { acme() };
            queues.publish(&tenant, "q", message(&id)).await.is_ok()
        });
    }
    let kept = tasks.join_all().await.into_iter().filter(|is_kept| *is_kept).count();
    assert_eq!((kept, queues.peek(&acme(), "q", 0, 100).await.unwrap().len()), (20, 20));
}

async fn forgets_what_nobody_came_for(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let queues = queues(&store);
    for id in ["old", "new"] {
        queues.publish(&acme(), "q", message(id)).await.unwrap();
    }
    db.execute("UPDATE queue_messages SET due_at = 1 WHERE id = 'old'").await;
    store.sweep_queues().await.unwrap();
    assert_eq!(ids(&queues.peek(&acme(), "q", 0, 9).await.unwrap()), ["new"]);
    let mut raw = db.raw().await;
    let row = sqlx::query("SELECT messages FROM queues").fetch_one(&mut raw).await.unwrap();
    assert_eq!(sqlx::Row::get::<i64, _>(&row, 0), 1, "there is room again");
}
