//! Tool search at the gateway: what is told, found and called where a door is in search mode.

use crate::support::*;
use async_trait::async_trait;
use gateway::audit::{Audit, Status};
use gateway::{CALL_TOOL, FIND_TOOLS, Gateway, Options, TenantDefinition};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tool::{
    Caller, Context, Door, Embeddings, Env, ErrorKind, Limits, Pattern, Result, SearchMode, ToolSearch,
};

fn client_of(caller: Caller) -> Context {
    Context { door: Door::Mcp, tool_search: Some(SearchMode::On), ..context_of(caller) }
}

fn client() -> Context {
    client_of(Caller::local())
}

fn names(world: &World, cx: &Context) -> Vec<String> {
    world.gateway.listed(cx).iter().map(|told| told.name().to_owned()).collect()
}

async fn find(world: &World, cx: &Context, arguments: Value) -> Value {
    let result = world.call_as(cx, FIND_TOOLS, arguments).await.unwrap();
    serde_json::from_str::<Value>(&result).unwrap()["structuredContent"].clone()
}

fn found(answer: &Value) -> Vec<&str> {
    answer["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

async fn load(world: &World, services: Vec<gateway::ServiceDefinition>, tool_search: Option<ToolSearch>) {
    let definition = TenantDefinition {
        id: "acme".parse().unwrap(),
        limits: Limits::default(),
        may_use_private_network: true,
        services,
        tools: Vec::new(),
        instances: Vec::new(),
        tool_search,
    };
    world.gateway.load(definition).await;
}

/// TS-1
#[tokio::test]
async fn tells_of_two_tools_and_the_pinned_ones() {
    let world = World::new();
    let pinned = vec![Pattern("m__s*".into()), Pattern("m__nope".into())];
    let search = ToolSearch { mode: SearchMode::On, pinned };
    load(&world, vec![service("m", json!({}))], Some(search)).await;
    let door = Context { tool_search: None, ..client() };
    assert_eq!(names(&world, &door), [CALL_TOOL, FIND_TOOLS, "m__say", "m__sleep", "m__stubborn"]);
    let all = Context { tool_search: Some(SearchMode::Off), ..client() };
    assert!(names(&world, &all).len() == 7 && !names(&world, &all).contains(&FIND_TOOLS.to_owned()));
    let told: usize = world.gateway.listed(&door).iter().map(|told| told.definition().len()).sum();
    assert!(told <= 3_000, "{told}");
    // At a door that tells all, the two are no tools.
    let error = world.call_as(&all, FIND_TOOLS, json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

/// TS-6: where a door is in search mode the index is there before anybody searches; where none is, nothing is made.
#[tokio::test]
async fn the_index_is_made_with_the_catalog_where_a_door_is_in_search_mode() {
    let world = World::new();
    let indexed = || {
        let tenant = world.gateway.catalog().tenant(&"acme".parse().unwrap());
        let shown = format!("{tenant:?}");
        shown.split("words: Words of ").nth(1).unwrap().split(' ').next().unwrap().to_owned()
    };
    for (mode, expected) in [(SearchMode::Off, "0"), (SearchMode::Auto, "0"), (SearchMode::On, "7")] {
        load(&world, vec![service("m", json!({}))], Some(ToolSearch { mode, pinned: Vec::new() })).await;
        assert_eq!(indexed(), expected, "{mode:?}");
    }
}

/// TS-1
#[tokio::test]
async fn decides_by_itself_what_is_many() {
    let echoes = |count: usize| (0..count).map(|at| format!("echo{at}")).collect::<Vec<_>>();
    let auto = Context { tool_search: Some(SearchMode::Auto), ..client() };
    let world = World::with(vec![service("m", json!({ "echoes": echoes(33) }))]).await;
    assert_eq!(names(&world, &auto).len(), 40);
    assert_eq!(find(&world, &auto, json!({ "query": "greets" })).await["total"], 1, "they work all the same");
    let world = World::with(vec![service("m", json!({ "echoes": echoes(34) }))]).await;
    assert_eq!(names(&world, &auto), [CALL_TOOL, FIND_TOOLS]);
    let few = Caller { allow: vec![Pattern("m__echo1*".into())], ..Caller::local() };
    assert_eq!(
        names(&world, &Context { caller: Arc::new(few), ..auto }).len(),
        11,
        "by the caller's own list"
    );
}

/// TS-2
#[tokio::test]
async fn finds_nothing_that_the_list_would_not_have() {
    let services = vec![service("m", json!({})), service("secret", json!({ "greeting": "x" }))];
    let world = World::with(services).await;
    let cx = client_of(Caller { allow: vec![Pattern("m__say".into())], ..Caller::local() });
    let answer = find(&world, &cx, json!({ "query": "greets finds data" })).await;
    assert_eq!((found(&answer), &answer["total"]), (vec!["m__say"], &json!(1)));
    let overview = find(&world, &cx, json!({})).await;
    assert_eq!(overview["services"], json!([{ "service": "m", "tools": 1, "description": null }]));
    for arguments in
        [json!({ "names": ["m__find"] }), json!({ "service": "secret" }), json!({ "query": "data" })]
    {
        let answer = find(&world, &cx, arguments.clone()).await;
        assert_eq!((found(&answer).len(), &answer["total"]), (0, &json!(0)), "{arguments}");
        assert!(!answer["services"].to_string().contains("secret"), "{answer}");
    }
    let told = world.gateway.listed(&cx).into_iter().find(|told| told.name() == FIND_TOOLS).unwrap();
    assert!(!String::from_utf8_lossy(told.definition()).contains("secret"));
    let error = world.call_as(&cx, CALL_TOOL, json!({ "name": "secret__sey" })).await.unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && !error.message().contains("secret__say"), "{error}");
    let denied = world.call_as(&cx, CALL_TOOL, json!({ "name": "m__data" })).await.unwrap_err();
    let unknown = world.call_as(&cx, CALL_TOOL, json!({ "name": "m__dato" })).await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::NotFound);
    assert_eq!(
        denied.message().replace("m__data", "m__dato"),
        unknown.message(),
        "nobody learns that it is there"
    );
    let nobody = client_of(Caller { role: tool::Role::Viewer, ..Caller::local() });
    assert_eq!(world.call_as(&nobody, FIND_TOOLS, json!({})).await.unwrap_err().kind(), ErrorKind::Denied);
}

/// TS-3
#[tokio::test]
async fn tells_definitions_byte_for_byte_and_the_same_each_time() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let request = || json!({ "query": "find", "limit": 3 });
    let answer = find(&world, &client(), request()).await;
    assert_eq!(found(&answer)[0], "m__find");
    let all = Context { tool_search: Some(SearchMode::Off), ..client() };
    let listed = world.gateway.listed(&all);
    let listed = listed.iter().find(|told| told.name() == "m__find").unwrap();
    let listed = String::from_utf8_lossy(listed.definition()).into_owned();
    let text = world.call_as(&client(), FIND_TOOLS, request()).await.unwrap();
    let told = &serde_json::from_str::<Value>(&text).unwrap()["content"][0]["text"];
    assert!(told.as_str().unwrap().contains(listed.strip_suffix('}').unwrap()), "{told}");
    assert_eq!(answer["tools"][0]["service"], "m");
    assert!(answer["tools"][0]["score"].as_f64().unwrap() > 0.0);
    for _ in 0..5 {
        assert_eq!(world.call_as(&client(), FIND_TOOLS, request()).await.unwrap(), text);
    }
    let same = find(&world, &client(), json!({ "service": "M", "limit": 20 })).await;
    assert_eq!(
        found(&same),
        ["m__data", "m__down", "m__find", "m__panic", "m__say", "m__sleep", "m__stubborn"]
    );
    let exact = find(&world, &client(), json!({ "query": "M__SAY" })).await;
    assert_eq!(found(&exact)[0], "m__say", "the exact name is first");
    let named = find(&world, &client(), json!({ "names": ["m__say", "m__data"], "detail": "brief" })).await;
    assert_eq!(named["tools"][0], json!({ "name": "m__say", "service": "m", "description": "[m] Greets." }));
    let error = world.call_as(&client(), FIND_TOOLS, json!({ "limit": 99 })).await.unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("limit")));
}

