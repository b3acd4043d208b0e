//! Who may begin when: by turns among tenants, and never more at once than may be.

use crate::backend::{Backend, acme, other};
use crate::flows::published;
use crate::runs::{
    MANY, cancellation, claim_one, claimed, end, new_run, open, parked, queue_many, record, slots, start,
    state,
};
use std::sync::Arc;
use std::time::Duration;
use store::runs::{Inserted, NewRun, Overflow, Refusal, Retention, RunFilter, State};
use store::{PageRequest, Store};
use tokio::task::JoinSet;
use tool::RunKind;

on_both! {
    a_queue_of_ten_thousand_hides_nobody_else
    a_thousand_starts_never_exceed_their_slots
    gives_a_freed_slot_to_the_next_and_refuses_on_request
    a_run_that_is_tried_again_has_a_slot_though_its_group_was_forgotten
    a_tenant_has_no_more_under_way_than_it_may
    agents_that_are_under_way_leave_room_for_flows
    a_new_run_replaces_no_more_than_it_must
    replacing_at_the_same_time_leaves_one
}

/// FL-25: whoever has one run waits behind nobody's queue.
async fn a_queue_of_ten_thousand_hides_nobody_else(db: Arc<Backend>) {
    let store = open(&db).await;
    queue_many(&db, 10_000).await;
    assert_eq!(store.runs().claim(RunKind::Flow, 10, MANY).await.unwrap().len(), 10);
    start(&store, &other(), &new_run()).await;
    let two = [
        store.runs().claim(RunKind::Flow, 1, MANY).await.unwrap(),
        store.runs().claim(RunKind::Flow, 1, MANY).await.unwrap(),
    ]
    .concat();
    assert_eq!(two.iter().filter(|claimed| claimed.run.tenant == other()).count(), 1);
    start(&store, &other(), &new_run()).await;
    // Nor does one that has all it may.
    assert_eq!(store.runs().claim(RunKind::Flow, 1, 5).await.unwrap().len(), 1);
    start(&store, &other(), &new_run()).await;
    let together = store.runs().claim(RunKind::Flow, 10, MANY).await.unwrap();
    assert_eq!(together.len(), 10);
    assert_eq!(together.iter().filter(|claimed| claimed.run.tenant == other()).count(), 1);
}

/// FL-24: of a thousand starts never more than the limit are under way.
async fn a_thousand_starts_never_exceed_their_slots(db: Arc<Backend>) {
    let store = open(&db).await;
    let replica = db.open().await;
    let mut tasks = JoinSet::new();
    for n in 0..10 {
        let store = if n % 2 == 0 { store.clone() } else { replica.clone() };
        tasks.spawn(async move {
            for _ in 0..100 {
                start(&store, &acme(), &slots(5, Overflow::Queue)).await;
            }
            0
        });
    }
    for store in [store.clone(), replica] {
        tasks.spawn(async move { work_off(&store).await });
    }
    let mut done = 0;
    while let Some(ended) = tasks.join_next().await {
        done += ended.unwrap();
    }
    assert_eq!(done, 1000);
    let (taken,): (i64,) = sqlx::query_as("SELECT taken FROM run_slots WHERE group_key <> ''")
        .fetch_one(&mut db.raw().await)
        .await
        .unwrap();
    assert_eq!(taken, 0);
}

/// Ends runs until there are none, and looks how many are under way in all processes.
async fn work_off(store: &Store) -> usize {
    let (writer, mut done) = (store.runs().writer(), 0);
    loop {
        let claimed = store.runs().claim(RunKind::Flow, 10, MANY).await.unwrap();
        let filter = RunFilter { state: Some(State::Running), ..RunFilter::default() };
        let running = store.runs().list(&acme(), &filter, PageRequest::default()).await.unwrap().total;
        assert!(running <= 5, "{running} at once");
        for run in &claimed {
            end(&writer, &run.claim, State::Succeeded).await;
        }
        done += claimed.len();
        let all = store
            .runs()
            .list(&acme(), &RunFilter::default(), PageRequest { page: 1, limit: 1 })
            .await
            .unwrap();
        let filter = RunFilter { state: Some(State::Succeeded), ..RunFilter::default() };
        let ended = store.runs().list(&acme(), &filter, PageRequest { page: 1, limit: 1 }).await.unwrap();
        if all.total == 1000 && ended.total == 1000 {
            return done;
        }
    }
}

async fn gives_a_freed_slot_to_the_next_and_refuses_on_request(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let first = start(&store, &acme(), &slots(1, Overflow::Queue)).await;
    let second = start(&store, &acme(), &slots(1, Overflow::Queue)).await;
    let refused = store.runs().insert(&acme(), &slots(1, Overflow::Refuse), MANY).await.unwrap();
    assert!(matches!(refused, Inserted::Refused(Refusal::NoSlot)), "{refused:?}");
    let waiting =
        store.runs().insert_and_claim(&acme(), &slots(1, Overflow::Queue), MANY, MANY).await.unwrap();
    assert!(matches!(waiting, Inserted::Created(_)), "a run without a slot is not claimed");
    let claimed = store.runs().claim(RunKind::Flow, 10, MANY).await.unwrap();
    assert_eq!(claimed.iter().map(|run| &run.run.id).collect::<Vec<_>>(), [&first.id]);
    // A wait does not free it.
    assert!(writer.commit(&claimed[0].claim, parked(None, 0)).await.unwrap().is_given_back);
    assert!(store.runs().claim(RunKind::Flow, 10, MANY).await.unwrap().is_empty());
    store.runs().tell(&acme(), &second.id, &record("signal")).await.unwrap();
    assert!(store.runs().claim(RunKind::Flow, 10, MANY).await.unwrap().is_empty(), "a signal is no slot");
    store.runs().tell(&acme(), &first.id, &record("signal")).await.unwrap();
    let again = claim_one(&store).await;
    assert_eq!((&again.run.id, again.claim.epoch), (&first.id, 2));
    end(&writer, &again.claim, State::Failed).await;
    assert_eq!(claim_one(&store).await.run.id, second.id);
    // A higher limit lets those in that wait.
    start(&store, &acme(), &slots(3, Overflow::Queue)).await;
    assert_eq!(store.runs().claim(RunKind::Flow, 10, MANY).await.unwrap().len(), 2);
}

