//! What is to happen once, and calls that are to be made later.

use crate::backend::{Backend, acme, eventually, other};
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use store::{OnceResults, QUEUE_QUOTA_BYTES, Queues};
use tokio::task::JoinSet;
use tool::queue::LaterCall;
use tool::{ErrorKind, KeyState, Once as _, Queue as _};

on_both! {
    answers_a_second_time_with_the_first_result
    a_key_stands_for_one_work
    one_of_many_is_the_first
    what_surely_did_not_happen_may_happen
    keeps_calls_for_later_in_order_of_their_time
    counts_what_waits_and_refuses_more
    a_call_that_is_put_off_lets_others_pass
    one_process_holds_a_name
}

const TIMEOUT: Duration = Duration::from_secs(10);

fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// MQ-10
async fn answers_a_second_time_with_the_first_result(db: Arc<Backend>) {
    let once = OnceResults::new(db.open_with_tenants().await, TIMEOUT);
    assert!(matches!(once.begin(&acme(), "s", "k", "").await.unwrap(), KeyState::First));
    assert!(
        matches!(once.begin(&acme(), "s", "k", "").await.unwrap(), KeyState::Unknown),
        "its end is not known"
    );
    once.finish(&acme(), "s", "k", &json("{\"id\":1}")).await.unwrap();
    let KeyState::Done(result) = once.begin(&acme(), "s", "k", "").await.unwrap() else {
        panic!("it is done")
    };
    assert_eq!(result.get(), "{\"id\":1}");
    for (tenant, scope, key) in [(other(), "s", "k"), (acme(), "t", "k"), (acme(), "s", "l")] {
        assert!(matches!(once.begin(&tenant, scope, key, "").await.unwrap(), KeyState::First));
    }
    db.execute("UPDATE once_results SET until = 1").await;
    assert!(
        matches!(once.begin(&acme(), "s", "k", "").await.unwrap(), KeyState::First),
        "a day later it is new"
    );
    assert!(
        matches!(once.begin(&acme(), "s", "k", "").await.unwrap(), KeyState::Unknown),
        "and its result is gone"
    );
}

/// MQ-10
async fn a_key_stands_for_one_work(db: Arc<Backend>) {
    let once = OnceResults::new(db.open_with_tenants().await, TIMEOUT);
    assert!(matches!(once.begin(&acme(), "s", "k", "one").await.unwrap(), KeyState::First));
    once.finish(&acme(), "s", "k", &json("1")).await.unwrap();
    assert!(matches!(once.begin(&acme(), "s", "k", "other").await.unwrap(), KeyState::Other));
    for same in ["one", ""] {
        assert!(matches!(once.begin(&acme(), "s", "k", same).await.unwrap(), KeyState::Done(_)));
    }
    db.execute("UPDATE once_results SET until = 1").await;
    assert!(matches!(once.begin(&acme(), "s", "k", "other").await.unwrap(), KeyState::First));
    assert!(matches!(once.begin(&acme(), "s", "k", "one").await.unwrap(), KeyState::Other));
}

async fn one_of_many_is_the_first(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let replica = db.open().await;
    let mut tasks = JoinSet::new();
    for number in 0..20 {
        let once = OnceResults::new(if number % 2 == 0 { store.clone() } else { replica.clone() }, TIMEOUT);
        tasks.spawn(
            async move { matches!(once.begin(&acme(), "s", "k", "").await.unwrap(), KeyState::First) },
        );
    }
    assert_eq!(tasks.join_all().await.into_iter().filter(|is_first| *is_first).count(), 1);
}

async fn what_surely_did_not_happen_may_happen(db: Arc<Backend>) {
    let once = OnceResults::new(db.open_with_tenants().await, TIMEOUT);
    assert!(matches!(once.begin(&acme(), "s", "k", "").await.unwrap(), KeyState::First));
    once.forget(&acme(), "s", "k").await.unwrap();
    assert!(matches!(once.begin(&acme(), "s", "k", "").await.unwrap(), KeyState::First));
    once.finish(&acme(), "s", "k", &json("1")).await.unwrap();
    assert!(once.forget(&acme(), "s", "k").await.is_err(), "what is done stays done");
}

fn call(id: &str, uri: &str, delay_ms: u64) -> LaterCall {
    LaterCall {
        id: id.to_owned(),
        uri: uri.to_owned(),
        arguments: json("{\"a\":1}"),
        delay: Duration::from_millis(delay_ms),
    }
}

