//! Runs: accepted once, claimed by turns, never more at once than may be, answered once, gone in time.

use crate::backend::{Backend, acme, new_tenant, other};
use std::sync::Arc;
use std::time::Duration;
use store::flows::NewDraft;
use store::runs::{
    Claim, ClaimedRun, Commit, Ending, Inserted, NewRecord, NewRun, NewWait, Overflow, Parent, Parking,
    Refusal, Retention, Run, RunFilter, Slots, State, Then, WaitFilter, Writer,
};
use store::{ErrorKind, PageRequest, Store};
use tokio::task::JoinSet;
use tool::{RunId, TenantId};

on_both! {
    keeps_what_a_run_is_given_and_gives
    seals_everything_of_a_secret_run
    one_key_makes_one_run_whoever_comes_first
    accepts_no_run_beyond_the_queue_or_of_a_disabled_flow
    a_queue_of_ten_thousand_hides_nobody_else
    a_thousand_starts_never_exceed_their_slots
    gives_a_freed_slot_to_the_next_and_refuses_on_request
    a_tenant_has_no_more_under_way_than_it_may
    a_parked_run_is_due_at_its_timer_or_when_told
    parks_no_run_that_others_have_told_something
    of_two_answers_at_once_one_wins
    a_child_tells_its_parent_and_goes_with_it
    cancels_at_once_what_has_not_begun
    names_the_runs_that_a_new_one_replaces
    tries_a_failed_run_again
    lists_runs_by_what_is_asked_for
    deletes_what_was_kept_long_enough
    finds_no_run_of_another_tenant
}

pub(crate) const MANY: u32 = 10_000;

