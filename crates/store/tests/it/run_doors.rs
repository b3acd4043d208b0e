//! What others than its owner do to a run: it is told once, answered once, cancelled, and tried again.

use crate::backend::{Backend, acme, other};
use crate::flows::published;
use crate::runs::{
    MANY, cancellation, claim_one, claimed, end, ended, new_run, open, parked, record, slots, start, state,
};
use std::sync::Arc;
use std::time::Duration;
use store::runs::{Commit, NewRun, NewWait, Overflow, Parent, RunFilter, State, Then, WaitFilter};
use store::{ErrorKind, PageRequest};
use tool::{RunId, RunKind};

on_both! {
    says_how_long_until_a_run_is_due
    a_parked_run_is_due_at_its_timer_or_when_told
    parks_no_run_that_others_have_told_something
    of_two_answers_at_once_one_wins
    a_child_tells_its_parent_and_goes_with_it
    cancels_at_once_what_has_not_begun
    tries_a_failed_run_again
}

async fn a_parked_run_is_due_at_its_timer_or_when_told(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let now = store.runs().now().await.unwrap();
    let claim = claimed(&store, &new_run()).await;
    writer.commit(&claim, parked(Some(now + 400), 0)).await.unwrap();
    assert!(store.runs().claim(RunKind::Flow, 1, MANY).await.unwrap().is_empty());
    assert_eq!(state(&store, &claim.run).await, State::Waiting);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let claim = claim_one(&store).await.claim;
    writer.commit(&claim, parked(None, 0)).await.unwrap();
    assert!(store.runs().claim(RunKind::Flow, 1, MANY).await.unwrap().is_empty());
    let told = store.runs().changed();
    tokio::pin!(told);
    assert!(futures::poll!(&mut told).is_pending());
    store.runs().tell(&acme(), &claim.run, &record("signal")).await.unwrap();
    told.await;
    let claim = claim_one(&store).await.claim;
    let news = store.runs().news(&acme(), &claim.run, 0).await.unwrap();
    assert_eq!(news.iter().map(|line| (line.seq, line.is_news)).collect::<Vec<_>>(), [(1, true)]);
    writer.commit(&claim, Commit::then(Then::Release)).await.unwrap();
    assert_eq!(claim_one(&store).await.claim.epoch, 4, "what is given back is due at once");
}

async fn parks_no_run_that_others_have_told_something(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let claim = claimed(&store, &new_run()).await;
    store.runs().tell(&acme(), &claim.run, &record("signal")).await.unwrap();
    writer.commit(&claim, Commit::of(vec![record("called")])).await.unwrap();
    assert!(!writer.commit(&claim, parked(None, 0)).await.unwrap().is_given_back);
    assert_eq!(store.runs().renew(std::slice::from_ref(&claim)).await.unwrap(), [(claim.clone(), 1)]);
    let news = store.runs().news(&acme(), &claim.run, 0).await.unwrap();
    assert_eq!(news.len(), 1);
    assert!(writer.commit(&claim, parked(None, news[0].seq)).await.unwrap().is_given_back);
}

async fn of_two_answers_at_once_one_wins(db: Arc<Backend>) {
    let stores = [open(&db).await, db.open().await];
    let writer = stores[0].runs().writer();
    for n in 0..5 {
        let claim = claimed(&stores[0], &new_run()).await;
        let id = format!("approval-{n}");
        let wait = NewWait {
            id: id.clone(),
            path: "ok".into(),
            kind: "approval".into(),
            until: None,
            data: "{}".into(),
        };
        let commit = Commit { opened: vec![wait], ..parked(None, 0) };
        writer.commit(&claim, commit).await.unwrap();
        let filter = WaitFilter { kind: Some("approval".into()), ..WaitFilter::default() };
        let open = stores[1].runs().waits(&acme(), &filter, PageRequest::default()).await.unwrap();
        assert_eq!(open.items.iter().map(|wait| &wait.run).collect::<Vec<_>>(), [&claim.run]);
        let (runs, answer, tenant) = (stores.each_ref().map(|store| store.runs()), record("decided"), acme());
        let (one, two) =
            tokio::join!(runs[0].answer(&tenant, &id, &answer), runs[1].answer(&tenant, &id, &answer));
        let lost = if one.is_ok() { two.unwrap_err() } else { two.map(|()| one.unwrap_err()).unwrap() };
        assert_eq!(lost.kind(), ErrorKind::Conflict);
        assert_eq!(runs[0].news(&tenant, &claim.run, 0).await.unwrap().len(), 1);
        assert!(runs[0].wait(&tenant, &id).await.unwrap().closed_at.is_some());
        let claim = claim_one(&stores[0]).await.claim;
        end(&writer, &claim, State::Succeeded).await;
    }
    let unknown = stores[0].runs().answer(&other(), "approval-0", &record("decided")).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    // What the node does not wait for any more cannot be answered.
    let claim = claimed(&stores[0], &new_run()).await;
    let wait = NewWait {
        id: "late".into(),
        path: "ok".into(),
        kind: "approval".into(),
        until: None,
        data: "{}".into(),
    };
    writer.commit(&claim, Commit { opened: vec![wait], ..Commit::of(Vec::new()) }).await.unwrap();
    writer.commit(&claim, Commit { closed: vec!["ok".into()], ..Commit::of(Vec::new()) }).await.unwrap();
    let late = stores[0].runs().answer(&acme(), "late", &record("decided")).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Conflict);
}

