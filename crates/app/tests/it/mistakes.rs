//! What people are told who make typical mistakes: every message stands in `mistakes.txt`, to be read as they read it.
//!
//! `UPDATE=1` writes that file anew; whoever does reads what has changed in it.

use crate::tables::table;
use reqwest::Method;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use testkit::certificates::Authority;
use testkit::client::send;
use testkit::{Backend, Client, Reply, TestApp, http, process};

/// Words of parsers and libraries, which nobody is to be told.
const FOREIGN: [&str; 20] = [
    "serde",
    "EOF",
    "expected ident",
    "at line",
    "struct ",
    "enum ",
    "variant",
    "invalid type",
    "nud",
    "led token",
    "Rbracket",
    "InvalidContentType",
    "UnknownIssuer",
    "rustls",
    "hyper",
    "os error",
    "deserialize",
    "httparse",
    "UnexpectedEof",
    "::",
];

/// What was done, and what was said about it.
struct Told(Vec<(&'static str, String)>);

impl Told {
    /// The words of a refusal, or of a tool that failed.
    fn add(&mut self, what: &'static str, reply: &Reply) {
        let text = match reply.body.get("detail").and_then(Value::as_str) {
            Some(detail) => {
                let paths: Vec<_> =
                    reply.errors().iter().map(|(path, _)| *path).filter(|path| !path.is_empty()).collect();
                let at = if paths.is_empty() { String::new() } else { format!(" [{}]", paths.join(", ")) };
                format!("{} {detail}{at}", reply.status)
            }
            None if reply.body["isError"] == true => {
                format!("{} {}", reply.status, reply.body["content"][0]["text"].as_str().unwrap_or_default())
            }
            None => format!("{} — no mistake at all: {:.200}", reply.status, reply.text),
        };
        self.0.push((what, without_port(&text)));
    }
}

/// Ports are others each time.
fn without_port(text: &str) -> String {
    let Some((before, after)) = text.split_once("127.0.0.1:") else { return text.to_owned() };
    format!("{before}127.0.0.1:PORT{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn service(id: &str, config: Value, tools: Value) -> Value {
    json!({ "type": "api", "id": id, "name": id, "config": config, "tools": tools })
}

/// A service with one wrong tool.
#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn with_tool(tool: Value) -> Value {
    let mut whole = json!({ "id": "t", "method": "GET", "endpoint": "/x" });
    whole.as_object_mut().unwrap().extend(tool.as_object().unwrap().clone());
    service("wrong", json!({ "base_url": "https://api.example.com" }), json!([whole]))
}

async fn raw(app: &Client, path: &str, body: &'static str) -> Reply {
    send(app.request(Method::POST, path).header("content-type", "application/json").body(body)).await
}

async fn bodies(app: &TestApp, told: &mut Told) {
    told.add("a body that is cut short", &raw(app, "keys", r#"{"name": "ci""#).await);
    told.add("a comma too many", &raw(app, "keys", r#"{"name": "ci",}"#).await);
    told.add("names without quotes", &raw(app, "keys", r#"{name: "ci"}"#).await);
    told.add("a form instead of JSON", &raw(app, "keys", "name=ci&role=admin").await);
    told.add("an empty body", &raw(app, "keys", "").await);
    told.add("a list instead of an object", &raw(app, "keys", r#"["ci"]"#).await);
    told.add("a field that is missing", &app.post("keys", json!({ "role": "caller" })).await);
    told.add("a misspelt field", &app.post("keys", json!({ "nmae": "ci", "role": "caller" })).await);
    told.add("a number for a text", &app.post("keys", json!({ "name": 5, "role": "caller" })).await);
    told.add("a misspelt role", &app.post("keys", json!({ "name": "ci", "role": "manger" })).await);
}

async fn settings(app: &TestApp, told: &mut Told) {
    let config = |config: Value| service("wrong", config, json!([]));
    let example = "https://api.example.com";
    told.add(
        "a misspelt type of service",
        &app.post("services", json!({ "type": "apii", "id": "a", "name": "a", "config": {} })).await,
    );
    told.add(
        "an id with a space",
        &app.post("services", service("my crm", json!({ "base_url": example }), json!([]))).await,
    );
    told.add("a misspelt setting", &app.post("services", config(json!({ "base_ur": example }))).await);
    told.add(
        "an address without http",
        &app.post("services", config(json!({ "base_url": "api.example.com" }))).await,
    );
    told.add(
        "an address with ftp",
        &app.post("services", config(json!({ "base_url": "ftp://api.example.com" }))).await,
    );
    told.add(
        "a time with a unit",
        &app.post("services", config(json!({ "base_url": example, "timeout_ms": "30s" }))).await,
    );
    told.add(
        "a misspelt sign-in",
        &app.post("services", config(json!({ "base_url": example, "auth_type": "bearrer" }))).await,
    );
}

async fn tools_of_services(app: &TestApp, told: &mut Told) {
    told.add(
        "a method that does not exist",
        &app.post("services", with_tool(json!({ "method": "FETCH" }))).await,
    );
    told.add(
        "a placeholder without a parameter",
        &app.post("services", with_tool(json!({ "endpoint": "/users/{userId}" }))).await,
    );
    let path = json!({ "parameters": [{ "name": "userId", "position": "path", "required": true }] });
    told.add("a path parameter without a placeholder", &app.post("services", with_tool(path)).await);
    let position = json!({ "parameters": [{ "name": "q", "position": "querry" }] });
    told.add("a misspelt position", &app.post("services", with_tool(position)).await);
    let kind = json!({ "parameters": [{ "name": "q", "position": "query", "parameter_type": "Str" }] });
    told.add("a misspelt type of parameter", &app.post("services", with_tool(kind)).await);
    told.add(
        "a template that is not closed",
        &app.post("services", with_tool(json!({ "response_template": "{{ range .items }}" }))).await,
    );
    told.add(
        "a template with a misspelt function",
        &app.post("services", with_tool(json!({ "response_template": "{{ uper .name }}" }))).await,
    );
    told.add(
        "a JMESPath that is not closed",
        &app.post("services", with_tool(json!({ "select": "items[?price >" }))).await,
    );
    told.add(
        "a JMESPath with a misspelt function",
        &app.post("services", with_tool(json!({ "select": "lenght(items)" }))).await,
    );
}

async fn own_tools(app: &TestApp, told: &mut Told) {
    told.add(
        "a Tool that leads to no URI",
        &app.post("tools", json!({ "name": "a", "type": "uri", "uri": "crm/get_order" })).await,
    );
    told.add(
        "a Tool of a misspelt type",
        &app.post("tools", json!({ "name": "a", "type": "htp", "config": {} })).await,
    );
}

async fn calls(app: &TestApp, told: &mut Told) {
    let upstream = http::Server::start().await;
    app.service(crate::setup::crm(&upstream)).await;
    let call = async |uri: &str, arguments: Value| app.call(uri, arguments).await;
    told.add("a URI without a type", &call("crm/get_order", json!({})).await);
    told.add("a misspelt tool in a URI", &call("api://crm/get_ordr", json!({})).await);
    told.add("a misspelt service in a URI", &call("api://cmr/get_order", json!({})).await);
    told.add("a misspelt type in a URI", &call("apo://crm/get_order", json!({})).await);
    told.add("a misspelt name of a tool", &app.call_name("crm__get_oder", json!({})).await);
    told.add("a name like none", &app.call_name("weather", json!({})).await);
    told.add("a misspelt option", &call("api://crm/get_order?timout=500", json!({ "userId": "u" })).await);
    told.add(
        "an option that is no number",
        &call("api://crm/get_order?timeout=soon", json!({ "userId": "u" })).await,
    );
    told.add("a parameter that is missing", &call("api://crm/get_order", json!({})).await);
    told.add(
        "a misspelt parameter",
        &call("api://crm/get_order", json!({ "userId": "u", "stat": "open" })).await,
    );
    told.add(
        "a text for a number",
        &call("api://crm/get_order", json!({ "userId": "u", "limit": "ten" })).await,
    );
    told.add(
        "a value that is not allowed",
        &call("api://crm/get_order", json!({ "userId": "u", "state": "ajar" })).await,
    );
    told.add("arguments that are a list", &call("api://crm/ping", json!([1])).await);
    let tools = Value::from(
        [401, 403, 404]
            .map(|status| json!({ "id": format!("s{status}"), "endpoint": format!("/status/{status}") }))
            .to_vec(),
    );
    app.service(service(
        "status",
        json!({ "base_url": upstream.url(), "retry": { "max_attempts": 1 } }),
        tools,
    ))
    .await;
    told.add("a service that says 401", &call("api://status/s401", json!({})).await);
    told.add("a service that says 403", &call("api://status/s403", json!({})).await);
    told.add("a service that says 404", &call("api://status/s404", json!({})).await);
    let caller = app.with_key(json!({ "name": "few", "role": "caller", "allow": ["api://crm/ping"] })).await;
    told.add(
        "a misspelt tool that the caller may not use",
        &caller.call("api://crm/get_ordr", json!({})).await,
    );
}

async fn people(app: &TestApp, told: &mut Told) {
    told.add("no key", &app.as_nobody().get("services").await);
    told.add("a wrong key", &app.as_key("mk_wrong").get("services").await);
    let caller = app.with_key(json!({ "name": "caller", "role": "caller" })).await;
    let example = json!({ "base_url": "https://api.example.com" });
    told.add("a role that may not", &caller.post("services", service("mine", example, json!([]))).await);
    let key = json!({ "name": "ci", "role": "caller", "expires_at": "tomorrow" });
    told.add("a time in words", &app.post("keys", key).await);
    told.add("a limit of nothing", &app.get("services?limit=0").await);
    told.add("a page that is no number", &app.get("services?page=first").await);
    told.add("a misspelt path", &app.get("servces").await);
    told.add("a misspelt service", &app.get("services/api/cmr").await);
    let id = table(app, json!({ "orders": [] })).await;
    told.add("a table that is not there", &app.get("tables/00000000-0000-4000-8000-000000000000/data").await);
    told.add("a pointer without a slash", &app.get(&format!("tables/{id}/data?json_path=orders")).await);
    told.add("a misspelt pointer", &app.get(&format!("tables/{id}/data?json_path=/oders")).await);
    told.add("a format that does not exist", &app.get(&format!("tables/{id}/export?format=xml")).await);
    told.add(
        "a query that is no JMESPath",
        &app.call(&format!("table://{id}/query_data"), json!({ "query": "orders[" })).await,
    );
    told.add(
        "a query with a wrong type",
        &app.call(&format!("table://{id}/query_data"), json!({ "query": "abs('x')" })).await,
    );
}

async fn networks(app: &TestApp, told: &mut Told) {
    let plain = http::Server::start().await;
    let authority = Authority::new();
    let safe = http::Server::start_tls(authority.server()).await;
    let expired = http::Server::start_tls(authority.expired_server()).await;
    let dead = http::dead_address().await;
    let ca = json!({ "ca": authority.pem() });
    for (id, what, url, tls) in [
        ("dead", "a port where nobody listens", format!("http://{dead}"), Value::Null),
        ("dns", "a host that does not exist", "http://no-such-host.invalid".to_owned(), Value::Null),
        ("https", "https where http is spoken", plain.url().replace("http://", "https://"), Value::Null),
        ("http", "http where https is spoken", safe.url(), Value::Null),
        (
            "unknown",
            "a certificate of an unknown authority",
            safe.url().replace("http://", "https://"),
            Value::Null,
        ),
        (
            "name",
            "a certificate for another name",
            safe.url().replace("http://127.0.0.1", "https://localhost"),
            ca.clone(),
        ),
        ("expired", "a certificate that has expired", expired.url().replace("http://", "https://"), ca),
    ] {
        let mut config = json!({ "base_url": url, "retry": { "max_attempts": 1 } });
        if !tls.is_null() {
            config["tls"] = tls;
        }
        app.service(service(id, config, json!([{ "id": "get", "endpoint": "/x" }]))).await;
        told.add(what, &app.call(&format!("api://{id}/get"), json!({})).await);
    }
}

/// What `config validate` says about a file.
fn config_file(what: &'static str, text: &str, told: &mut Told) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    std::fs::write(&path, text).unwrap();
    let mut command = process::command(env!("CARGO_BIN_EXE_mcp-all-in-one"));
    let output =
        command.args(["config", "validate", "mcp.json"]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    // Without what draws a frame around it, which depends on the terminal.
    let said = said.replace(['│', '×'], " ");
    told.0.push((what, said.split_whitespace().collect::<Vec<_>>().join(" ")));
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mistakes.txt")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mistake_is_told_as_it_stands_in_the_list() {
    let app = TestApp::start(Backend::Sqlite).await;
    let mut told = Told(Vec::new());
    bodies(&app, &mut told).await;
    settings(&app, &mut told).await;
    tools_of_services(&app, &mut told).await;
    own_tools(&app, &mut told).await;
    calls(&app, &mut told).await;
    people(&app, &mut told).await;
    networks(&app, &mut told).await;
    config_file("an mcp.json that is cut short", "{\"mcpServers\": {", &mut told);
    config_file("an mcp.json without a command", r#"{"mcpServers": {"a": {"args": ["x"]}}}"#, &mut told);
    config_file(
        "an mcp.json with a misspelt type",
        r#"{"mcpServers": {"a": {"type": "htp", "url": "http://127.0.0.1:1"}}}"#,
        &mut told,
    );
    assert!(told.0.len() >= 47, "{}", told.0.len());
    let mut text = String::new();
    for (what, said) in &told.0 {
        writeln!(text, "{what}\n    {}", said.replace('\n', "\n    ")).unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(golden(), &text).unwrap();
    }
    for (what, said) in &told.0 {
        for word in FOREIGN {
            assert!(!said.contains(word), "{what} is told in foreign words ({word}): {said}");
        }
        let parts: Vec<_> = said.split("; ").collect();
        let is_twice =
            |part: &&&str| part.len() > 12 && parts.iter().filter(|other| *other == *part).count() > 1;
        assert!(!parts.iter().any(|part| is_twice(&part)), "{what} is told twice: {said}");
    }
    let kept = std::fs::read_to_string(golden()).unwrap_or_default();
    for (line, (now, then)) in text.lines().zip(kept.lines().chain(std::iter::repeat(""))).enumerate() {
        assert_eq!(now, then, "line {} of mistakes.txt; UPDATE=1 writes it anew", line + 1);
    }
    assert_eq!(text.lines().count(), kept.lines().count());
}