/// TS-4
#[tokio::test]
async fn a_call_through_call_tool_is_the_call_of_the_tool() {
    let world = World::with(vec![service("m", json!({ "greeting": "hello" }))]).await;
    let through = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    let own = world.call_as(&client(), "m__say", json!({})).await.unwrap();
    assert_eq!(world.call_as(&client(), CALL_TOOL, through("m__say", json!({}))).await.unwrap(), own);
    let wrong = world.call_as(&client(), CALL_TOOL, through("m__find", json!({ "q": 1 }))).await.unwrap();
    let wrong: Value = serde_json::from_str(&wrong).unwrap();
    assert_eq!(wrong["isError"], true);
    assert_eq!(wrong["structuredContent"]["inputSchema"]["required"], json!(["query"]));
    assert!(wrong["content"][0]["text"].as_str().unwrap().contains("inputSchema"), "{wrong}");
    let unknown = world.call_as(&client(), CALL_TOOL, through("m__sayy", json!({}))).await.unwrap_err();
    assert!(unknown.message().contains("'m__say'"), "{unknown}");
    for name in [CALL_TOOL, FIND_TOOLS] {
        let unknown = world.call_as(&client(), CALL_TOOL, through(name, json!({}))).await.unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::NotFound, "{name}");
    }
    let shape = world.call_as(&client(), CALL_TOOL, json!({ "tool": "m__say" })).await.unwrap_err();
    assert!(shape.message().contains(r#"call_tool {"name":"m__say","arguments":{}}"#), "{shape}");

    let entries = world.audited().await;
    let seen: Vec<_> = entries.iter().map(|entry| (entry.tool.as_str(), entry.via, entry.status)).collect();
    let via = Some(CALL_TOOL);
    assert_eq!(
        seen,
        [
            ("m__say", None, Status::Ok),
            ("m__say", via, Status::Ok),
            ("m__find", via, Status::Refused),
            ("m__sayy", via, Status::Refused),
            (CALL_TOOL, via, Status::Refused),
            (FIND_TOOLS, via, Status::Refused),
            (CALL_TOOL, None, Status::Refused),
        ]
    );
    assert_eq!(entries[2].arguments, r#"{"q":1}"#);
}

/// TS-4: cancelling the call of `call_tool` cancels the tool's.
#[tokio::test]
async fn cancels_through_call_tool() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let cx = client();
    let cancel = cx.cancel.clone();
    let call = world.call_as(&cx, CALL_TOOL, json!({ "name": "m__sleep" }));
    let (result, ()) = tokio::join!(call, async { cancel.cancel() });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
}

/// TS-2: finding is a call, and counts as one.
#[tokio::test]
async fn finding_counts_against_the_limits_and_is_on_record() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let limits = Limits { calls_per_minute: Some(1), concurrent_calls: None };
    let cx = client_of(Caller { limits, ..Caller::local() });
    find(&world, &cx, json!({ "query": "greets" })).await;
    let error = world.call_as(&cx, FIND_TOOLS, json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimited);
    let entries = world.audited().await;
    assert_eq!((entries[0].tool.as_str(), entries[0].status), (FIND_TOOLS, Status::Ok));
    assert_eq!(entries[0].arguments, r#"{"query":"greets"}"#);
    assert_eq!(entries[1].status, Status::Refused);
}

/// TS-6
#[tokio::test]
async fn follows_changes_and_tells_only_of_those_that_are_listed() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let before = world.gateway.fingerprint(&client());
    let more = gateway::ServiceDefinition { version: 2, ..service("m", json!({ "echoes": ["parrot"] })) };
    world.load("acme", vec![more.clone()]).await;
    assert_eq!(found(&find(&world, &client(), json!({ "query": "parrot" })).await), ["m__parrot"]);
    assert_eq!(world.gateway.fingerprint(&client()), before, "what is told has not changed");
    world.load("acme", vec![more, service("n", json!({}))]).await;
    assert_ne!(world.gateway.fingerprint(&client()), before, "there is another service");
    world.load("acme", vec![service("n", json!({}))]).await;
    assert_eq!(find(&world, &client(), json!({ "query": "parrot" })).await["total"], 0);
    let gone = world.call_as(&client(), CALL_TOOL, json!({ "name": "m__parrot" })).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound);
}