pub(crate) fn new_run() -> NewRun {
    NewRun {
        flow: "orders".into(),
        version: Some(1),
        source: None,
        inputs: "{\"orderId\":\"hunter2\"}".into(),
        is_secret: false,
        origin: "{}".into(),
        caller: "{\"id\":\"ada\"}".into(),
        parent: None,
        slots: None,
        dedupe: None,
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

fn slots(limit: u32, overflow: Overflow) -> NewRun {
    NewRun { slots: Some(Slots { key: "a".into(), limit, overflow }), ..new_run() }
}

fn ended(state: State) -> Commit {
    let output = Some("{\"hunter2\":2}".to_owned());
    Commit {
        records: vec![record("ended")],
        ..Commit::then(Then::End(Ending { state, output, error: None }))
    }
}

fn parked(due_at: Option<i64>, seen: i64) -> Commit {
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

pub(crate) async fn claim_one(store: &Store) -> ClaimedRun {
    let [run] = <[_; 1]>::try_from(store.runs().claim(1, MANY).await.unwrap()).unwrap();
    run
}

async fn claimed(store: &Store, new: &NewRun) -> Claim {
    start(store, &acme(), new).await;
    claim_one(store).await.claim
}

async fn end(writer: &Writer, claim: &Claim, state: State) {
    assert!(writer.commit(claim, ended(state)).await.unwrap().is_given_back);
}

async fn state(store: &Store, run: &RunId) -> State {
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
    assert_eq!(store.runs().claim(10, MANY).await.unwrap().len(), 5, "what is accepted goes on");
}

/// Ten thousand runs in one statement: each by itself is tested elsewhere.
async fn queue_many(db: &Backend, count: u32) {
    db.execute(&format!(
        "INSERT INTO runs (tenant, id, flow, state, due_at, epoch, leased_until, last_seq, news_seq, is_admitted,
             is_secret, origin, caller, created_at)
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
         SELECT 'acme', 'r' || CAST(n AS TEXT), 'orders', 'queued', 1, 0, 0, 0, 0, 1, 0, '{{}}', '{{}}', 1 FROM numbers"
    ))
    .await;
}

async fn a_queue_of_ten_thousand_hides_nobody_else(db: Arc<Backend>) {
    let store = open(&db).await;
    queue_many(&db, 10_000).await;
    assert_eq!(store.runs().claim(10, MANY).await.unwrap().len(), 10);
    start(&store, &other(), &new_run()).await;
    let two =
        [store.runs().claim(1, MANY).await.unwrap(), store.runs().claim(1, MANY).await.unwrap()].concat();
    assert_eq!(two.iter().filter(|claimed| claimed.run.tenant == other()).count(), 1);
    start(&store, &other(), &new_run()).await;
    // Nor does one that has all it may.
    assert_eq!(store.runs().claim(1, 5).await.unwrap().len(), 1);
    start(&store, &other(), &new_run()).await;
    let together = store.runs().claim(10, MANY).await.unwrap();
    assert_eq!(together.len(), 10);
    assert_eq!(together.iter().filter(|claimed| claimed.run.tenant == other()).count(), 1);
}

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
        let claimed = store.runs().claim(10, MANY).await.unwrap();
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
    let claimed = store.runs().claim(10, MANY).await.unwrap();
    assert_eq!(claimed.iter().map(|run| &run.run.id).collect::<Vec<_>>(), [&first.id]);
    // A wait does not free it.
    assert!(writer.commit(&claimed[0].claim, parked(None, 0)).await.unwrap().is_given_back);
    assert!(store.runs().claim(10, MANY).await.unwrap().is_empty());
    store.runs().tell(&acme(), &second.id, &record("signal")).await.unwrap();
    assert!(store.runs().claim(10, MANY).await.unwrap().is_empty(), "a signal is no slot");
    store.runs().tell(&acme(), &first.id, &record("signal")).await.unwrap();
    let again = claim_one(&store).await;
    assert_eq!((&again.run.id, again.claim.epoch), (&first.id, 2));
    end(&writer, &again.claim, State::Failed).await;
    assert_eq!(claim_one(&store).await.run.id, second.id);
    // A higher limit lets those in that wait.
    start(&store, &acme(), &slots(3, Overflow::Queue)).await;
    assert_eq!(store.runs().claim(10, MANY).await.unwrap().len(), 2);
}

async fn a_tenant_has_no_more_under_way_than_it_may(db: Arc<Backend>) {
    let stores = [open(&db).await, db.open().await];
    for _ in 0..20 {
        start(&stores[0], &acme(), &new_run()).await;
    }
    let runs = stores.each_ref().map(|store| store.runs());
    let (one, two) = tokio::join!(runs[0].claim(10, 4), runs[1].claim(10, 4));
    let mut held = [one.unwrap(), two.unwrap()].concat();
    assert_eq!(held.len(), 4);
    let at_once = runs[0].insert_and_claim(&acme(), &new_run(), MANY, 4).await.unwrap();
    assert!(matches!(at_once, Inserted::Created(_)), "{at_once:?}");
    let owner =
        if runs[0].renew(std::slice::from_ref(&held[0].claim)).await.unwrap().len() == 1 { 0 } else { 1 };
    end(&runs[owner].writer(), &held.remove(0).claim, State::Succeeded).await;
    assert_eq!(runs[0].claim(10, 4).await.unwrap().len(), 1);
}

async fn a_parked_run_is_due_at_its_timer_or_when_told(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let now = store.runs().now().await.unwrap();
    let claim = claimed(&store, &new_run()).await;
    writer.commit(&claim, parked(Some(now + 400), 0)).await.unwrap();
    assert!(store.runs().claim(1, MANY).await.unwrap().is_empty());
    assert_eq!(state(&store, &claim.run).await, State::Waiting);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let claim = claim_one(&store).await.claim;
    writer.commit(&claim, parked(None, 0)).await.unwrap();
    assert!(store.runs().claim(1, MANY).await.unwrap().is_empty());
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
    let held = store.runs().claim(10, MANY).await.unwrap();
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
    let cancel = async |run: &RunId| {
        store.runs().cancel(&acme(), run, &record("cancel"), &record("child_ended")).await
    };
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

async fn names_the_runs_that_a_new_one_replaces(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let gone = claimed(&store, &slots(1, Overflow::Replace)).await;
    end(&writer, &gone, State::Succeeded).await;
    start(&store, &acme(), &new_run()).await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(start(&store, &acme(), &slots(1, Overflow::Replace)).await.id);
    }
    assert_eq!(store.runs().predecessors(&acme(), &runs[2]).await.unwrap(), runs[..2]);
    assert!(store.runs().predecessors(&other(), &runs[2]).await.unwrap().is_empty());
    for run in &runs[..2] {
        store.runs().cancel(&acme(), run, &record("cancel"), &record("child_ended")).await.unwrap();
    }
    let held = store.runs().claim(10, MANY).await.unwrap();
    assert!(held.iter().any(|run| run.run.id == runs[2]), "the newest has the slot");
}

async fn tries_a_failed_run_again(db: Arc<Backend>) {
    let store = open(&db).await;
    let writer = store.runs().writer();
    let claim = claimed(&store, &slots(1, Overflow::Queue)).await;
    let retry = async || store.runs().retry(&acme(), &claim.run, &record("retry")).await;
    assert_eq!(retry().await.unwrap_err().kind(), ErrorKind::Conflict);
    end(&writer, &claim, State::Failed).await;
    let busy = claimed(&store, &slots(1, Overflow::Queue)).await;
    assert_eq!(retry().await.unwrap().state, State::Queued);
    assert!(store.runs().claim(1, MANY).await.unwrap().is_empty(), "it needs a slot as any other");
    end(&writer, &busy, State::Succeeded).await;
    let again = claim_one(&store).await;
    assert_eq!((again.run.id, again.run.ended_at, again.claim.epoch), (claim.run.clone(), None, 2));
    let late = writer.commit(&claim, Commit::of(vec![record("called")])).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Stale);
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
    let page = store.runs().list(&acme(), &all(), PageRequest { page: 2, limit: 3 }).await.unwrap();
    assert_eq!(page.items.iter().map(|run| &run.id).collect::<Vec<_>>(), [&claim.run], "newest first");
}

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
    assert!(runs.claim(1, MANY).await.unwrap().is_empty(), "runs go with their tenant");
}
