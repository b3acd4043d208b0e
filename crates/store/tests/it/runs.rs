//! Runs: accepted once, kept with all they did, sealed where they are secret, gone in time.

use crate::backend::{Backend, acme, new_tenant, other};
use std::sync::Arc;
use std::time::Duration;
use store::flows::NewDraft;
use store::runs::{
    Cancellation, Claim, ClaimedRun, Commit, Ending, Inserted, NewRecord, NewRun, Overflow, Parking, Refusal,
    Retention, Run, RunFilter, Slots, State, Then, Writer,
};
use store::{ErrorKind, PageRequest, Store};
use tokio::task::JoinSet;
use tool::{RunId, RunKind, TenantId};

on_both! {
    keeps_what_a_run_is_given_and_gives
    seals_everything_of_a_secret_run
    one_key_makes_one_run_whoever_comes_first
    accepts_no_run_beyond_the_queue_or_of_a_disabled_flow
    lists_runs_by_what_is_asked_for
    deletes_what_was_kept_long_enough
    finds_no_run_of_another_tenant
}

pub(crate) const MANY: u32 = 10_000;

pub(crate) fn new_run() -> NewRun {
    NewRun {
        id: None,
        flow: "orders".into(),
        agent: None,
        version: Some(1),
        source: None,
        inputs: "{\"orderId\":\"hunter2\"}".into(),
        is_secret: false,
        origin: "{}".into(),
        caller: "{\"id\":\"ada\"}".into(),
        parent: None,
        slots: None,
        dedupe: None,
        conversation: None,
        records: Vec::new(),
    }
}

pub(crate) fn record(kind: &str) -> NewRecord {
    NewRecord {
        at: 1,
        path: "ship[3].send".into(),
        attempt: 1,
        kind: kind.into(),
        data: "{\"hunter2\":1}".into(),
    }
}

pub(crate) fn cancellation() -> Cancellation {
    Cancellation { record: record("cancel"), to_parent: record("child_ended") }
}

pub(crate) fn slots(limit: u32, overflow: Overflow) -> NewRun {
    NewRun { slots: Some(Slots { key: "a".into(), limit, overflow }), ..new_run() }
}

pub(crate) fn ended(state: State) -> Commit {
    let output = Some("{\"hunter2\":2}".to_owned());
    Commit {
        records: vec![record("ended")],
        ..Commit::then(Then::End(Ending { state, output, error: None }))
    }
}

pub(crate) fn parked(due_at: Option<i64>, seen: i64) -> Commit {
    Commit::then(Then::Park(Parking { state: State::Waiting, due_at, seen }))
}

/// With the flow `orders` in both tenants.
pub(crate) async fn open(db: &Backend) -> Store {
    let store = db.open_with_tenants().await;
    for tenant in [acme(), other()] {
        create_flow(&store, &tenant).await;
    }
    store
}

pub(crate) async fn create_flow(store: &Store, tenant: &TenantId) {
    let draft = NewDraft { name: "Orders".into(), source: "nodes: {}".into(), references: Vec::new() };
    store.flows().create(tenant, "orders", &draft, "ada").await.unwrap();
}

pub(crate) async fn start(store: &Store, tenant: &TenantId, new: &NewRun) -> Run {
    match store.runs().insert(tenant, new, MANY).await.unwrap() {
        Inserted::Created(run) => run,
        what => panic!("{what:?}"),
    }
}

