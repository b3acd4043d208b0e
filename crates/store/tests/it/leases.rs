//! Leases: one process at a time, another one when it falls silent, and nothing from whoever comes too late.

use crate::backend::{Backend, Kind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use store::{ErrorKind, Store};
use tokio::task::JoinSet;

on_both! {
    one_of_two_processes_has_a_lease
    takes_over_from_a_process_that_fell_silent
    takes_over_at_once_from_a_process_that_ended
    a_process_that_renews_keeps_its_lease
    work_under_one_lease_never_runs_twice_at_once
    work_that_lost_its_lease_is_dropped
}

const SHORT: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(60);

async fn replicas(db: &Backend) -> (Store, Store) {
    (db.open().await, db.open().await)
}

async fn one_of_two_processes_has_a_lease(db: Arc<Backend>) {
    let (one, other) = replicas(&db).await;
    let lease = one.leases().claim("upkeep", LONG).await.unwrap().unwrap();
    assert_eq!((lease.name(), lease.epoch()), ("upkeep", 1));
    assert!(other.leases().claim("upkeep", LONG).await.unwrap().is_none());
    assert!(one.leases().claim("upkeep", LONG).await.unwrap().is_none(), "nor another task of the process");
    assert!(other.leases().claim("something else", LONG).await.unwrap().is_some());
    lease.release().await.unwrap();
    let next = other.leases().claim("upkeep", LONG).await.unwrap().unwrap();
    assert_eq!(next.epoch(), 2);
    assert_ne!(next.owner(), lease.owner());
}

async fn takes_over_from_a_process_that_fell_silent(db: Arc<Backend>) {
    let (killed, other) = replicas(&db).await;
    let lost = killed.leases().claim("upkeep", SHORT).await.unwrap().unwrap();
    assert!(other.leases().claim("upkeep", SHORT).await.unwrap().is_none());
    tokio::time::sleep(SHORT * 2).await;
    let taken = other.leases().claim("upkeep", LONG).await.unwrap().unwrap();
    assert_eq!(taken.epoch(), lost.epoch() + 1);
    // It was not dead, only late: what it does under its old epoch is refused and changes nothing.
    assert_eq!(lost.renew().await.unwrap_err().kind(), ErrorKind::Stale);
    lost.release().await.unwrap();
    assert!(
        killed.leases().claim("upkeep", LONG).await.unwrap().is_none(),
        "it cannot end the other's lease"
    );
    taken.renew().await.unwrap();
}

/// A schedule is not late because the server was started anew.
async fn takes_over_at_once_from_a_process_that_ended(db: Arc<Backend>) {
    let (first, other) = replicas(&db).await;
    assert!(first.leases().claim("upkeep", LONG).await.unwrap().is_some());
    let kept = other.leases().claim("search", LONG).await.unwrap().unwrap();
    first.close().await;
    let next = other.leases().claim("upkeep", LONG).await.unwrap();
    assert!(next.is_some(), "it was given back");
    kept.renew().await.unwrap();
    if matches!(db.kind, Kind::Sqlite) {
        // Killed, and nobody else is there.
        drop((other, next, kept));
        let started = db.open().await;
        assert!(started.leases().claim("upkeep", LONG).await.unwrap().is_some());
    }
}

async fn a_process_that_renews_keeps_its_lease(db: Arc<Backend>) {
    let (one, other) = replicas(&db).await;
    let lease = one.leases().claim("upkeep", SHORT).await.unwrap().unwrap();
    let kept = tokio::spawn({
        let lease = lease.clone();
        async move { lease.keep().await }
    });
    tokio::time::sleep(SHORT * 3).await;
    assert!(other.leases().claim("upkeep", SHORT).await.unwrap().is_none());
    kept.abort();
}

async fn work_under_one_lease_never_runs_twice_at_once(db: Arc<Backend>) {
    let (one, other) = replicas(&db).await;
    let (running, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = JoinSet::new();
    for store in [one.clone(), one, other.clone(), other] {
        let (running, done) = (running.clone(), done.clone());
        tasks.spawn(async move {
            for _ in 0..10 {
                let work = async |_| {
                    assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two at once");
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    running.fetch_sub(1, Ordering::SeqCst);
                };
                if store.leases().run("upkeep", LONG, work).await.unwrap().is_some() {
                    done.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert!(done.load(Ordering::SeqCst) > 0);
}

async fn work_that_lost_its_lease_is_dropped(db: Arc<Backend>) {
    let store = db.open().await;
    let work = async |_| {
        db.execute("UPDATE leases SET epoch = epoch + 1").await;
        std::future::pending::<()>().await;
    };
    let lost = store.leases().run("upkeep", SHORT, work).await.unwrap_err();
    assert_eq!(lost.kind(), ErrorKind::Stale);
}
