//! The OpenAPI document: others read it without complaint, and what it says is so.

use crate::binary::serve;
use crate::setup::{path_with_node, servers};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;
use testkit::client::send;
use testkit::{Backend, Database, TestApp, process};
use tokio::process::Command;

fn document() -> Value {
    serde_json::from_str(&server::openapi_document()).unwrap()
}

#[track_caller]
fn is_well(output: &Output) {
    let said =
        [&output.stdout[..], &output.stderr[..]].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{}\n{}", said[0], said[1]);
}

#[tokio::test]
async fn a_client_in_typescript_can_be_generated() {
    let folder = tempfile::tempdir().unwrap();
    let (source, client) = (folder.path().join("openapi.json"), folder.path().join("client.ts"));
    std::fs::write(&source, server::openapi_document()).unwrap();
    let bin = servers().join("node_modules/.bin");
    let mut generate = Command::from(process::sheltered(bin.join("openapi-typescript")));
    generate.env("PATH", path_with_node()).arg(&source).arg("-o").arg(&client);
    let output = generate.output().await.unwrap();
    is_well(&output);
    let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
    assert!(!said.contains("warn") && !said.contains("error"), "{said}");
    std::fs::write(
        folder.path().join("use.ts"),
        r#"import type { components } from "./client";
        const key: components["schemas"]["KeyCreate"] = { name: "ci", role: "manager", scopes: ["read"] };
        const refused = (problem: components["schemas"]["Problem"]): boolean => problem.code === "NOT_FOUND";
        const bound = (page: components["schemas"]["Page_BoundTool"]): boolean[] => page.items.map((tool) => tool.binding_status);
        const call: components["schemas"]["CallByUri"] = { uri: "api://crm/ping", arguments: { id: 1, more: { a: [] } } };
        const service: components["schemas"]["ServiceCreate"] = { type: "api", id: "crm", config: { base_url: "x" }, tools: [{ id: "a" }] };
        const tool: components["schemas"]["ToolChange"] = { description: "x", version: 2 };
        export { key, refused, bound, call, service, tool };"#,
    )
    .unwrap();
    let mut check = Command::from(process::sheltered(bin.join("tsc")));
    check.env("PATH", path_with_node()).current_dir(folder.path()).args(["--noEmit", "--strict", "use.ts"]);
    is_well(&check.output().await.unwrap());
}

/// All checks, with the exceptions that its settings give reasons for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemathesis_finds_nothing() {
    let database = Database::create(Backend::Sqlite).await;
    let gateway = process::Server::start(serve(&database));
    let admin = gateway.admin();
    let folder = tempfile::tempdir().unwrap();
    let mut check = Command::from(process::sheltered(servers().join("rest/bin/st")));
    check.kill_on_drop(true).current_dir(folder.path());
    check
        .arg("--config-file")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/schemathesis.toml"));
    check.arg("run").arg(admin.url("/api/openapi.json"));
    check.arg("--header").arg(format!("Authorization: Bearer {}", admin.key().unwrap()));
    check.args(["--checks", "all", "--phases", "examples,coverage,fuzzing", "--max-examples", "3"]);
    // One worker: hypothesis parses its own source while it draws, and Python 3.11 cannot do so in two threads.
    check.args([
        "--seed",
        "1",
        "--generation-deterministic",
        "--workers",
        "1",
        "--warnings",
        "off",
        "--no-color",
    ]);
    is_well(&check.output().await.unwrap());
}

#[tokio::test]
async fn a_method_that_is_none_is_told_which_there_are() {
    let app = TestApp::start(Backend::Sqlite).await;
    for (path, methods) in
        [("services", "GET,HEAD,POST"), ("auth/login", "POST"), ("keys/x", "GET,HEAD,PATCH,DELETE")]
    {
        let reply = send(app.request(Method::PUT, path)).await.is_problem(405, "BAD_REQUEST");
        let allowed = reply.header("allow").unwrap_or_else(|| panic!("no Allow: {:?}", reply.headers));
        let sorted = |text: &str| {
            let mut words: Vec<_> = text.split(',').map(|word| word.trim().to_owned()).collect();
            words.sort();
            words
        };
        assert_eq!(sorted(allowed), sorted(methods), "{path}");
    }
}

