//! Traces: the binary sends spans to a collector, which decodes them, and hands traces on.

use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use testkit::client::send_json;
use testkit::collector::{Collector, Span};
use testkit::model::{Model, Reply};
use testkit::{Backend, Client, Database, eventually, http, process};

const PATIENCE: Duration = Duration::from_secs(60);
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// A server with an HTTP API whose tool fails once, and an agent that calls it.
struct World {
    server: process::Server,
    collector: Collector,
    api: http::Server,
    model: Model,
    _folder: TempDir,
}

impl World {
    async fn start(arguments: &[&str]) -> Self {
        let collector = Collector::start().await;
        let endpoint = collector.url();
        let arguments = [&["--otlp-endpoint", &*endpoint], arguments].concat();
        Self::with(collector, &arguments).await
    }

    async fn with(collector: Collector, arguments: &[&str]) -> Self {
        let (api, folder) = (http::Server::start().await, tempfile::tempdir().unwrap());
        let model = Model::start(|number, _| match number % 2 {
            0 => Reply::calls(&[(
                "crm__flaky",
                json!({ "key": "k1", "note": "fragile", "password": "hunter2hunter2" }),
            )]),
            _ => Reply::says("It is done."),
        })
        .await;
        let database = Database::create(Backend::Sqlite).await;
        let mut command = process::serve(env!("CARGO_BIN_EXE_mcp-all-in-one"), &database, folder.path());
        command.arg("--allow-private-network").args(arguments);
        let server = tokio::task::spawn_blocking(|| process::Server::start(command)).await.unwrap();
        let parameter = |name: &str| json!({ "name": name, "position": "query" });
        let tool = |id: &str, path: &str| {
            json!({ "id": id, "description": "Works.", "endpoint": path, "method": "GET",
                "parameters": [parameter("key"), parameter("note"), parameter("password")] })
        };
        let tools = json!([tool("flaky", "/flaky/1"), tool("echo", "/echo"), tool("gone", "/status/404")]);
        let config = json!({ "base_url": api.url(), "retry": { "initial_delay_ms": 1, "max_delay_ms": 2 } });
        let crm = json!({ "type": "api", "id": "crm", "config": config, "tools": tools });
        let agent = json!({ "type": "agent", "id": "support", "config": {
            "provider": "openai", "base_url": model.url(), "model": "m-1", "api_key": "sk-hunter2hunter2",
            "tools": ["api://crm/flaky"], "price": { "input": 1000.0, "output": 2000.0 } } });
        let world = Self { server, collector, api, model, _folder: folder };
        world.admin().post("services", crm).await.is(201);
        world.admin().post("services", agent).await.is(201);
        world
    }

    fn admin(&self) -> Client {
        self.server.admin()
    }

    async fn post(&self, path: &str, body: Value, headers: &[(&str, String)]) -> Value {
        let request = self.admin().request(Method::POST, path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        send_json(request, &body).await.is(200).body
    }

    async fn ask(&self, headers: &[(&str, String)]) -> Value {
        self.post("agents/support/runs", json!({ "prompt": "the raven flies at midnight" }), headers).await
    }

    async fn named(&self, name: &str) -> Span {
        self.collector.span(|span| span.name == name).await
    }

    /// Ends the server, which sends what is left.
    async fn end(&mut self) -> Vec<Span> {
        self.server.terminate();
        tokio::task::block_in_place(|| self.server.wait(PATIENCE));
        self.collector.spans()
    }
}

/// AG-21: a run that waits has a span for each time that somebody works on it, which tells what was used in that time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_used_before_a_wait_is_told_once() {
    let mut world = World::start(&[]).await;
    let config = json!({ "provider": "openai", "base_url": world.model.url(), "model": "m-1",
        "tools": ["api://crm/flaky"], "approval": "always" });
    let admin = world.admin();
    admin.post("services", json!({ "type": "agent", "id": "careful", "config": config })).await.is(201);
    let waiting = admin.post("agents/careful/runs", json!({ "prompt": "Go." })).await.is(202).body;
    let told = &waiting["structuredContent"];
    let approval = format!("approvals/{}", told["approvals"][0]["id"].as_str().unwrap());
    admin.post(&approval, json!({ "decision": "approve" })).await.is(200);
    let run = json!({ "run": told["run"], "wait_seconds": 60 });
    let ended = admin.post("agents/careful/runs", run).await.is(200).body;
    assert_eq!(ended["structuredContent"]["usage"]["input_tokens"], 20, "{ended}");
    let spans = world.end().await;
    let used = spans.iter().filter(|span| span.name == "invoke_agent careful");
    let used: Vec<_> =
        used.filter_map(|span| span.attributes.get("gen_ai.usage.input_tokens")?.as_u64()).collect();
    assert_eq!((used.len() > 1, used.iter().sum::<u64>()), (true, 20), "{used:?}");
}

