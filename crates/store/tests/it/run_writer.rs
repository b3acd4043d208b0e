//! What owners of runs write: in order, together, and never once somebody else has the run.

use crate::backend::{Backend, acme, new_tenant};
use crate::runs::{MANY, claim_one, create_flow, new_run, open, record, start};
use std::collections::HashSet;
use std::sync::Arc;
use store::runs::{Commit, NewRecord, NewWait, Then};
use store::{ErrorKind, Store};
use tokio::task::JoinSet;
use tool::RunKind;

on_both! {
    two_processes_share_the_work
    claims_for_many_tenants_never_wait_for_each_other
    refuses_what_a_late_owner_writes
    takes_runs_at_once_from_a_process_that_is_known_to_be_gone
    a_process_that_renews_keeps_its_runs
    keeps_the_order_of_each_run_and_loses_nothing
    one_refused_commit_hinders_no_other
    writes_what_was_handed_over_before_it_ends
}

async fn fall_silent(db: &Backend) {
    db.execute("UPDATE runs SET leased_until = 1 WHERE owner IS NOT NULL").await;
}

async fn two_processes_share_the_work(db: Arc<Backend>) {
    let stores = [open(&db).await, db.open().await];
    for _ in 0..60 {
        start(&stores[0], &acme(), &new_run()).await;
    }
    let mut tasks = JoinSet::new();
    for store in stores {
        tasks.spawn(async move {
            let mut mine = Vec::new();
            while mine.len() < 60 {
                let claimed = store.runs().claim(RunKind::Flow, 5, MANY).await.unwrap();
                if claimed.is_empty() {
                    break;
                }
                mine.extend(claimed.into_iter().map(|claimed| claimed.run.id));
                tokio::task::yield_now().await;
            }
            mine
        });
    }
    let all = tasks.join_all().await.concat();
    assert_eq!((all.len(), all.iter().collect::<HashSet<_>>().len()), (60, 60), "each run has one owner");
}

/// Each process begins with another tenant; if each held one and wanted the other's, the database would end one of them.
async fn claims_for_many_tenants_never_wait_for_each_other(db: Arc<Backend>) {
    let stores = [open(&db).await, db.open().await, db.open().await];
    for number in 0..8 {
        let tenant = new_tenant(&format!("tenant{number}"));
        stores[0].tenants().create(tenant.clone()).await.unwrap();
        create_flow(&stores[0], &tenant.id).await;
        for _ in 0..12 {
            start(&stores[0], &tenant.id, &new_run()).await;
        }
    }
    let mut tasks = JoinSet::new();
    for (number, store) in (1..).zip(stores) {
        tasks.spawn(async move {
            let mut count = 0;
            loop {
                match store.runs().claim(RunKind::Flow, number + 2, MANY).await.unwrap().len() {
                    0 => return count,
                    claimed => count += claimed,
                }
            }
        });
    }
    assert_eq!(tasks.join_all().await.iter().sum::<usize>(), 96);
}

async fn refuses_what_a_late_owner_writes(db: Arc<Backend>) {
    let (stopped, other) = (open(&db).await, db.open().await);
    start(&stopped, &acme(), &new_run()).await;
    let lost = claim_one(&stopped).await.claim;
    assert!(other.runs().claim(RunKind::Flow, 1, MANY).await.unwrap().is_empty());
    fall_silent(&db).await;
    let taken = claim_one(&other).await.claim;
    assert_eq!(taken.epoch, lost.epoch + 1);
    let writer = stopped.runs().writer();
    for commit in [Commit::of(vec![record("late")]), Commit::then(Then::Release)] {
        assert_eq!(writer.commit(&lost, commit).await.unwrap_err().kind(), ErrorKind::Stale);
    }
    assert!(stopped.runs().renew(std::slice::from_ref(&lost)).await.unwrap().is_empty());
    // Nor can it pass for the other, whose epoch it may guess.
    assert_eq!(writer.commit(&taken, Commit::of(Vec::new())).await.unwrap_err().kind(), ErrorKind::Stale);
    other.runs().writer().commit(&taken, Commit::of(vec![record("called")])).await.unwrap();
    let journal = stopped.runs().journal(&acme(), &taken.run, 0, 10).await.unwrap();
    assert_eq!(journal.iter().map(|line| line.record.kind.as_str()).collect::<Vec<_>>(), ["called"]);
    // The same process may have it again, under another epoch.
    fall_silent(&db).await;
    let again = claim_one(&other).await.claim;
    let late = other.runs().writer().commit(&taken, Commit::of(vec![record("late")])).await;
    assert_eq!((again.epoch, late.unwrap_err().kind()), (3, ErrorKind::Stale));
}