#[test]
fn every_answer_and_every_refusal_has_a_schema_of_its_own_name() {
    let document = document();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            for status in ["400", "401", "404", "422", "429", "500", "503"] {
                assert!(responses.contains_key(status), "{method} {path} does not tell of {status}");
            }
            for (status, response) in responses {
                let response = match response["$ref"].as_str() {
                    Some(name) => document.pointer(name.trim_start_matches('#')).unwrap(),
                    None => response,
                };
                let says_something = response["description"].as_str().is_some_and(|said| !said.is_empty());
                assert!(says_something, "{method} {path} {status} says nothing");
                for (kind, content) in response["content"].as_object().into_iter().flatten() {
                    let is_file =
                        !kind.contains("json") || path.ends_with("/export") || kind.contains("ndjson");
                    let name = content["schema"]["$ref"].as_str();
                    assert!(is_file || name.is_some(), "{method} {path} {status} {kind} has no name");
                }
            }
        }
    }
    assert_eq!(document["components"]["schemas"]["Problem"]["required"].as_array().unwrap().len(), 6);
}

/// A place without a type says in words what may stand there.
#[test]
fn no_place_is_untyped_without_a_reason() {
    let mut untyped = Vec::new();
    for (name, schema) in document()["components"]["schemas"].as_object().unwrap() {
        look(schema, name, &mut untyped);
    }
    assert!(untyped.is_empty(), "{untyped:#?}");
}

fn look(schema: &Value, place: &str, untyped: &mut Vec<String>) {
    let Some(fields) = schema.as_object() else { return };
    let says = |keys: &[&str]| keys.iter().any(|key| fields.contains_key(*key));
    let is_object = fields.get("type").is_some_and(|kind| kind.to_string().contains("\"object\""));
    let is_open = is_object && !says(&["properties", "additionalProperties"]);
    let is_untyped = is_open || !says(&["type", "$ref", "oneOf", "anyOf", "allOf", "enum"]);
    if is_untyped && !says(&["description"]) {
        untyped.push(place.to_owned());
    }
    for (name, field) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
        look(field, &format!("{place}.{name}"), untyped);
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        for part in fields.get(key).and_then(Value::as_array).into_iter().flatten() {
            let described = json!({ "description": fields.get("description").cloned().unwrap_or_default() });
            let part = if says(&["description"]) && part.get("description").is_none() {
                let mut part = part.clone();
                part.as_object_mut().unwrap().extend(described.as_object().unwrap().clone());
                part
            } else {
                part.clone()
            };
            look(&part, &format!("{place}|{key}"), untyped);
        }
    }
    if let Some(items) = fields.get("items") {
        let mut items = items.clone();
        // What a list is said to hold is said of its items.
        if let (Some(items), Some(said)) = (items.as_object_mut(), fields.get("description")) {
            items.entry("description").or_insert_with(|| said.clone());
        }
        look(&items, &format!("{place}[]"), untyped);
    }
}

/// `from` and `to` are times where they bound a time, and elsewhere what leads from here to there.
#[test]
fn only_times_are_called_times() {
    let document = document();
    let format = |name: &str, field: &str| {
        document["components"]["schemas"][name]["properties"][field]["format"].clone()
    };
    for (name, field) in
        [("RunReplay", "from"), ("FlowEdge", "from"), ("FlowEdge", "to"), ("OverviewLink", "to")]
    {
        assert_eq!(format(name, field), Value::Null, "{name}.{field}");
    }
    for (name, field) in
        [("RunsFilter", "from"), ("RunsFilter", "to"), ("Stats", "from"), ("AuditView", "at")]
    {
        assert_eq!(format(name, field), "date-time", "{name}.{field}");
    }
    let listed = &document["paths"]["/api/v1/runs"]["get"]["parameters"];
    let from = listed.as_array().unwrap().iter().find(|parameter| parameter["name"] == "from");
    assert_eq!(from.unwrap()["schema"]["format"], "date-time");
}

/// Of two types of one name, the document would have one.
#[test]
fn no_two_types_of_the_document_share_a_name() {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files_below(Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for part in text.split("ToSchema)]").skip(1) {
            let head = part.split('{').next().unwrap();
            let renamed = head.split("#[schema(as = ").nth(1).and_then(|rest| rest.split(')').next());
            let declared =
                head.split_whitespace().skip_while(|word| !matches!(*word, "struct" | "enum")).nth(1);
            let name = renamed.or(declared).unwrap_or_default();
            let name = name.split(['<', ';']).next().unwrap_or_default();
            names.entry(name.to_owned()).or_default().push(file.display().to_string());
        }
    }
    assert!(names.len() > 50, "{names:?}");
    names.retain(|_, files| files.len() > 1);
    assert!(names.is_empty(), "{names:#?}");
}

fn files_below(folder: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() { found.extend(files_below(path)) } else { found.push(path) }
    }
    found
}