/// What the audit has of a query, in the order of the list.
async fn audited(client: &Client, query: &str, count: usize) -> Vec<Value> {
    let records = client.get(&format!("audit?limit=100&{query}")).await.is(200).items();
    assert_eq!(records.len(), count, "{records:#?}");
    records
}

fn traceparent(flags: &str) -> [(&'static str, String); 2] {
    [("traceparent", format!("00-{TRACE}-{PARENT}-{flags}")), ("tracestate", "vendor=1".to_owned())]
}

fn below<'a>(spans: &'a [Span], parent: &Span) -> Vec<&'a Span> {
    let mut below: Vec<_> = spans.iter().filter(|span| span.parent == parent.id).collect();
    below.sort_by(|a, b| a.name.cmp(&b.name));
    below
}

fn only<'a>(spans: &[&'a Span], name: &str) -> &'a Span {
    let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    assert_eq!(found.len(), 1, "{name} of {spans:#?}");
    found[0]
}

/// AG-21: the tree is agent → chat and execute_tool, in the client's own trace, and whoever is asked hears of its place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_a_tree_of_spans_in_the_clients_trace() {
    let mut world = World::start(&[]).await;
    let answer = world.ask(&traceparent("01")).await;
    assert_eq!(answer["structuredContent"]["answer"], "It is done.", "{answer}");
    let records = audited(&world.admin(), "kind=call", 2).await;
    let requests = world.api.requests();
    let asked = world.model.asked();
    let spans = world.end().await;
    assert!(
        spans.iter().all(|span| span.trace_id == TRACE && span.service == "mcp-all-in-one"),
        "{spans:#?}"
    );
    let call = spans.iter().find(|span| span.parent == PARENT).unwrap();
    assert_eq!((call.name.as_str(), call.kind.as_str()), ("call support__ask", "SERVER"));
    assert_eq!(call.attributes["mcp_all_in_one.uri"], "agent://support");
    let agent = only(&below(&spans, call), "invoke_agent support");
    let steps = below(&spans, agent);
    let names: Vec<_> = steps.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["chat m-1", "chat m-1", "execute_tool crm__flaky"]);
    for (key, expected) in [
        ("gen_ai.operation.name", json!("invoke_agent")),
        ("gen_ai.provider.name", json!("openai")),
        ("gen_ai.request.model", json!("m-1")),
        ("gen_ai.agent.name", json!("support")),
        ("gen_ai.usage.input_tokens", json!(20)),
        ("gen_ai.usage.output_tokens", json!(10)),
        ("mcp_all_in_one.run_id", answer["structuredContent"]["run"].clone()),
    ] {
        assert_eq!(agent.attributes[key], expected, "{key} of {agent:#?}");
    }
    let chat = steps
        .iter()
        .find(|span| span.attributes["gen_ai.response.finish_reasons"] == json!(["stop"]))
        .unwrap();
    assert_eq!((&chat.attributes["gen_ai.usage.input_tokens"], chat.kind.as_str()), (&json!(10), "CLIENT"));
    assert!(asked.iter().all(|asked| asked.head.contains(&format!("traceparent: 00-{TRACE}-"))));
    let executed = only(&steps, "execute_tool crm__flaky");
    assert_eq!(executed.attributes["gen_ai.tool.name"], "crm__flaky");
    assert!(executed.attributes["gen_ai.tool.call.id"].is_string());
    let tool = only(&below(&spans, executed), "call crm__flaky");
    assert_eq!((tool.kind.as_str(), &tool.attributes["mcp_all_in_one.service"]), ("INTERNAL", &json!("crm")));
    // One span per attempt, and each was told to the service.
    let attempts = below(&spans, tool);
    let names: Vec<_> = attempts.iter().map(|span| (span.name.as_str(), span.is_failure)).collect();
    assert_eq!(names, [("attempt 1", true), ("attempt 2", false)]);
    assert_eq!(attempts[0].attributes["http.response.status_code"], 503);
    for (request, attempt) in requests.iter().zip(attempts) {
        assert_eq!(request.header("traceparent"), Some(&*format!("00-{TRACE}-{}-01", attempt.id)));
        assert_eq!(request.header("tracestate"), Some("vendor=1"));
    }
    let told = format!("{spans:?}");
    for secret in ["raven", "It is done", "fragile", "hunter2"] {
        assert!(!told.contains(secret), "no content without --trace-content: {secret} in {told}");
    }
    assert!(records.iter().all(|record| record["trace_id"] == TRACE), "{records:?}");
    let asked = records.iter().find(|record| record["tool"] == "support__ask").unwrap();
    let usage = json!({ "input_tokens": 20, "output_tokens": 10, "cached_tokens": 0, "model_calls": 2, "tool_calls": 1, "cost_usd": 0.04 });
    assert_eq!(asked["usage"], usage, "{asked}");
}

