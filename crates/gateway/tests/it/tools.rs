//! Tools that tenants make themselves: over a service's tool, or standing on their own.

use crate::support::*;
use gateway::{ToolBody, ToolDefinition, UriTool};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use tool::{Arguments, ErrorKind, Inspection, Outcome, Request, Shape, Target, TenantId};

fn memo(name: &str, config: Value) -> ToolDefinition {
    tool(name, ToolBody::Inline { tool_type: "memo".into(), config })
}

pub fn tool(name: &str, body: ToolBody) -> ToolDefinition {
    ToolDefinition {
        id: name.parse().unwrap(),
        name: name.into(),
        description: Some(format!("{name}!")),
        is_active: true,
        version: 1,
        body,
    }
}

fn over(uri: &str) -> UriTool {
    UriTool {
        uri: uri.parse().unwrap(),
        arguments: Map::new(),
        hidden: Vec::new(),
        rename: BTreeMap::new(),
        shape: Shape::default(),
        input_schema: None,
    }
}

fn listed(world: &World, name: &str) -> Value {
    let routes = world.gateway.list(&context());
    let route = routes.iter().find(|route| route.name == name).unwrap();
    serde_json::from_slice(&route.listed).unwrap()
}

fn names(world: &World) -> Vec<String> {
    world.gateway.list(&context()).iter().map(|route| route.name.clone()).collect()
}

fn problems(found: gateway::tools::Checked) -> Vec<(String, &'static str)> {
    found.problems.into_iter().map(|problem| (problem.path, problem.code)).collect()
}