/// FL-24, AG-15: groups that nobody is in are forgotten; whoever is tried again later begins nevertheless.
async fn a_run_that_is_tried_again_has_a_slot_though_its_group_was_forgotten(db: Arc<Backend>) {
    let store = open(&db).await;
    published(&store).await;
    let claim = claimed(&store, &slots(1, Overflow::Refuse)).await;
    end(&store.runs().writer(), &claim, State::Failed).await;
    let long = Duration::from_secs(3600);
    store.runs().sweep(Retention { succeeded: long, failed: long }).await.unwrap();
    store.runs().retry(&acme(), &claim.run, &record("retry")).await.unwrap();
    assert_eq!(claim_one(&store).await.run.id, claim.run);
}

async fn a_tenant_has_no_more_under_way_than_it_may(db: Arc<Backend>) {
    let stores = [open(&db).await, db.open().await];
    for _ in 0..20 {
        start(&stores[0], &acme(), &new_run()).await;
    }
    let runs = stores.each_ref().map(|store| store.runs());
    let (one, two) = tokio::join!(runs[0].claim(RunKind::Flow, 10, 4), runs[1].claim(RunKind::Flow, 10, 4));
    let mut held = [one.unwrap(), two.unwrap()].concat();
    assert_eq!(held.len(), 4);
    let at_once = runs[0].insert_and_claim(&acme(), &new_run(), MANY, 4).await.unwrap();
    assert!(matches!(at_once, Inserted::Created(_)), "{at_once:?}");
    let owner =
        if runs[0].renew(std::slice::from_ref(&held[0].claim)).await.unwrap().len() == 1 { 0 } else { 1 };
    end(&runs[owner].writer(), &held.remove(0).claim, State::Succeeded).await;
    assert_eq!(runs[0].claim(RunKind::Flow, 10, 4).await.unwrap().len(), 1);
}

/// FL-25, AG-15: runs of flows and of agents are counted, found and claimed apart.
async fn agents_that_are_under_way_leave_room_for_flows(db: Arc<Backend>) {
    let store = open(&db).await;
    let agent = NewRun { agent: Some("a".into()), flow: "agent://a".into(), version: None, ..new_run() };
    for _ in 0..3 {
        start(&store, &acme(), &agent).await;
    }
    let runs = store.runs();
    assert_eq!(runs.next_due(RunKind::Flow).await.unwrap(), None);
    assert!(runs.claim(RunKind::Flow, 10, 2).await.unwrap().is_empty());
    assert_eq!(runs.claim(RunKind::Agent, 10, 2).await.unwrap().len(), 2);
    assert_eq!(runs.next_due(RunKind::Agent).await.unwrap(), Some(Duration::ZERO));
    let flow = runs.insert_and_claim(&acme(), &new_run(), MANY, 2).await.unwrap();
    assert!(matches!(flow, Inserted::Claimed(_)), "{flow:?}");
    let waiting = runs.insert_and_claim(&acme(), &agent, MANY, 2).await.unwrap();
    assert!(matches!(waiting, Inserted::Created(_)), "{waiting:?}");
}

/// FL-24: with free slots nobody is replaced; without, the oldest is, and only it.
async fn a_new_run_replaces_no_more_than_it_must(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let gone = claimed(&store, &replacing(2)).await;
    end(&writer, &gone, State::Succeeded).await;
    let first = claimed(&store, &replacing(2)).await.run;
    let outside = start(&store, &acme(), &new_run()).await.id;
    let mut later = Vec::new();
    for _ in 0..3 {
        // Times are whole milliseconds.
        tokio::time::sleep(Duration::from_millis(5)).await;
        later.push(start(&store, &acme(), &replacing(2)).await.id);
        if later.len() == 1 {
            assert_eq!(state(&store, &first).await, State::Running, "there was a slot");
        }
    }
    // The first is at work and has to be asked, the second has not begun.
    assert_eq!(state(&store, &first).await, State::Cancelling);
    assert_eq!(state(&store, &later[0]).await, State::Cancelled);
    for run in [&later[1], &later[2], &outside] {
        assert_eq!(state(&store, run).await, State::Queued);
    }
}

/// FL-24: starts at the same time know of each other.
async fn replacing_at_the_same_time_leaves_one(db: Arc<Backend>) {
    let stores = [open(&db).await, db.open().await];
    let mut tasks = JoinSet::new();
    for n in 0..20 {
        let store = stores[n % 2].clone();
        tasks.spawn(async move { start(&store, &acme(), &replacing(1)).await });
    }
    while let Some(started) = tasks.join_next().await {
        started.unwrap();
    }
    let filter = RunFilter { is_live: Some(true), ..RunFilter::default() };
    assert_eq!(stores[0].runs().newest(&acme(), &filter, 100).await.unwrap().len(), 1);
}

fn replacing(limit: u32) -> NewRun {
    slots(limit, Overflow::Replace(Box::new(cancellation())))
}