async fn takes_runs_at_once_from_a_process_that_is_known_to_be_gone(db: Arc<Backend>) {
    let (killed, other) = (open(&db).await, db.open().await);
    start(&killed, &acme(), &new_run()).await;
    start(&killed, &acme(), &new_run()).await;
    let lost = claim_one(&killed).await.claim;
    let kept = claim_one(&other).await.claim;
    let next = db.open().await;
    assert!(next.runs().claim(RunKind::Flow, 10, MANY).await.unwrap().is_empty());
    assert_eq!(next.runs().disown(killed.runs().owner()).await.unwrap(), 1);
    let taken = claim_one(&next).await.claim;
    assert_eq!((&taken.run, taken.epoch), (&lost.run, lost.epoch + 1));
    let late = killed.runs().writer().commit(&lost, Commit::of(vec![record("late")])).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Stale);
    assert_eq!(other.runs().renew(std::slice::from_ref(&kept)).await.unwrap().len(), 1);
}

async fn a_process_that_renews_keeps_its_runs(db: Arc<Backend>) {
    let (one, other) = (open(&db).await, db.open().await);
    let mut claims = Vec::new();
    for _ in 0..450 {
        start(&one, &acme(), &new_run()).await;
    }
    claims.extend(
        one.runs().claim(RunKind::Flow, 450, MANY).await.unwrap().into_iter().map(|claimed| claimed.claim),
    );
    fall_silent(&db).await;
    assert_eq!(one.runs().renew(&claims).await.unwrap().len(), 450);
    assert!(other.runs().claim(RunKind::Flow, 1, MANY).await.unwrap().is_empty());
}

fn numbered(number: usize) -> NewRecord {
    NewRecord { data: number.to_string(), ..record("called") }
}

async fn numbers(store: &Store, claim: &store::runs::Claim) -> Vec<usize> {
    let journal = store.runs().journal(&acme(), &claim.run, 0, 1000).await.unwrap();
    assert!(journal.iter().zip(1..).all(|(line, seq)| line.seq == seq), "the numbers have no gaps");
    journal.iter().map(|line| line.record.data.parse().unwrap()).collect()
}

async fn keeps_the_order_of_each_run_and_loses_nothing(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let mut claims = Vec::new();
    for _ in 0..16 {
        start(&store, &acme(), &new_run()).await;
        claims.push(claim_one(&store).await.claim);
    }
    let mut tasks = JoinSet::new();
    for claim in claims.clone() {
        let writer = writer.clone();
        tasks.spawn(async move {
            // Handed over at once, without waiting for the one before.
            let commits = (0..20)
                .map(|n| writer.commit(&claim, Commit::of(vec![numbered(2 * n), numbered(2 * n + 1)])));
            for done in futures::future::join_all(commits).await {
                done.unwrap();
            }
        });
    }
    tasks.join_all().await;
    for claim in &claims {
        assert_eq!(numbers(&store, claim).await, (0..40).collect::<Vec<_>>());
    }
}

async fn one_refused_commit_hinders_no_other(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let mut claims = Vec::new();
    for _ in 0..10 {
        start(&store, &acme(), &new_run()).await;
        claims.push(claim_one(&store).await.claim);
    }
    db.execute(&format!("UPDATE runs SET epoch = epoch + 1 WHERE id = '{}'", claims[3].run)).await;
    let wait = || NewWait {
        id: "same".into(),
        path: "ok".into(),
        kind: "approval".into(),
        until: None,
        data: "{}".into(),
    };
    writer.commit(&claims[0], Commit { opened: vec![wait()], ..Commit::of(Vec::new()) }).await.unwrap();
    let commit = |n: usize| match n {
        // An id that is taken fails the whole transaction.
        5 => Commit { opened: vec![wait()], ..Commit::of(vec![numbered(0)]) },
        7 => Commit::of(vec![NewRecord { path: "\0".into(), ..numbered(0) }]),
        _ => Commit::of(vec![numbered(0)]),
    };
    let commits = claims.iter().enumerate().map(|(n, claim)| writer.commit(claim, commit(n)));
    let done = futures::future::join_all(commits).await;
    for (n, (done, claim)) in done.into_iter().zip(&claims).enumerate() {
        let expected = match n {
            3 => Some(ErrorKind::Stale),
            5 => Some(ErrorKind::Conflict),
            7 => Some(ErrorKind::Invalid),
            _ => None,
        };
        assert_eq!(done.err().map(|error| error.kind()), expected, "{n}");
        assert_eq!(numbers(&store, claim).await.len(), usize::from(expected.is_none()), "{n}");
    }
}

async fn writes_what_was_handed_over_before_it_ends(db: Arc<Backend>) {
    let store = open(&db).await;
    start(&store, &acme(), &new_run()).await;
    let claim = claim_one(&store).await.claim;
    let writer = store.runs().writer();
    let commit = writer.commit(&claim, Commit::of(vec![numbered(0)]));
    tokio::pin!(commit);
    assert!(futures::poll!(&mut commit).is_pending());
    let copy = writer.clone();
    assert!(copy.commit(&claim, Commit::of(vec![numbered(1)])).await.is_ok());
    assert_eq!(numbers(&store, &claim).await, [0, 1]);
    commit.await.unwrap();
}