/// TS-6: the index is made for the first who searches, and from then on with each change.
#[tokio::test]
async fn makes_no_index_where_nobody_searches() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let indexed = || {
        let told = format!("{:?}", world.gateway.catalog().tenant(&"acme".parse().unwrap()));
        let count = told.split("Words of ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        count.parse::<usize>().unwrap()
    };
    let before = indexed();
    find(&world, &client(), json!({ "query": "greets" })).await;
    let first = indexed();
    let more = gateway::ServiceDefinition { version: 2, ..service("m", json!({ "echoes": ["parrot"] })) };
    world.load("acme", vec![more]).await;
    assert!((before, indexed()) == (0, first + 1) && first > 0, "{before}, {first}, {}", indexed());
}

/// TS-4: who calls what there is not is told the nearest by their words, also before anybody has searched.
#[tokio::test]
async fn the_first_wrong_name_is_told_the_nearest() {
    let world = World::with(vec![service("m", json!({ "echoes": ["parrot_food"] }))]).await;
    let error =
        world.call_as(&client(), CALL_TOOL, json!({ "name": "food_for_my_parrot" })).await.unwrap_err();
    assert!(error.message().contains("'m__parrot_food'"), "{error}");
}

/// Knows that who wants a welcome wants a greeting, and takes its time to say so.
#[derive(Debug)]
struct Meanings {
    time: Duration,
    queries: AtomicUsize,
}