async fn a_child_tells_its_parent_and_goes_with_it(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let parent = claimed(&store, &new_run()).await;
    let of = |path: &str| Some(Parent { run: parent.run.clone(), path: path.into() });
    let child = claimed(&store, &NewRun { parent: of("a"), ..new_run() }).await;
    let queued = start(&store, &acme(), &NewRun { parent: of("b"), ..slots(1, Overflow::Queue) }).await;
    writer.commit(&parent, parked(None, 0)).await.unwrap();
    let told = vec![(parent.run.clone(), record("child_ended"))];
    writer.commit(&child, Commit { told, ..ended(State::Succeeded) }).await.unwrap();
    assert_eq!(store.runs().news(&acme(), &parent.run, 0).await.unwrap().len(), 1);
    let held = store.runs().claim(RunKind::Flow, 10, MANY).await.unwrap();
    let [parent, running] =
        [&parent.run, &queued.id].map(|id| held.iter().find(|run| run.run.id == *id).unwrap());
    assert_eq!(running.run.parent, of("b"));
    let waiting = start(&store, &acme(), &NewRun { parent: of("d"), ..slots(1, Overflow::Queue) }).await;
    let cancelled =
        [&running.run.id, &waiting.id, &child.run].map(|run| (run.clone(), record("cancel"))).to_vec();
    writer.commit(&parent.claim, Commit { cancelled, ..ended(State::Cancelled) }).await.unwrap();
    assert_eq!(state(&store, &running.run.id).await, State::Cancelling);
    assert_eq!(state(&store, &waiting.id).await, State::Cancelled);
    assert_eq!(state(&store, &child.run).await, State::Succeeded);
    // The parent has ended: what its child says goes nowhere, and the child ends all the same.
    let told = vec![(parent.run.id.clone(), record("child_ended"))];
    writer.commit(&running.claim, Commit { told, ..ended(State::Cancelled) }).await.unwrap();
    let filter = RunFilter { parent: Some(parent.run.id.clone()), ..RunFilter::default() };
    assert_eq!(store.runs().list(&acme(), &filter, PageRequest::default()).await.unwrap().total, 3);
}

async fn cancels_at_once_what_has_not_begun(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let parent = claimed(&store, &new_run()).await;
    let of = Some(Parent { run: parent.run.clone(), path: "a".into() });
    let first = start(&store, &acme(), &NewRun { parent: of, ..slots(1, Overflow::Queue) }).await;
    let second = start(&store, &acme(), &slots(1, Overflow::Queue)).await;
    let cancel = async |run: &RunId| store.runs().cancel(&acme(), run, &cancellation()).await;
    assert_eq!(cancel(&first.id).await.unwrap().state, State::Cancelled);
    let news = store.runs().news(&acme(), &parent.run, 0).await.unwrap();
    assert_eq!(news.iter().map(|line| line.record.path.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(cancel(&first.id).await.unwrap_err().kind(), ErrorKind::Conflict);
    let claim = claim_one(&store).await.claim;
    assert_eq!(claim.run, second.id, "the slot is free again");
    assert_eq!(cancel(&second.id).await.unwrap().state, State::Cancelling);
    assert_eq!(store.runs().renew(std::slice::from_ref(&claim)).await.unwrap(), [(claim.clone(), 1)]);
    writer.commit(&claim, Commit::then(Then::Release)).await.unwrap();
    assert_eq!(claim_one(&store).await.run.state, State::Cancelling);
    assert_eq!(cancel(&RunId::generate()).await.unwrap_err().kind(), ErrorKind::NotFound);
}

async fn tries_a_failed_run_again(db: Arc<Backend>) {
    let store = open(&db).await;
    published(&store).await;
    let writer = store.runs().writer();
    let claim = claimed(&store, &slots(1, Overflow::Queue)).await;
    let retry = async || store.runs().retry(&acme(), &claim.run, &record("retry")).await;
    assert_eq!(retry().await.unwrap_err().kind(), ErrorKind::Conflict);
    end(&writer, &claim, State::Failed).await;
    let busy = claimed(&store, &slots(1, Overflow::Queue)).await;
    assert_eq!(retry().await.unwrap().state, State::Queued);
    assert!(
        store.runs().claim(RunKind::Flow, 1, MANY).await.unwrap().is_empty(),
        "it needs a slot as any other"
    );
    end(&writer, &busy, State::Succeeded).await;
    let again = claim_one(&store).await;
    assert_eq!((again.run.id, again.run.ended_at, again.claim.epoch), (claim.run.clone(), None, 2));
    let late = writer.commit(&claim, Commit::of(vec![record("called")])).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Stale);
}

/// FL-13: whoever has nothing to do learns when to look again: of all tenants, and not for what somebody works on.
async fn says_how_long_until_a_run_is_due(db: Arc<Backend>) {
    let store = open(&db).await;
    let (runs, writer) = (store.runs(), store.runs().writer());
    assert_eq!(runs.next_due(RunKind::Flow).await.unwrap(), None);
    let claim = claimed(&store, &new_run()).await;
    assert_eq!(runs.next_due(RunKind::Flow).await.unwrap(), None, "somebody works on it");
    let now = runs.now().await.unwrap();
    writer.commit(&claim, parked(Some(now + 60_000), 0)).await.unwrap();
    let first = runs.next_due(RunKind::Flow).await.unwrap().unwrap();
    assert!((50..=60).contains(&first.as_secs()), "{first:?}");
    start(&store, &other(), &new_run()).await;
    assert_eq!(runs.next_due(RunKind::Flow).await.unwrap(), Some(Duration::ZERO));
    let claim = claim_one(&store).await.claim;
    writer.commit(&claim, parked(Some(now + 30_000), 0)).await.unwrap();
    let second = runs.next_due(RunKind::Flow).await.unwrap().unwrap();
    assert!((20..=30).contains(&second.as_secs()), "{second:?}");
}