/// AG-21
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_without_a_trace_gets_one_and_failures_are_told() {
    let world = World::start(&[]).await;
    world.admin().call("api://crm/echo", json!({})).await.is(200);
    world.admin().call("api://crm/gone", json!({})).await;
    world.admin().call_name("nobody_has_this", json!({})).await.is(404);
    let echo = world.named("call crm__echo").await;
    assert!(echo.parent.is_empty() && echo.trace_id.len() == 32 && !echo.is_failure, "{echo:?}");
    let record = audited(&world.admin(), "tool=crm__echo", 1).await.remove(0);
    assert_eq!(record["trace_id"], echo.trace_id.as_str(), "{record}");
    let gone = world.named("call crm__gone").await;
    assert!(gone.is_failure && gone.trace_id != echo.trace_id, "{gone:?}");
    assert_eq!(gone.attributes["error.type"], "Upstream");
    // What nobody offers is anybody's words.
    let unknown = world.named("call").await;
    assert!(unknown.is_failure && !format!("{unknown:?}").contains("nobody_has_this"), "{unknown:?}");
}

/// AG-21
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_hold_what_was_said_only_where_that_was_wanted() {
    let mut world = World::start(&["--trace-content"]).await;
    world.ask(&[]).await;
    let spans = world.end().await;
    let told = |key: &str| {
        let found = spans.iter().find_map(|span| span.attributes.get(key)).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("{key} of {spans:#?}")).to_owned()
    };
    assert!(told("gen_ai.input.messages").contains("raven"));
    assert!(told("gen_ai.tool.call.arguments").contains(r#""note":"fragile""#));
    let said =
        spans.iter().filter_map(|span| span.attributes.get("gen_ai.output.messages")).map(Value::to_string);
    assert!(said.collect::<String>().contains("It is done"));
    assert!(
        !format!("{spans:?}").contains("hunter2"),
        "neither keys nor what looks like a secret reach a span"
    );
}

/// AG-18, AG-21: spans hold what was said as the model reads it, masked by the rules of the agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_hold_what_was_said_as_the_model_reads_it() {
    let mut world = World::start(&["--trace-content"]).await;
    let model = Model::replies(vec![
        Reply::calls(&[("crm__echo", json!({ "note": "[MAIL_1]" }))]),
        Reply::says("It went to [MAIL_1]."),
    ])
    .await;
    let mask = json!([{ "pii": ["mail"], "action": "mask" }]);
    for (id, rules) in
        [("one", json!({ "input": mask })), ("both", json!({ "input": mask, "tool_output": mask }))]
    {
        let config = json!({ "provider": "openai", "base_url": model.url(), "model": "m-1",
            "tools": ["api://crm/echo"], "guardrails": rules });
        world.admin().post("services", json!({ "type": "agent", "id": id, "config": config })).await.is(201);
        world.post(&format!("agents/{id}/runs"), json!({ "prompt": "Write to ada@mail.test" }), &[]).await;
    }
    let sent = world.api.last().query;
    let spans = world.end().await;
    assert!(sent.contains("ada%40mail.test"), "{sent}");
    let told = format!("{spans:?}");
    assert!(told.contains("gen_ai.tool.call.result") && told.contains("[MAIL_1]"), "{told}");
    assert!(!told.contains("ada@mail") && !told.contains("ada%40mail"), "{told}");
}

/// AG-21: what a client does not want to have kept is not, and its trace goes on without us.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trace_goes_on_where_nobody_collects() {
    let mut unwanted = World::start(&[]).await;
    let off = World::with(Collector::start().await, &[]).await;
    for (world, flags) in [(&unwanted, "00"), (&off, "01")] {
        world.post("call", json!({ "uri": "api://crm/echo", "arguments": {} }), &traceparent(flags)).await;
        let sent = world.api.last();
        assert_eq!(sent.header("traceparent"), Some(&*format!("00-{TRACE}-{PARENT}-{flags}")), "{flags}");
        let record = audited(&world.admin(), "tool=crm__echo", 1).await.remove(0);
        assert_eq!(record["trace_id"], TRACE, "{record}");
    }
    off.admin().call("api://crm/echo", json!({})).await.is(200);
    assert_eq!(off.api.last().header("traceparent"), None);
    assert_eq!(unwanted.end().await, []);
}