async fn keeps_calls_for_later_in_order_of_their_time(db: Arc<Backend>) {
    let queues = Queues::new(db.open_with_tenants().await, TIMEOUT);
    assert_eq!(queues.later().next_in().await.unwrap(), None);
    queues.call_later(&acme(), call("third", "mq://x/a", 3_600_000)).await.unwrap();
    queues.call_later(&acme(), call("second", "mq://x/a", 2400)).await.unwrap();
    let due_at = queues.call_later(&acme(), call("first", "mq://x/b", 2000)).await.unwrap();
    queues.call_later(&other(), call("first", "mq://y/b", 0)).await.unwrap();
    let again = queues.call_later(&acme(), call("first", "mq://x/b", 0)).await.unwrap();
    assert_eq!(again, due_at, "one id, one call");
    assert!(
        queues.call_later(&acme(), call("first", "mq://z/b", 0)).await.is_err(),
        "never a word of another"
    );
    // After a restart.
    let queues = Queues::new(db.open().await, TIMEOUT);
    assert_eq!(queues.later().due_services().await.unwrap(), [(other(), "mq://y".to_owned())]);
    let due = || async { queues.later().due(&acme(), "mq://x").await.unwrap() };
    assert!(due().await.is_empty(), "never early");
    eventually("both are due", TIMEOUT, || async { due().await.len() == 2 }).await;
    let calls = due().await;
    assert_eq!([calls[0].id.as_str(), calls[1].id.as_str()], ["first", "second"]);
    assert_eq!((calls[0].uri.as_str(), calls[0].arguments.get()), ("mq://x/b", "{\"a\":1}"));
    queues.later().done(&calls[0]).await.unwrap();
    queues.later().give_up(&calls[1], "no such service").await.unwrap();
    assert!(due().await.is_empty());
    let given_up = queues.call_later(&acme(), call("second", "mq://x/a", 0)).await.unwrap_err();
    assert!(given_up.message().contains("given up"), "{given_up}");
    let wait = queues.later().next_in().await.unwrap();
    assert_eq!(wait, Some(Duration::ZERO), "the other tenant's");
}

/// Calls and bytes of a tenant that wait, as they are counted.
async fn waiting(db: &Backend) -> (i64, i64) {
    let mut raw = db.raw().await;
    let sql = "SELECT calls, bytes FROM later_totals WHERE tenant = 'acme'";
    let row = sqlx::query(sql).fetch_one(&mut raw).await.unwrap();
    (sqlx::Row::get(&row, 0), sqlx::Row::get(&row, 1))
}

/// MQ-5: what waits is counted with each change, whoever ends it, and a tenant that has too much gets no more.
async fn counts_what_waits_and_refuses_more(db: Arc<Backend>) {
    let queues = Queues::new(db.open_with_tenants().await, TIMEOUT);
    for id in ["a", "b", "c", "mq/orders/x/d"] {
        queues.call_later(&acme(), call(id, "mq://x/a", 0)).await.unwrap();
    }
    queues.call_later(&acme(), call("a", "mq://x/a", 0)).await.unwrap();
    queues.call_later(&other(), call("a", "mq://x/a", 0)).await.unwrap();
    assert_eq!(waiting(&db).await, (4, 4 * 7), "one that is there is not counted again");
    let due = queues.later().due(&acme(), "mq://x").await.unwrap();
    for _ in 0..2 {
        // Another process may have made it, too.
        queues.later().done(&due[0]).await.unwrap();
        queues.later().give_up(&due[1], "no such service").await.unwrap();
    }
    assert_eq!(waiting(&db).await, (2, 2 * 7));
    for (column, full) in [("calls", 100_000), ("bytes", QUEUE_QUOTA_BYTES)] {
        db.execute(&format!("UPDATE later_totals SET {column} = {full} WHERE tenant = 'acme'")).await;
        let refused = queues.call_later(&acme(), call("e", "mq://x/a", 0)).await.unwrap_err();
        assert_eq!((refused.kind(), refused.is_retryable()), (ErrorKind::RateLimited, true));
        queues.call_later(&acme(), call("c", "mq://x/a", 0)).await.unwrap();
        queues.call_later(&other(), call(column, "mq://x/a", 0)).await.unwrap();
        db.execute(&format!("UPDATE later_totals SET {column} = 2 WHERE tenant = 'acme'")).await;
    }
}

/// MQ-5
async fn a_call_that_is_put_off_lets_others_pass(db: Arc<Backend>) {
    let queues = Queues::new(db.open_with_tenants().await, TIMEOUT);
    for id in ["first", "second"] {
        queues.call_later(&acme(), call(id, "mq://x/a", 0)).await.unwrap();
    }
    let due = async || queues.later().due(&acme(), "mq://x").await.unwrap();
    let (first, pause) = (due().await.remove(0), Duration::from_millis(400));
    queues.later().put_off(&first, pause).await.unwrap();
    assert_eq!(due().await.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["second"]);
    eventually("it is due again", TIMEOUT, || async { due().await.len() == 2 }).await;
    let refusals: Vec<_> = due().await.iter().map(|call| (call.id.clone(), call.refusals)).collect();
    assert_eq!(refusals, [("second".to_owned(), 0), ("first".to_owned(), 1)]);
    assert_eq!(waiting(&db).await.0, 2);
}

async fn one_process_holds_a_name(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let (one, another) = (Queues::new(store, TIMEOUT), Queues::new(db.open().await, TIMEOUT));
    let held = one.hold(&acme(), "x").await.unwrap().unwrap();
    assert!(another.hold(&acme(), "x").await.unwrap().is_none());
    assert!(another.hold(&other(), "x").await.unwrap().is_some());
    held.release().await;
    assert!(another.hold(&acme(), "x").await.unwrap().is_some());
}