#[tokio::test]
async fn calls_a_tool_that_stands_on_its_own_by_name_and_by_address() {
    let world = World::new();
    world.load_all(vec![], vec![memo("note", json!({}))]).await;
    assert_eq!(listed(&world, "note")["description"], "note!");
    for target in ["note", "tool://note/call"] {
        let result = world.call(target, json!({ "a": 1 })).await.unwrap();
        assert!(result.contains(r#""structuredContent":{"a":1}"#), "{result}");
    }
    let error = world.call("tool://nobody/call", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let entries = world.audited().await;
    assert_eq!((entries[0].tool.as_str(), entries[0].uri.as_deref()), ("note", Some("tool://note/call")));
}

#[tokio::test]
async fn calls_a_services_tool_with_presets_hidden_and_renamed_parameters() {
    let echo = json!({ "echoes": ["echo"] });
    let world = World::new();
    let mut uri = over("memory://m/find?timeout=5000");
    uri.rename = BTreeMap::from([("search".into(), "query".into())]);
    let mut fixed = over("memory://m/echo");
    fixed.arguments = json!({ "region": "eu", "deep": { "x": 1 } }).as_object().cloned().unwrap();
    fixed.hidden = vec!["secret".into()];
    let tools = vec![tool("look", ToolBody::Uri(Box::new(uri))), tool("ask", ToolBody::Uri(Box::new(fixed)))];
    world.load_all(vec![service("m", echo)], tools).await;

    let schema = &listed(&world, "look")["inputSchema"];
    assert_eq!(schema["required"], json!(["search"]));
    assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["search"]);
    let result = world.call("look", json!({ "search": "x" })).await.unwrap();
    assert!(result.contains(r#""structuredContent":{"query":"x"}"#), "{result}");
    for bad in [json!({ "query": "x" }), json!({}), json!({ "search": 7 })] {
        assert_eq!(world.call("look", bad).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    let result = world.call("ask", json!({ "q": 1 })).await.unwrap();
    assert!(result.contains(r#""structuredContent":{"q":1,"region":"eu","deep":{"x":1}}"#), "{result}");
    for name in ["secret", "region"] {
        let error = world.call("ask", json!({ name: 1, "q": 1 })).await.unwrap_err();
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some(name)));
        assert_eq!(error.message(), format!("Unknown parameter '{name}'; leave it out"));
    }

    let entries = world.audited().await;
    assert_eq!(
        (entries[0].tool.as_str(), entries[0].uri.as_deref()),
        ("look", Some("memory://m/find?timeout=5000"))
    );
    assert_eq!(entries[0].service.as_deref(), Some("m"));
}

/// Whoever names a service that is there is not sent to another one.
#[tokio::test]
async fn hints_stay_with_the_service_that_was_named() {
    let world = World::with(vec![
        service("lt", json!({ "echoes": ["v_list"] })),
        service("flt", json!({ "echoes": ["w_count"] })),
    ])
    .await;
    for (target, hint) in [
        ("memory://flt/v_list", None),
        ("flt__v_list", None),
        ("memory://lt/v_lst", Some("memory://lt/v_list")),
        ("memory://lx/v_list", Some("memory://lt/v_list")),
        ("lt__v_lst", Some("lt__v_list")),
    ] {
        let error = world.call(target, json!({})).await.unwrap_err();
        let hints = error.message().contains("did you mean");
        assert_eq!(hints, hint.is_some(), "{target}: {error}");
        assert!(hint.is_none_or(|hint| error.message().contains(hint)), "{target}: {error}");
    }
}

#[tokio::test]
async fn gives_a_services_tool_another_shape_and_schema() {
    let world = World::new();
    let mut own = over("memory://m/data");
    own.shape.template = Some("{{ len .items }} items".into());
    own.input_schema = Some(json!({ "type": "object", "required": ["why"] }));
    let tools = vec![
        tool("count", ToolBody::Uri(Box::new(own))),
        tool("same", ToolBody::Uri(Box::new(over("memory://m/data")))),
    ];
    world.load_all(vec![service("m", json!({ "select": "items[0]" }))], tools).await;
    assert!(world.call("count", json!({ "why": 1 })).await.unwrap().contains("2 items"));
    assert_eq!(world.call("count", json!({})).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(world.call("same", json!({})).await.unwrap().contains(r#""structuredContent":{"n":1}"#));
}

#[tokio::test]
async fn a_tool_whose_target_is_missing_names_the_uri() {
    let world = World::new();
    let lost = || tool("lost", ToolBody::Uri(Box::new(over("memory://m/echo?timeout=5000"))));
    world.load_all(vec![], vec![lost()]).await;
    let error = world.call("lost", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("memory://m/echo"), "{error}");
    assert!(names(&world).is_empty());
    let mut off = service("m", json!({}));
    off.is_enabled = false;
    world.load_all(vec![off], vec![lost()]).await;
    assert_eq!(world.call("lost", json!({})).await.unwrap_err().kind(), ErrorKind::ServiceDisabled);
    let mut on = service("m", json!({ "echoes": ["echo"] }));
    on.version = 3;
    world.load_all(vec![on], vec![lost()]).await;
    assert!(world.call("lost", json!({})).await.is_ok());
}

#[tokio::test]
async fn only_active_tools_are_listed_and_called() {
    let world = World::new();
    let off = ToolDefinition { is_active: false, ..memo("draft", json!({})) };
    world.load_all(vec![], vec![off]).await;
    assert!(names(&world).is_empty());
    for target in ["draft", "tool://draft/call"] {
        assert_eq!(world.call(target, json!({})).await.unwrap_err().kind(), ErrorKind::ToolDisabled);
    }
    let mut cx = context();
    cx.inspection = Inspection::on();
    let target = Target::Trial("draft".parse().unwrap());
    let request = Request { target, arguments: Arguments::default(), extras: Default::default() };
    assert!(matches!(world.gateway.call(&cx, request).await.unwrap(), Outcome::Done(_)));
    let seen = cx.inspection.exchange();
    assert_eq!((seen.request, seen.raw.as_deref()), (Some(json!({ "tool": "call" })), Some("{}")));
}

#[tokio::test]
async fn a_tool_wins_its_name_over_a_services_tool() {
    let world = World::new();
    world.load_all(vec![service("m", json!({ "greeting": "hi" }))], vec![memo("m__say", json!({}))]).await;
    let id: TenantId = "acme".parse().unwrap();
    let catalog = world.gateway.catalog().tenant(&id).unwrap();
    let [collision] = catalog.collisions() else { panic!("{:?}", catalog.collisions()) };
    assert_eq!(
        (collision.kept_by.as_str(), collision.renamed.as_str()),
        ("tool://m__say/call", "memory://m/say")
    );
    assert!(world.call("m__say", json!({ "own": 1 })).await.unwrap().contains("own"));
    assert!(world.call(&collision.renamed_to, json!({})).await.unwrap().contains("hi"));
    let off = ToolDefinition { is_active: false, version: 2, ..memo("m__say", json!({})) };
    world.load_all(vec![service("m", json!({ "greeting": "hi" }))], vec![off]).await;
    assert!(world.call("m__say", json!({})).await.unwrap().contains("hi"));
}

/// HT-6.2, HT-6.4
#[tokio::test]
async fn unchanged_tools_keep_their_compiled_routes_and_changed_ones_get_new_ones() {
    let world = World::new();
    let services = |version| {
        let mut m = service("m", json!({}));
        m.version = version;
        vec![m]
    };
    let tools = |version, template: &str| {
        let first = memo("a", json!({ "MEMO": { "response_template": "a" } }));
        let mut second = memo("b", json!({ "MEMO": { "response_template": template } }));
        second.version = version;
        vec![first, second, tool("u", ToolBody::Uri(Box::new(over("memory://m/say"))))]
    };
    let route =
        |name: &str| world.gateway.list(&context()).iter().find(|route| route.name == name).unwrap().clone();
    world.load_all(services(1), tools(1, "old")).await;
    let before = ["a", "b", "u"].map(route);
    assert!(world.call("b", json!({})).await.unwrap().contains("old"));
    world.load_all(services(1), tools(2, "new")).await;
    let after = ["a", "b", "u"].map(route);
    let is_same = |at: usize| Arc::ptr_eq(&before[at], &after[at]);
    assert!(is_same(0) && !is_same(1) && is_same(2));
    assert!(world.call("b", json!({})).await.unwrap().contains("new"));
    world.load_all(services(2), tools(2, "new")).await;
    assert!(!Arc::ptr_eq(&before[2], &route("u")), "its target is new");
}

#[tokio::test]
async fn checks_a_tool_and_finds_every_problem() {
    let world = World::with(vec![service("m", json!({}))]).await;
    let id: TenantId = "acme".parse().unwrap();
    let check = async |definition: ToolDefinition| world.gateway.check_tool(&id, &definition).await;
    let good = check(memo("a", json!({ "MEMO": { "response_template": "{{ .x }}" } }))).await;
    assert!(good.problems.is_empty() && good.tool.is_some());
    let bad = check(memo("a", json!({ "bad": 1, "MEMO": { "response_template": "{{ if }}" } }))).await;
    let expected =
        [("config.MEMO.bad".into(), "Bad"), ("config.MEMO.response_template".into(), "TemplateSyntaxError")];
    assert_eq!(problems(bad), expected);
    let mut uri = over("memory://m/find");
    uri.arguments = json!({ "nope": 1, "query": 7 }).as_object().cloned().unwrap();
    uri.rename = BTreeMap::from([("x".into(), "query".into()), ("y".into(), "query".into())]);
    uri.shape.select = Some("[".into());
    uri.input_schema = Some(json!(7));
    let found = problems(check(tool("a", ToolBody::Uri(Box::new(uri)))).await);
    for expected in [
        ("select", "SelectSyntaxError"),
        ("input_schema", "WrongType"),
        ("arguments.nope", "UnknownParameter"),
        ("arguments.query", "WrongType"),
        ("rename.y", "DuplicateParameter"),
        ("rename.x", "HiddenParameter"),
    ] {
        assert!(found.contains(&(expected.0.into(), expected.1)), "{expected:?} in {found:?}");
    }
    let mut hidden = over("memory://m/find");
    hidden.hidden = vec!["query".into()];
    assert_eq!(
        problems(check(tool("a", ToolBody::Uri(Box::new(hidden)))).await)[0].1,
        "RequiredParameterHidden"
    );
    for uri in ["tool://a/call", "moon://a/b"] {
        let found = problems(check(tool("a", ToolBody::Uri(Box::new(over(uri))))).await);
        assert_eq!(found, [("uri".into(), "UnknownType")], "{uri}");
    }
    let missing = check(tool("a", ToolBody::Uri(Box::new(over("memory://nobody/x"))))).await;
    assert!(missing.problems.is_empty() && missing.tool.is_none());
}