#[async_trait]
impl Embeddings for Meanings {
    fn model(&self) -> &str {
        "meanings"
    }

    async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let is_query = |text: &String| text == "welcome";
        if texts.iter().any(is_query) {
            self.queries.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(self.time).await;
        }
        let vector = |text: &String| match is_query(text) || text.contains("Greets") {
            true => vec![1.0, 0.0],
            false => vec![0.0, 1.0],
        };
        Ok(texts.iter().map(vector).collect())
    }
}

/// TS-5: by meaning where vectors are made, by words alone where that takes too long.
#[tokio::test]
async fn finds_by_meaning_within_its_time() {
    for (time, expected) in [(Duration::ZERO, Some("m__say")), (Duration::from_secs(60), None)] {
        let sink = Arc::new(MemorySink::default());
        let meanings = Arc::new(Meanings { time, queries: AtomicUsize::new(0) });
        let env = Env { embeddings: Some(meanings.clone()), ..Env::default() };
        let gateway = Gateway::new(World::registry(), env, Audit::start(sink.clone()), Options::default());
        let world = World { gateway, sink };
        world.load("acme", vec![service("m", json!({}))]).await;
        let patience = Instant::now() + Duration::from_secs(10);
        // As long as there are no vectors of tools, nobody asks what the query means.
        let answer = loop {
            let begun = Instant::now();
            let answer = find(&world, &client(), json!({ "query": "welcome", "limit": 1 })).await;
            assert!(begun.elapsed() < Duration::from_secs(5));
            if meanings.queries.load(Ordering::Relaxed) > 0 {
                break answer;
            }
            assert!(Instant::now() < patience, "{answer}");
            tokio::task::yield_now().await;
        };
        assert_eq!(found(&answer).first().copied(), expected, "{answer}");
    }
}
