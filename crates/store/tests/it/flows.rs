//! Flows: drafts that go stale, versions that never change, references that guard services.

use crate::backend::{Backend, acme, other};
use crate::runs::{claim_one, new_run, start};
use std::sync::Arc;
use store::flows::{FlowFilter, NewDraft, NewReference, NewTrigger, Publication};
use store::runs::{Commit, Ending, NewRun, State, Then};
use store::{ErrorKind, PageRequest, Store};
use tokio::task::JoinSet;
use tool::Secret;

on_both! {
    refuses_a_draft_that_somebody_changed_meanwhile
    publishes_texts_as_versions_without_gaps
    numbers_versions_once_whoever_publishes
    names_the_nodes_that_need_a_service
    deletes_no_flow_with_runs_under_way
    keeps_what_a_trigger_has_through_a_new_version
    forgets_how_far_a_trigger_came_when_it_looks_elsewhere
    replays_nothing_when_a_trigger_is_let_again
    finds_no_flow_of_another_tenant
}

fn draft(source: &str) -> NewDraft {
    NewDraft { name: "Orders".into(), source: source.into(), references: vec![reference("draft")] }
}

fn reference(node: &str) -> NewReference {
    NewReference { node: node.into(), scheme: "api".into(), service: "crm".into(), tool: "order".into() }
}

fn trigger(name: &str, kind: &str) -> NewTrigger {
    NewTrigger { name: name.into(), kind: kind.into(), settings: "{}".into() }
}

fn publication(source: &str) -> Publication {
    Publication {
        source: source.into(),
        bound: "[]".into(),
        references: vec![reference(source)],
        triggers: Vec::new(),
        published_by: "ada".into(),
        rights: Some("{}".into()),
    }
}

/// The first version of the flow that runs of the tests are of.
pub(crate) async fn published(store: &Store) {
    store.flows().publish(&acme(), "orders", &publication("one"), None).await.unwrap();
}