/// Whoever has just lost a race for the run may still have its row for a moment: then it is passed over, and looked for again
/// as the worker does.
pub(crate) async fn claim_one(store: &Store) -> ClaimedRun {
    for _ in 0..100 {
        if let Some(run) = store.runs().claim(RunKind::Flow, 1, MANY).await.unwrap().pop() {
            return run;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no run is due");
}

pub(crate) async fn claimed(store: &Store, new: &NewRun) -> Claim {
    start(store, &acme(), new).await;
    claim_one(store).await.claim
}

pub(crate) async fn end(writer: &Writer, claim: &Claim, state: State) {
    assert!(writer.commit(claim, ended(state)).await.unwrap().is_given_back);
}

pub(crate) async fn state(store: &Store, run: &RunId) -> State {
    store.runs().get(&acme(), run).await.unwrap().state
}

async fn keeps_what_a_run_is_given_and_gives(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let new = NewRun {
        version: None,
        source: Some("nodes: {}".into()),
        records: vec![record("begun")],
        ..new_run()
    };
    let run = start(&store, &acme(), &new).await;
    assert_eq!((run.state, run.version, run.last_seq, run.started_at), (State::Queued, None, 1, None));
    let Inserted::Claimed(at_once) =
        store.runs().insert_and_claim(&acme(), &new_run(), MANY, 2).await.unwrap()
    else {
        panic!("not claimed")
    };
    assert_eq!((at_once.run.state, at_once.claim.epoch), (State::Running, 1));
    let claim = claim_one(&store).await.claim;
    assert_eq!(claim.run, run.id);
    assert_eq!(writer.commit(&claim, Commit::of(vec![record("called")])).await.unwrap().last_seq, 2);
    end(&writer, &claim, State::Succeeded).await;
    let run = store.runs().get(&acme(), &run.id).await.unwrap();
    assert_eq!((run.state, run.last_seq, run.due_at), (State::Succeeded, 3, None));
    assert!(run.created_at <= run.started_at.unwrap() && run.started_at <= run.ended_at);
    let data = store.runs().data(&acme(), &run.id).await.unwrap();
    assert_eq!((data.source.as_deref(), data.inputs), (Some("nodes: {}"), new.inputs));
    assert_eq!((data.output.as_deref(), data.error), (Some("{\"hunter2\":2}"), None));
    let journal = store.runs().journal(&acme(), &run.id, 1, 100).await.unwrap();
    assert_eq!(journal.iter().map(|line| line.record.kind.as_str()).collect::<Vec<_>>(), ["called", "ended"]);
    assert!(journal[0].record == record("called") && journal[0].seq == 2 && !journal[0].is_news);
    let late = writer.commit(&claim, Commit::of(vec![record("called")])).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Stale, "nothing is written behind the end");
}

async fn seals_everything_of_a_secret_run(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let new = NewRun { is_secret: true, records: vec![record("begun")], ..new_run() };
    let claim = claimed(&store, &new).await;
    store.runs().tell(&acme(), &claim.run, &record("signal")).await.unwrap();
    end(&writer, &claim, State::Succeeded).await;
    let check = async || {
        let data = store.runs().data(&acme(), &claim.run).await.unwrap();
        assert_eq!((data.inputs, data.output.as_deref()), (new.inputs.clone(), Some("{\"hunter2\":2}")));
        let journal = store.runs().journal(&acme(), &claim.run, 0, 100).await.unwrap();
        assert_eq!(journal.len(), 3);
        assert!(journal.iter().all(|line| line.record.data == "{\"hunter2\":1}"));
    };
    check().await;
    for table in ["run_data", "run_journal"] {
        let column = if table == "run_data" { "inputs || output" } else { "data" };
        let sql = format!("SELECT {column} FROM {table}");
        let rows: Vec<(String,)> =
            sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_all(&mut db.raw().await).await.unwrap();
        assert!(!rows.is_empty() && rows.iter().all(|(text,)| !text.contains("hunter2")), "{table}");
    }
    store.rotate_master_key().await.unwrap();
    check().await;
}

async fn one_key_makes_one_run_whoever_comes_first(db: Arc<Backend>) {
    let stores = [open(&db).await, db.open().await];
    let new = NewRun { dedupe: Some(("k".into(), Duration::from_secs(60))), ..new_run() };
    let mut starts = JoinSet::new();
    for n in 0..20 {
        let (store, new) = (stores[n % 2].clone(), new.clone());
        starts.spawn(async move { store.runs().insert(&acme(), &new, MANY).await.unwrap() });
    }
    let (mut created, mut known) = (Vec::new(), Vec::new());
    while let Some(inserted) = starts.join_next().await {
        match inserted.unwrap() {
            Inserted::Created(run) => created.push(run.id),
            Inserted::Known(run) => known.push(run.id),
            what => panic!("{what:?}"),
        }
    }
    assert_eq!((created.len(), known.len()), (1, 19));
    assert!(known.iter().all(|run| *run == created[0]));
    start(&stores[0], &other(), &new).await;
    db.execute("UPDATE run_dedupe SET until = 1").await;
    let second = start(&stores[0], &acme(), &new).await;
    db.execute(&format!("DELETE FROM runs WHERE id = '{}'", second.id)).await;
    start(&stores[0], &acme(), &new).await;
}

async fn accepts_no_run_beyond_the_queue_or_of_a_disabled_flow(db: Arc<Backend>) {
    let store = open(&db).await;
    let new = NewRun { dedupe: Some(("k".into(), Duration::from_secs(60))), ..new_run() };
    for _ in 0..3 {
        start(&store, &acme(), &new_run()).await;
    }
    let full = store.runs().insert(&acme(), &new, 3).await.unwrap();
    assert!(matches!(full, Inserted::Refused(Refusal::QueueFull)), "{full:?}");
    start(&store, &other(), &new_run()).await;
    // What was not accepted has left no key behind.
    start(&store, &acme(), &new).await;
    store.flows().set_enabled(&acme(), "orders", false).await.unwrap();
    let off = store.runs().insert(&acme(), &new_run(), MANY).await.unwrap_err();
    assert_eq!(off.kind(), ErrorKind::Conflict);
    let unknown = NewRun { flow: "nothing".into(), ..new_run() };
    assert_eq!(store.runs().insert(&acme(), &unknown, MANY).await.unwrap_err().kind(), ErrorKind::NotFound);
    let alike = NewRun { flow: "agent://helper".into(), ..new_run() };
    assert_eq!(store.runs().insert(&acme(), &alike, MANY).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(
        store.runs().claim(RunKind::Flow, 10, MANY).await.unwrap().len(),
        5,
        "what is accepted goes on"
    );
}

/// Ten thousand runs in one statement: each by itself is tested elsewhere.
pub(crate) async fn queue_many(db: &Backend, count: u32) {
    db.execute(&format!(
        "INSERT INTO runs (tenant, id, flow, state, due_at, epoch, leased_until, last_seq, news_seq, is_admitted,
             is_secret, origin, caller, created_at)
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
         SELECT 'acme', 'r' || CAST(n AS TEXT), 'orders', 'queued', 1, 0, 0, 0, 0, 1, 0, '{{}}', '{{}}', 1 FROM numbers"
    ))
    .await;
}

async fn lists_runs_by_what_is_asked_for(db: Arc<Backend>) {
    let store = open(&db).await;
    let claim = claimed(&store, &new_run()).await;
    for _ in 0..3 {
        start(&store, &acme(), &new_run()).await;
    }
    let count = async |filter: RunFilter| {
        store.runs().list(&acme(), &filter, PageRequest { page: 1, limit: 2 }).await.unwrap().total
    };
    let all = RunFilter::default;
    assert_eq!(count(all()).await, 4);
    assert_eq!(count(RunFilter { state: Some(State::Queued), ..all() }).await, 3);
    assert_eq!(count(RunFilter { flow: Some("orders".into()), ..all() }).await, 4);
    assert_eq!(count(RunFilter { flow: Some("x".into()), ..all() }).await, 0);
    let at = store.runs().get(&acme(), &claim.run).await.unwrap().created_at;
    assert_eq!(count(RunFilter { from: Some(at), ..all() }).await, 4);
    assert_eq!(count(RunFilter { to: Some(at), ..all() }).await, 0);
    assert_eq!(count(RunFilter { is_live: Some(true), ..all() }).await, 4);
    let page = store.runs().list(&acme(), &all(), PageRequest { page: 2, limit: 3 }).await.unwrap();
    assert_eq!(page.items.iter().map(|run| &run.id).collect::<Vec<_>>(), [&claim.run], "newest first");
    end(&store.runs().writer(), &claim, State::Succeeded).await;
    assert_eq!((count(all()).await, count(RunFilter { is_live: Some(true), ..all() }).await), (4, 3));
}

/// FL-31: what ended long ago goes, and never a run that lives.
async fn deletes_what_was_kept_long_enough(db: Arc<Backend>) {
    let store = open(&db).await;
    queue_many(&db, 500).await;
    db.execute("UPDATE runs SET state = 'succeeded', due_at = NULL, ended_at = 1").await;
    let writer = store.runs().writer();
    let [fresh, failed] =
        [claimed(&store, &new_run()).await, claimed(&store, &slots(1, Overflow::Queue)).await];
    end(&writer, &fresh, State::Succeeded).await;
    end(&writer, &failed, State::Failed).await;
    db.execute(&format!("UPDATE runs SET ended_at = ended_at - 1000000 WHERE id = '{}'", failed.run)).await;
    let live = start(&store, &acme(), &new_run()).await;
    assert_eq!(store.runs().delete(&acme(), &live.id).await.unwrap_err().kind(), ErrorKind::Conflict);
    let retention = Retention { succeeded: Duration::from_secs(100), failed: Duration::from_secs(10_000) };
    assert_eq!(store.runs().sweep(retention).await.unwrap(), 500);
    let retention = Retention { failed: Duration::from_secs(100), ..retention };
    assert_eq!(store.runs().sweep(retention).await.unwrap(), 1);
    assert_eq!(store.runs().get(&acme(), &failed.run).await.unwrap_err().kind(), ErrorKind::NotFound);
    store.runs().delete(&acme(), &fresh.run).await.unwrap();
    for table in ["run_journal", "run_slots WHERE group_key <> ''"] {
        let sql = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
        let (count,): (i64,) = sqlx::query_as(sql).fetch_one(&mut db.raw().await).await.unwrap();
        assert_eq!(count, 0, "{table}");
    }
    assert_eq!(state(&store, &live.id).await, State::Queued);
}

async fn finds_no_run_of_another_tenant(db: Arc<Backend>) {
    let store = open(&db).await;
    store.tenants().create(new_tenant("third")).await.unwrap();
    let run = start(&store, &acme(), &new_run()).await;
    let runs = store.runs();
    let kinds = [
        runs.get(&other(), &run.id).await.map(|_| ()).unwrap_err().kind(),
        runs.data(&other(), &run.id).await.map(|_| ()).unwrap_err().kind(),
        runs.tell(&other(), &run.id, &record("signal")).await.unwrap_err().kind(),
        runs.retry(&other(), &run.id, &record("retry")).await.map(|_| ()).unwrap_err().kind(),
        runs.delete(&other(), &run.id).await.unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::NotFound; 5]);
    assert!(runs.journal(&other(), &run.id, 0, 10).await.unwrap().is_empty());
    assert_eq!(runs.list(&other(), &RunFilter::default(), PageRequest::default()).await.unwrap().total, 0);
    store.tenants().delete(&acme()).await.unwrap();
    assert!(runs.claim(RunKind::Flow, 1, MANY).await.unwrap().is_empty(), "runs go with their tenant");
}