/// AG-21: a run that goes on by itself, or behind an approval, stays in the trace of whoever asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_goes_on_later_stays_in_its_trace() {
    let world = World::with(Collector::start().await, &[]).await;
    let body = json!({ "prompt": "x", "wait_seconds": 30 });
    let answer = world.post("agents/support/runs", body, &traceparent("01")).await;
    assert_eq!(answer["structuredContent"]["answer"], "It is done.", "{answer}");
    let remove = json!({ "type": "api", "id": "shop", "config": { "base_url": world.api.url() },
        "tools": [{ "id": "remove", "method": "DELETE", "endpoint": "/remove" }] });
    world.admin().post("services", remove).await.is(201);
    let model =
        Model::replies(vec![Reply::calls(&[("shop__remove", json!({}))]), Reply::says("Gone.")]).await;
    let asks = json!({ "type": "agent", "id": "asks", "config": { "provider": "openai", "base_url": model.url(),
        "model": "m-1", "tools": ["api://shop/remove"] } });
    world.admin().post("services", asks).await.is(201);
    let request = world.admin().request(Method::POST, "agents/asks/runs");
    let [parent, state] = traceparent("01");
    let request = request.header(parent.0, parent.1).header(state.0, state.1);
    let waiting = send_json(request, &json!({ "prompt": "x" })).await.is(202).body;
    let told = &waiting["structuredContent"];
    let approval = format!("approvals/{}", told["approvals"][0]["id"].as_str().unwrap());
    world.admin().post(&approval, json!({ "decision": "approve" })).await.is(200);
    let wait = json!({ "run": told["run"], "wait_seconds": 30 });
    let answer = world.admin().post("agents/asks/runs", wait).await.is(200).body;
    assert_eq!(answer["structuredContent"]["answer"], "Gone.", "{answer}");
    for asked in world.model.asked().iter().chain(&model.asked()) {
        assert!(asked.head.contains(&format!("traceparent: 00-{TRACE}-")), "{}", asked.head);
        assert!(asked.head.contains("tracestate: vendor=1"), "{}", asked.head);
    }
    for request in world.api.requests() {
        let sent = request.header("traceparent").unwrap_or_default();
        assert!(sent.starts_with(&format!("00-{TRACE}-")), "{} {sent}", request.path);
    }
    for tool in ["crm__flaky", "shop__remove"] {
        let records = world.admin().get(&format!("audit?tool={tool}")).await.is(200).items();
        assert!(
            !records.is_empty() && records.iter().all(|record| record["trace_id"] == TRACE),
            "{records:#?}"
        );
    }
}

/// AG-21: MCP clients name their trace in `_meta`, which is nearer than the header of the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trace_of_a_message_is_the_one_that_counts() {
    let world = World::start(&[]).await;
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}, "traceparent": format!("00-{TRACE}-{PARENT}-01") });
    let params = json!({ "name": "crm__echo", "arguments": {}, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let other = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned();
    let headers = [
        ("mcp-protocol-version", "2026-07-28".to_owned()),
        ("mcp-method", "tools/call".to_owned()),
        ("mcp-name", "crm__echo".to_owned()),
        ("accept", "application/json, text/event-stream".to_owned()),
        ("traceparent", other),
    ];
    world.post("/mcp", body, &headers).await;
    let echo = world.named("call crm__echo").await;
    assert_eq!((echo.trace_id.as_str(), echo.parent.as_str()), (TRACE, PARENT));
    assert_eq!(echo.attributes["mcp_all_in_one.door"], "mcp");
}

/// A collector that is not there harms no call, and is spoken of once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_do_not_wait_for_a_collector_that_is_away() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let endpoint = format!("http://{closed}");
    let mut world = World::with(Collector::start().await, &["--otlp-endpoint", &*endpoint]).await;
    let said = |world: &World| world.server.stderr().matches("spans cannot be sent").count();
    for _ in 0..50 {
        world.admin().call("api://crm/echo", json!({})).await.is(200);
    }
    eventually("a word about the collector", PATIENCE, async || said(&world) > 0).await;
    world.server.terminate();
    let status = tokio::task::block_in_place(|| world.server.wait(Duration::from_secs(30)));
    assert!(status.success(), "{status}");
    assert_eq!(said(&world), 1, "{}", world.server.stderr());
}

/// An address that is none is refused at the start, with what to do.
#[tokio::test]
async fn refuses_an_endpoint_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::create(Backend::Sqlite).await;
    let mut command = process::serve(env!("CARGO_BIN_EXE_mcp-all-in-one"), &database, folder.path());
    let output = process::run(command.args(["--otlp-endpoint", "localhost:4317"]));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("write it with http://"), "{said}");
}
