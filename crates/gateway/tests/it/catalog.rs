//! Snapshots: what is listed, and what a reload does to calls.

use crate::support::*;
use gateway::{ServiceDefinition, TenantDefinition};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tool::{ErrorKind, Limits};

fn names(world: &World) -> Vec<String> {
    world.gateway.list(&context()).iter().map(|route| route.name.clone()).collect()
}

/// HT-4.1, HT-4.2
#[tokio::test]
async fn lists_tools_sorted_with_the_service_in_name_and_description() {
    let world = World::with(vec![service("m", json!({}))]).await;
    assert_eq!(names(&world)[..3], ["m__data", "m__down", "m__find"]);
    let listed = &world.gateway.list(&context())[2].listed;
    let listed: serde_json::Value = serde_json::from_slice(listed).unwrap();
    assert_eq!(listed["description"], "[m] Finds.");
    assert_eq!(listed["inputSchema"]["required"], json!(["query"]));
}

/// HT-4.4
#[tokio::test]
async fn one_tenant_never_sees_or_calls_anothers_tools() {
    let world = World::new();
    world.load("other", vec![service("m", json!({}))]).await;
    assert!(world.gateway.list(&context()).is_empty());
    for target in ["m__say", "memory://m/say"] {
        assert_eq!(world.call(target, json!({})).await.unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[tokio::test]
async fn a_service_that_is_away_is_said_to_be_once() {
    let why = "the server 'm' is not available: nobody is there";
    let world = World::with(vec![service("m", json!({ "broken": why }))]).await;
    let error = world.call("memory://m/say", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.message(), format!("{why} (service memory://m)"));
}

/// SC-3: what the settings name can be called at once; for the rest a call waits as long as it may, and is not told that
/// there is no such tool.
#[tokio::test]
async fn a_call_waits_for_a_service_that_has_never_said_what_it_offers() {
    let world = World::with(vec![service("m", json!({ "waits": true, "greeting": "hello" }))]).await;
    assert_eq!(names(&world), ["m__say"]);
    assert!(world.call("memory://m/say", json!({})).await.unwrap().contains("hello"));
    let brief = context().for_at_most(Duration::from_millis(50));
    for target in ["memory://m/data?timeout=50", "m__data"] {
        let error = world.call_as(&brief, target, json!({})).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error:?}");
        assert!(error.message().contains("memory://m has not said yet what it offers"), "{error}");
    }
    let cancelled = context();
    cancelled.cancel.cancel();
    let error = world.call_as(&cancelled, "m__data", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let mut call = std::pin::pin!(world.call("memory://m/data", json!({})));
    assert!(futures::poll!(call.as_mut()).is_pending());
    HEARD.add_permits(1);
    assert!(call.await.unwrap().contains("items"));
    let error = world.call("memory://m/nothing", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// SC-3
#[tokio::test]
async fn a_reload_does_not_disturb_a_call_in_flight() {
    let world = World::with(vec![service("m", json!({ "greeting": "old" }))]).await;
    let cx = context();
    let gateway = world.gateway.clone();
    let waiting = {
        let cx = cx.clone();
        tokio::spawn(async move { gateway.call(&cx, request("m__sleep", &json!({}))).await })
    };
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let mut new = service("m", json!({ "greeting": "new" }));
    new.version = 2;
    world.load("acme", vec![new]).await;
    assert!(world.call("m__say", json!({})).await.unwrap().contains("new"));
    assert!(!waiting.is_finished());
    cx.cancel.cancel();
    assert_eq!(waiting.await.unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
}

/// SC-3
#[tokio::test]
async fn services_that_did_not_change_are_not_opened_again() {
    let world = World::with(vec![service("a", json!({})), service("b", json!({}))]).await;
    let route = world.gateway.list(&context())[0].clone();
    let mut changed = service("b", json!({}));
    changed.version = 2;
    world.load("acme", vec![service("a", json!({})), changed]).await;
    assert!(std::sync::Arc::ptr_eq(&route, &world.gateway.list(&context())[0]));
    assert!(OPENED.load(Ordering::SeqCst) >= 3);
    world.load("acme", vec![]).await;
    assert!(names(&world).is_empty());
}

#[tokio::test]
async fn two_tools_that_want_one_name_both_stay_callable() {
    let mut other = service("m", json!({ "greeting": "from other" }));
    other.scheme = "other".into();
    let world = World::with(vec![service("m", json!({ "greeting": "from memory" })), other]).await;
    let id = "acme".parse().unwrap();
    let catalog = world.gateway.catalog().tenant(&id).unwrap();
    assert_eq!(catalog.collisions().len(), 7);
    let collision = catalog.collisions().iter().find(|collision| collision.name == "m__say").unwrap();
    assert_eq!((collision.kept_by.as_str(), collision.renamed.as_str()), ("memory://m/say", "other://m/say"));
    assert!(world.call("m__say", json!({})).await.unwrap().contains("from memory"));
    assert!(world.call(&collision.renamed_to, json!({})).await.unwrap().contains("from other"));
}

#[tokio::test]
async fn long_and_odd_names_are_all_routable() {
    let echoes: Vec<String> =
        vec!["x".repeat(100), format!("{}y", "x".repeat(99)), "a__b".into(), "时间".into()];
    let world = World::with(vec![service("m", json!({ "echoes": echoes }))]).await;
    for route in
        world.gateway.list(&context()).iter().filter(|route| route.tool.description() == Some("Echoes."))
    {
        assert!(route.name.len() <= 64);
        let marked = json!({ "to": route.tool.name() });
        let result = world.call(&route.name, marked.clone()).await.unwrap();
        assert!(result.contains(&marked.to_string()));
        assert!(world.call(&route.address, marked).await.is_ok());
    }
    assert_eq!(names(&world).len(), 7 + 4);
}

#[tokio::test]
async fn a_tenants_limit_holds_across_its_callers_and_reloads() {
    let world = World::new();
    for version in 1..3 {
        let mut m = service("m", json!({}));
        m.version = version;
        let limits = Limits { calls_per_minute: Some(2), concurrent_calls: None };
        world
            .gateway
            .load(TenantDefinition {
                id: "acme".parse().unwrap(),
                limits,
                may_use_private_network: true,
                services: vec![m],
                tools: vec![],
                instances: vec![],
                tool_search: None,
            })
            .await;
        assert!(world.call("m__say", json!({})).await.is_ok());
    }
    let error = world.call("m__say", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    assert!(error.message().contains("this tenant may make 2 calls a minute"), "{error}");
}

/// The first second tenant closes private addresses to the services of the first. Those of whoever runs the server may go
/// anywhere all the same: nothing changes for them, and nothing they remember is lost.
#[tokio::test]
async fn leaves_the_owners_services_alone_where_another_rule_holds_for_the_tenants() {
    let world = World::new();
    let load = async |may_use_private_network| {
        let of_owner = |id: &str, settings| ServiceDefinition { is_trusted: true, ..service(id, settings) };
        let own = of_owner("own", json!({}));
        let says = of_owner("says", json!({ "allow_private_network": true }));
        let definition = TenantDefinition {
            id: "acme".parse().unwrap(),
            limits: Limits::default(),
            may_use_private_network,
            services: vec![own, says, service("theirs", json!({}))],
            tools: vec![],
            instances: vec![],
            tool_search: None,
        };
        world.gateway.load(definition).await;
        let catalog = world.gateway.catalog().tenant(&"acme".parse().unwrap()).unwrap();
        ["own", "says", "theirs"].map(|id| catalog.service("memory", id).unwrap().clone())
    };
    let before = load(true).await;
    let after = load(false).await;
    let is_same: Vec<_> = before.iter().zip(&after).map(|(a, b)| Arc::ptr_eq(a, b)).collect();
    assert_eq!(is_same, [true, false, false]);
}

/// Whoever presses "test" and reads why it failed finds the service failing behind that, for whatever reason.
#[tokio::test]
async fn a_service_is_failing_behind_any_test_that_failed() {
    for (test, is_well) in [("", true), ("timeout", false), ("denied", false), ("upstream", false)] {
        let world = World::with(vec![service("m", json!({ "test": test }))]).await;
        let tenant = "acme".parse().unwrap();
        let catalog = world.gateway.catalog().tenant(&tenant).unwrap();
        let failure = || catalog.service("memory", "m").unwrap().failure();
        assert_eq!(failure(), None);
        assert_eq!(world.gateway.health(&tenant, "memory", "m").await.is_ok(), is_well);
        assert_eq!(failure().is_none(), is_well, "{test}: {:?}", failure());
        // A call that comes through says that it is there again.
        assert!(world.call("m__say", json!({})).await.is_ok());
        assert_eq!(failure(), None);
    }
}