async fn refuses_a_draft_that_somebody_changed_meanwhile(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let flows = store.flows();
    let flow = flows.create(&acme(), "orders", &draft("one"), "ada").await.unwrap();
    assert_eq!((flow.revision, flow.current, flow.is_enabled), (1, None, true));
    let taken = flows.create(&acme(), "orders", &draft("one"), "ada").await.unwrap_err();
    assert_eq!((taken.kind(), taken.field()), (ErrorKind::Conflict, Some("id")));
    let saved = flows.save_draft(&acme(), "orders", &draft("two"), Some(1)).await.unwrap();
    assert_eq!((saved.revision, saved.draft.as_str()), (2, "two"));
    let stale = flows.save_draft(&acme(), "orders", &draft("three"), Some(1)).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::Stale);
    let stale = flows.publish(&acme(), "orders", &publication("two"), Some(1)).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::Stale);
    assert_eq!(flows.get(&acme(), "orders").await.unwrap(), saved);
    let nul = flows.save_draft(&acme(), "orders", &draft("\0"), None).await.unwrap_err();
    assert_eq!((nul.kind(), nul.field()), (ErrorKind::Invalid, Some("source")));
    assert_eq!(
        flows.save_draft(&acme(), "x", &draft("a"), None).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

async fn publishes_texts_as_versions_without_gaps(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let flows = store.flows();
    flows.create(&acme(), "orders", &draft("one"), "ada").await.unwrap();
    assert!(flows.published(&acme()).await.unwrap().is_empty());
    for (source, current, is_new) in [("one", 1, true), ("one", 1, false), ("two", 2, true), ("one", 3, true)]
    {
        let published = flows.publish(&acme(), "orders", &publication(source), None).await.unwrap();
        assert_eq!((published.flow.current, published.is_new), (Some(current), is_new), "{source}");
    }
    let versions = flows.versions(&acme(), "orders", PageRequest { page: 1, limit: 2 }).await.unwrap();
    assert_eq!(versions.total, 3);
    assert_eq!(
        versions.items.iter().map(|v| (v.version, v.source.as_str())).collect::<Vec<_>>(),
        [(3, ""), (2, "")],
        "lists have no texts"
    );
    assert_eq!(flows.version(&acme(), "orders", 2).await.unwrap().source, "two");
    assert_eq!(flows.version(&acme(), "orders", 4).await.unwrap_err().kind(), ErrorKind::NotFound);
    let by_another = Publication { rights: None, ..publication("one") };
    let published = flows.publish(&acme(), "orders", &by_another, None).await.unwrap();
    assert_eq!(
        (published.flow.current, published.is_new),
        (Some(4), true),
        "other rights are another version"
    );
    let rights = async |version| flows.version(&acme(), "orders", version).await.unwrap().rights;
    assert_eq!((rights(3).await.as_deref(), rights(4).await), (Some("{}"), None));
    let [(flow, version)] = <[_; 1]>::try_from(flows.published(&acme()).await.unwrap()).unwrap();
    assert_eq!((flow.id.as_str(), version.version), ("orders", 4));
}

async fn numbers_versions_once_whoever_publishes(db: Arc<Backend>) {
    let stores = [db.open_with_tenants().await, db.open().await];
    stores[0].flows().create(&acme(), "orders", &draft("one"), "ada").await.unwrap();
    let mut tasks = JoinSet::new();
    for n in 0..20 {
        let store = stores[n % 2].clone();
        tasks.spawn(async move {
            let publication = publication(&format!("text {}", n / 2));
            store.flows().publish(&acme(), "orders", &publication, None).await.unwrap()
        });
    }
    let published = tasks.join_all().await;
    let new = published.iter().filter(|published| published.is_new).count();
    let versions = stores[0].flows().versions(&acme(), "orders", PageRequest::default()).await.unwrap();
    assert_eq!(usize::try_from(versions.total).unwrap(), new);
    assert_eq!(usize::try_from(versions.items[0].version).unwrap(), new);
}

async fn names_the_nodes_that_need_a_service(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let flows = store.flows();
    flows.create(&acme(), "orders", &draft("one"), "ada").await.unwrap();
    for source in ["one", "two", "three"] {
        flows.publish(&acme(), "orders", &publication(source), None).await.unwrap();
    }
    let found = async || {
        let found = flows.references(&acme(), "api", "crm").await.unwrap();
        found.into_iter().map(|reference| (reference.version, reference.node)).collect::<Vec<_>>()
    };
    let [of_draft, first, current] = [(None, "draft"), (Some(1), "one"), (Some(3), "three")]
        .map(|(version, node)| (version, node.to_owned()));
    assert_eq!(found().await, [of_draft.clone(), current.clone()]);
    start(&store, &acme(), &NewRun { version: Some(1), ..new_run() }).await;
    assert_eq!(found().await, [of_draft.clone(), first, current.clone()], "a run keeps its version");
    let ending = Ending { state: State::Failed, output: None, error: Some("{}".into()) };
    let claim = claim_one(&store).await.claim;
    store.runs().writer().commit(&claim, Commit::then(Then::End(ending))).await.unwrap();
    assert_eq!(found().await, [of_draft, current.clone()]);
    let nothing = NewDraft { references: Vec::new(), ..draft("four") };
    flows.save_draft(&acme(), "orders", &nothing, None).await.unwrap();
    assert_eq!(found().await, [current]);
    assert!(flows.references(&acme(), "mcp", "crm").await.unwrap().is_empty());
    assert!(flows.references(&other(), "api", "crm").await.unwrap().is_empty());
}

async fn deletes_no_flow_with_runs_under_way(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let flows = store.flows();
    flows.create(&acme(), "orders", &draft("one"), "ada").await.unwrap();
    let run = start(&store, &acme(), &new_run()).await;
    assert_eq!(flows.delete(&acme(), "orders").await.unwrap_err().kind(), ErrorKind::Conflict);
    let claim = claim_one(&store).await.claim;
    let ending = Ending { state: State::Succeeded, output: None, error: None };
    store.runs().writer().commit(&claim, Commit::then(Then::End(ending))).await.unwrap();
    flows.delete(&acme(), "orders").await.unwrap();
    assert_eq!(flows.delete(&acme(), "orders").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(
        store.runs().get(&acme(), &run.id).await.unwrap().state,
        State::Succeeded,
        "what was stays known"
    );
}

async fn keeps_what_a_trigger_has_through_a_new_version(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let flows = store.flows();
    flows.create(&acme(), "orders", &draft("one"), "ada").await.unwrap();
    let with = |source: &str, triggers: &[NewTrigger]| Publication {
        triggers: triggers.to_vec(),
        ..publication(source)
    };
    let both = [trigger("hook", "webhook"), trigger("nightly", "schedule")];
    flows.publish(&acme(), "orders", &with("one", &both), None).await.unwrap();
    flows.set_trigger_secret(&acme(), "orders", "hook", "h1", &Secret::new("hunter2")).await.unwrap();
    let hook = flows.trigger(&acme(), "orders", "hook").await.unwrap();
    flows.set_trigger_mark(&hook, "far").await.unwrap();
    flows.set_trigger_enabled(&acme(), "orders", "hook", false).await.unwrap();
    let changed = [trigger("hook", "webhook"), trigger("nightly", "message")];
    flows.publish(&acme(), "orders", &with("two", &changed), None).await.unwrap();
    store.rotate_master_key().await.unwrap();
    let hook = flows.trigger_of_hook("h1").await.unwrap().unwrap();
    assert_eq!((hook.secret.as_ref().unwrap().expose(), hook.is_enabled), ("hunter2", false));
    assert_eq!((hook.mark.as_deref(), hook.flow.as_str(), hook.tenant), (Some("far"), "orders", acme()));
    assert!(flows.live_triggers("schedule").await.unwrap().is_empty());
    assert_eq!(flows.live_triggers("message").await.unwrap().len(), 1);
    flows.set_enabled(&acme(), "orders", false).await.unwrap();
    assert!(flows.live_triggers("message").await.unwrap().is_empty());
    flows.publish(&acme(), "orders", &with("three", &[]), None).await.unwrap();
    assert!(flows.triggers(&acme(), "orders").await.unwrap().is_empty());
    let gone = flows.set_trigger_enabled(&acme(), "orders", "hook", true).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
}

/// How far a trigger has come says nothing of another place or another clock; all else of it stays.
async fn forgets_how_far_a_trigger_came_when_it_looks_elsewhere(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let flows = store.flows();
    flows.create(&acme(), "orders", &draft("one"), "ada").await.unwrap();
    let mut number = 0;
    let mut publish = async |kind: &str, settings: &str| {
        number += 1;
        let triggers = vec![NewTrigger { settings: settings.into(), ..trigger("it", kind) }];
        let publication = Publication { triggers, ..publication(&format!("{kind} {number}")) };
        flows.publish(&acme(), "orders", &publication, None).await.unwrap();
    };
    let schedule = [
        (r#"{"cron":"0 3 * * *","timezone":null,"catch_up":"all"}"#, false),
        (r#"{"cron":"0 3 * * *","timezone":null,"catch_up":"last"}"#, true),
        (r#"{"cron":"*/5 * * * *","timezone":null,"catch_up":"last"}"#, false),
        (r#"{"cron":"*/5 * * * *","timezone":"Asia/Tokyo","catch_up":"last"}"#, false),
    ];
    let file = [
        (r#"{"from":"oss://a","prefix":"in/","every":1000}"#, false),
        (r#"{"from":"oss://a","prefix":"in/","every":2000}"#, true),
        (r#"{"from":"oss://a","prefix":"out/","every":2000}"#, false),
        (r#"{"from":"oss://b","prefix":"out/","every":2000}"#, false),
    ];
    let table = [
        (r#"{"table":"0198c0de-0000-7000-8000-000000000001","on":["add"]}"#, false),
        (r#"{"table":"0198c0de-0000-7000-8000-000000000001","on":["remove"]}"#, true),
        (r#"{"table":"0198c0de-0000-7000-8000-000000000002","on":["remove"]}"#, false),
    ];
    for (kind, all) in [("schedule", &schedule[..]), ("file", &file), ("table", &table)] {
        for (settings, is_kept) in all {
            publish(kind, settings).await;
            let found = flows.trigger(&acme(), "orders", "it").await.unwrap();
            assert_eq!(found.mark.is_some(), *is_kept, "{settings}");
            assert_eq!(
                (found.settings.as_str(), found.is_enabled),
                (*settings, *settings == all[0].0),
                "{settings}"
            );
            flows.set_trigger_enabled(&acme(), "orders", "it", false).await.unwrap();
            flows.set_trigger_mark(&found, "far").await.unwrap();
        }
    }
    // Whoever looked before it was changed has nothing to say of it any more.
    let old = flows.trigger(&acme(), "orders", "it").await.unwrap();
    publish("table", schedule[0].0).await;
    let stale = flows.set_trigger_mark(&old, "farther").await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::NotFound);
}

async fn replays_nothing_when_a_trigger_is_let_again(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let flows = store.flows();
    flows.create(&acme(), "orders", &draft("one"), "ada").await.unwrap();
    let triggers = vec![trigger("hook", "webhook")];
    flows.publish(&acme(), "orders", &Publication { triggers, ..publication("one") }, None).await.unwrap();
    let mark = async || flows.trigger(&acme(), "orders", "hook").await.unwrap().mark;
    for is_of_flow in [false, true] {
        let hook = flows.trigger(&acme(), "orders", "hook").await.unwrap();
        flows.set_trigger_mark(&hook, "far").await.unwrap();
        for (is_enabled, expected) in [(true, Some("far")), (false, Some("far")), (true, None)] {
            match is_of_flow {
                true => drop(flows.set_enabled(&acme(), "orders", is_enabled).await.unwrap()),
                false => flows.set_trigger_enabled(&acme(), "orders", "hook", is_enabled).await.unwrap(),
            }
            assert_eq!(mark().await.as_deref(), expected, "{is_of_flow} {is_enabled}");
        }
    }
    let (hook, secret) = flows.rotate_trigger_secret(&acme(), "orders", "hook").await.unwrap();
    let (same, other_secret) = flows.rotate_trigger_secret(&acme(), "orders", "hook").await.unwrap();
    assert!(hook == same && secret.expose() != other_secret.expose(), "the address stays");
    let found = flows.trigger_of_hook(&hook).await.unwrap().unwrap();
    assert_eq!(found.secret.unwrap().expose(), other_secret.expose());
    let foreign = flows.rotate_trigger_secret(&other(), "orders", "hook").await.unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::NotFound);
}

async fn finds_no_flow_of_another_tenant(db: Arc<Backend>) {
    let store = db.open_with_tenants().await;
    let flows = store.flows();
    flows.create(&acme(), "orders", &draft("one"), "ada").await.unwrap();
    flows.publish(&acme(), "orders", &publication("one"), None).await.unwrap();
    let page = PageRequest::default();
    let kinds = [
        flows.get(&other(), "orders").await.map(|_| ()).unwrap_err().kind(),
        flows.version(&other(), "orders", 1).await.map(|_| ()).unwrap_err().kind(),
        flows.publish(&other(), "orders", &publication("x"), None).await.map(|_| ()).unwrap_err().kind(),
        flows.set_enabled(&other(), "orders", false).await.map(|_| ()).unwrap_err().kind(),
        flows.delete(&other(), "orders").await.unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::NotFound; 5]);
    assert_eq!(flows.list(&other(), &FlowFilter::default(), page).await.unwrap().total, 0);
    let filter = |text: &str| FlowFilter { text: Some(text.into()), is_enabled: Some(true) };
    assert_eq!(flows.list(&acme(), &filter("ORD"), page).await.unwrap().total, 1);
    assert_eq!(flows.list(&acme(), &filter("%"), page).await.unwrap().total, 0);
}
