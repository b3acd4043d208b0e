//! Calls inside calls: they share the place, the end and the policy of the call around them.

use crate::support::*;
use async_trait::async_trait;
use gateway::audit::Audit;
use gateway::{Gateway, Options};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tool::{
    CallTools, Caller, Context, Env, ErrorKind, Identity, KeyId, Limits, Output, Pattern, Result, Role, Run,
    RunId, Runs, Step, Target, TenantId,
};

fn key() -> Caller {
    let identity = Identity::Key(KeyId::generate());
    Caller { identity, name: "ci".into(), role: Role::Caller, ..Caller::local() }
}

fn limited(limits: Limits) -> Context {
    context_of(Caller { limits, ..key() })
}

/// Holds the only place of a key while `inside` runs.
async fn within_a_call<T>(world: &World, cx: &Context, inside: impl Future<Output = T>) -> T {
    let (gateway, outer) = (world.gateway.clone(), cx.clone());
    let call = tokio::spawn(async move { gateway.call(&outer, request("m__sleep", &json!({}))).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let result = inside.await;
    cx.cancel.cancel();
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    result
}

#[tokio::test]
async fn a_key_with_one_place_runs_three_steps_inside_its_call() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let cx = limited(Limits { calls_per_minute: None, concurrent_calls: Some(1) });
    within_a_call(&world, &cx, async {
        for _ in 0..3 {
            world.call_as(&cx.nested(Step::default()), "m__say", json!({})).await.unwrap();
        }
        let beside = Context { cancel: Default::default(), ..cx.clone() };
        let error = world.call_as(&beside, "m__say", json!({})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RateLimited);
    })
    .await;
}

#[tokio::test]
async fn every_step_counts_for_the_rate() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let cx = limited(Limits { calls_per_minute: Some(2), concurrent_calls: None });
    for _ in 0..2 {
        world.call_as(&cx.nested(Step::default()), "m__say", json!({})).await.unwrap();
    }
    let error = world.call_as(&cx.nested(Step::default()), "m__say", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
}

#[tokio::test]
async fn ends_for_the_reason_of_the_call_around_it() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let soon = || Context { deadline: Instant::now() + Duration::from_millis(50), ..context() };
    // However long it wants to have itself.
    let patient = |cx: &Context| Context {
        deadline: Instant::now() + Duration::from_secs(60),
        ..cx.nested(Step::default())
    };
    let error = world.call_as(&patient(&soon()), "m__sleep", json!({})).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Timeout, "the call that this one is a part of has run out of time")
    );

    let outer = context();
    let inner = patient(&outer).nested(Step::default());
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        outer.cancel.cancel();
    };
    let (result, ()) = tokio::join!(world.call_as(&inner, "m__sleep", json!({})), cancel);
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, "the caller cancelled the call"));
    // And nothing begins any more.
    let error = world.call_as(&outer.nested(Step::default()), "m__say", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn goes_sixteen_deep_and_no_deeper() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let mut cx = context();
    for _ in 0..16 {
        cx = cx.nested(Step::default());
        world.call_as(&cx, "m__say", json!({})).await.unwrap();
    }
    let error = world.call_as(&cx.nested(Step::default()), "m__say", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("more than 16 deep"), "{error}");
}

#[tokio::test]
async fn the_audit_names_the_call_around_and_the_run() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let (outer, run) = (context(), RunId::generate());
    let step = Step { run: Some(run.clone()), path: Some("ship[3].send".into()), ..Step::default() };
    world.call_as(&outer, "m__say", json!({})).await.unwrap();
    let inner = outer.nested(step);
    world.call_as(&inner, "m__say", json!({})).await.unwrap();
    world.call_as(&inner.nested(Step::default()), "m__say", json!({})).await.unwrap();
    let seen: Vec<_> =
        world.audited().await.into_iter().map(|entry| (entry.parent_request_id, entry.run_id)).collect();
    let run = Some(run.to_string());
    let parent = |cx: &Context| Some(cx.request_id.to_string());
    assert_eq!(seen, [(None, None), (parent(&outer), run.clone()), (parent(&inner), run)]);
}

#[tokio::test]
async fn callers_inside_see_what_they_may_call() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let tools: &dyn CallTools = &*world.gateway;
    let cx = context_of(Caller { allow: vec![Pattern("m__s*".into())], ..key() });
    let names: Vec<_> = tools.tools(&cx).into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["m__say", "m__sleep", "m__stubborn"]);
    let named = |uri: &str| tools.tool(&cx, &Target::Uri(uri.parse().unwrap()));
    assert_eq!(named("memory://m/say").unwrap().tool.name(), "say");
    assert_eq!(named("memory://m/find").unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(named("memory://m/sya").unwrap_err().kind(), ErrorKind::NotFound);
}

/// One run of the tenant `acme`.
#[derive(Debug)]
struct OneRun {
    id: RunId,
    caller: Identity,
    is_cancelled: Mutex<bool>,
    ended: tokio::sync::Notify,
}

#[async_trait]
impl Runs for OneRun {
    async fn find(&self, tenant: &TenantId, id: &RunId) -> Result<Option<Run>> {
        let result = self.is_cancelled.lock().unwrap().then(|| Ok(Output::text("stopped")));
        let run = Run {
            tool: "m__say".into(),
            address: "memory://m/say".into(),
            caller: self.caller.clone(),
            result,
            started_at_ms: 0,
            changed_at_ms: 0,
        };
        Ok(Some(run).filter(|_| tenant.as_str() == "acme" && *id == self.id))
    }

    async fn ended(&self, _: &TenantId, _: &RunId) -> Result<()> {
        self.ended.notified().await;
        Ok(())
    }

    async fn cancel(&self, _: &TenantId, _: &RunId) -> Result<()> {
        *self.is_cancelled.lock().unwrap() = true;
        self.ended.notify_one();
        Ok(())
    }
}

#[tokio::test]
async fn a_run_is_there_for_those_alone_who_may_see_it() {
    let (owner, id) = (key(), RunId::generate());
    let run = OneRun {
        id: id.clone(),
        caller: owner.identity.clone(),
        is_cancelled: Mutex::default(),
        ended: Default::default(),
    };
    let env = Env { runs: Some(Arc::new(run)), ..Env::default() };
    let gateway = Gateway::new(KINDS, env, Audit::start(Arc::new(MemorySink::default())), Options::default());
    let narrow = Caller { allow: vec![Pattern("m__find".into())], ..owner.clone() };
    let elsewhere = Context { tenant: TenantId::default_tenant(), ..context() };
    for stranger in [context_of(key()), context_of(narrow), elsewhere] {
        for error in [
            gateway.find_run(&stranger, &id).await.unwrap_err(),
            gateway.wait_for_run(&stranger, &id).await.unwrap_err(),
            gateway.cancel_run(&stranger, &id).await.unwrap_err(),
        ] {
            assert_eq!(
                (error.kind(), error.message()),
                (ErrorKind::NotFound, format!("there is no run '{id}'").as_str())
            );
        }
    }
    let cx = context_of(owner);
    let hasty = Context { deadline: Instant::now() + Duration::from_millis(20), ..cx.clone() };
    assert!(gateway.wait_for_run(&hasty, &id).await.unwrap().result.is_none());
    let manager = context_of(Caller { role: Role::Manager, ..key() });
    let (waited, cancelled) = tokio::join!(gateway.wait_for_run(&cx, &id), gateway.cancel_run(&manager, &id));
    cancelled.unwrap();
    assert!(waited.unwrap().result.is_some_and(|result| result.is_ok()));
}
