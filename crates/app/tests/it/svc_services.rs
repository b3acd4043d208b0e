//! gRPC services through REST and through a real MCP client: imported, called, imported again.

use crate::instances::instance;
use serde::Deserialize;
use serde_json::{Value, json};
use testkit::{Backend, TestApp, on_both_databases};

on_both_databases! {
    importing_again_shows_and_applies_what_changed
}

/// Lists the tools, makes the calls in their order, and prints all that comes back.
const CLIENT: &str = r#"
import asyncio, json, sys
import mcp.client.streamable_http as http
from mcp import ClientSession
connect = getattr(http, "streamable_http_client", None) or http.streamablehttp_client

async def main():
    async with connect(sys.argv[1]) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            await session.initialize()
            listed, results, progress = await session.list_tools(), [], []
            async def hear(number, total, message):
                progress.append(message)
            for name, arguments in json.loads(sys.argv[2]):
                result = await session.call_tool(name, arguments, progress_callback=hear)
                results.append(result.model_dump(by_alias=True))
            names = [tool.name for tool in listed.tools]
            print(json.dumps({"names": names, "results": results, "progress": progress}), flush=True)

asyncio.run(main())
"#;

/// What a client has seen.
#[derive(Debug, Deserialize)]
pub(crate) struct ClientReport {
    names: Vec<String>,
    /// What each of its calls came to.
    pub(crate) results: Vec<Value>,
    progress: Vec<String>,
}

fn server() -> String {
    std::env::var("MCP_TEST_GRPC_PYTHON_URL")
        .expect("MCP_TEST_GRPC_PYTHON_URL is not set; run the tests with scripts/servers run -- CMD")
}

fn config() -> Value {
    json!({ "discovery": { "type": "static", "endpoints": [server()] }, "allow_private_network": true })
}

/// SV-1, SV-5, SV-7: the seed's `svc://loyalty/customers_list {}`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_client_calls_a_grpc_service() {
    let app = TestApp::start(Backend::Sqlite).await;
    let mut config = config();
    config["protocol"] = "grpc".into();
    app.service(json!({ "type": "svc", "id": "loyalty", "config": config })).await;
    let listed = app.call("svc://loyalty/customers_list", json!({})).await.is(200);
    assert_eq!(listed.body["structuredContent"]["customers"][1]["id"], "9007199254740993");
    let missing = app.call("svc://loyalty/customers_get", json!({ "id": 5 })).await;
    assert_eq!(missing.body["error"]["service_code"], "NOT_FOUND", "{:?}", missing.body);

    let tools =
        [("customers", "customers_list"), ("customer", "customers_get"), ("watch", "customers_watch")];
    let url = door_with(&app, &tools).await;
    let calls = json!([["customers", {}], ["customer", { "id": "5" }], ["watch", { "count": 3 }]]);
    let report = call_by_client(&url, &calls).await;
    assert_eq!(report.names, ["customer", "customers", "watch"]);
    let [listed, missing, watched] = <[Value; 3]>::try_from(report.results).unwrap();
    assert_eq!(listed["structuredContent"]["customers"][0]["displayName"], "Ada", "{listed}");
    assert_eq!(missing["isError"], true);
    assert!(missing["content"][0]["text"].as_str().unwrap().contains("there is no customer 5"), "{missing}");
    assert_eq!(watched["structuredContent"]["complete"], true, "{watched}");
    let heard = report.progress;
    assert!(heard.len() == 3 && heard[0].contains("\"number\":\"1\""), "{heard:?}");
}

/// An MCP endpoint with some of the service's tools, under names of its own.
pub(crate) async fn door_with(app: &TestApp, tools: &[(&str, &str)]) -> String {
    let door = instance(app, "door").await;
    let mut bindings = Vec::new();
    for (name, tool) in tools {
        let uri = format!("svc://loyalty/{tool}");
        let made = app.post("tools", json!({ "name": name, "type": "uri", "uri": uri })).await.is(201);
        bindings.push(json!({ "tool_id": made.string("id") }));
    }
    app.post(&format!("mcp/id/{}/bindings", door.id), json!({ "bindings": bindings })).await.is(201);
    format!("http://{}/mcp/{}", app.address(), door.key)
}

/// Has a real client make the calls.
pub(crate) async fn call_by_client(url: &str, calls: &Value) -> ClientReport {
    let mut client = testkit::process::sheltered(crate::setup::servers().join("venv/bin/python"));
    client.arg("-c").arg(CLIENT).arg(url).arg(calls.to_string());
    let output = tokio::task::spawn_blocking(move || client.output().unwrap()).await.unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    serde_json::from_str(&out).unwrap()
}

fn proto(methods: &str) -> Value {
    let text = format!(
        "syntax = \"proto3\"; package loyalty.v1; message Customer {{ int64 id = 1; }} service Customers {{ {methods} }}"
    );
    json!({ "protos": { "loyalty.proto": text } })
}

/// SV-12: preview, create, update and diff; what is imported keeps its descriptors.
async fn importing_again_shows_and_applies_what_changed(backend: Backend) {
    let app = TestApp::start(backend).await;
    let get = "rpc Get(Customer) returns (Customer);";
    let mut import = json!({ "document": proto(get), "config": config(), "id": "loyalty" });
    let preview = app.post("services/svc/import", import.clone()).await.is(200);
    assert_eq!(preview.body["tools"][0]["id"], "customers_get");
    assert_eq!(preview.body["tools"][0]["input_schema"]["properties"]["id"]["format"], "int64");
    assert_eq!((&preview.body["problems"], &preview.body["changes"]), (&json!([]), &Value::Null));
    app.get("services/svc/loyalty").await.is(404);
    import["mode"] = "create".into();
    app.post("services/svc/import", import.clone()).await.is(201);
    let missing = app.call("svc://loyalty/customers_get", json!({ "id": 5 })).await;
    assert_eq!(missing.body["error"]["service_code"], "NOT_FOUND", "{:?}", missing.body);

    let more = format!(
        "{get} rpc List(Customer) returns (Customer); rpc Upload(stream Customer) returns (Customer);"
    );
    let update = json!({ "document": proto(&more), "id": "loyalty", "mode": "preview" });
    let preview = app.post("services/svc/import", update.clone()).await.is(200);
    assert_eq!(preview.body["changes"]["added"], json!(["customers_list"]), "{:?}", preview.body);
    assert_eq!(preview.body["skipped"][0]["operation"], "loyalty.v1.Customers/Upload");
    let update = json!({ "document": proto(&more), "id": "loyalty", "mode": "update" });
    app.post("services/svc/import", update).await.is(200);
    // It knows the new method without having been asked, so the new descriptors are kept.
    app.call("svc://loyalty/customers_list", json!({ "id": 1 })).await.is(200);
    assert_changes_of_messages_show(&app, &more).await;
    let none = json!({ "document": { "reflection": true, "protos": {} }, "config": config() });
    app.post("services/svc/import", none).await.is(422);
}

/// SV-12: a new field and an answer that has become a stream are changes, and words of one's own stay.
async fn assert_changes_of_messages_show(app: &TestApp, methods: &str) {
    let own = json!({ "tools": [
        { "id": "customers_get", "rpc": "loyalty.v1.Customers/Get", "description": "My own words." },
        { "id": "customers_list", "rpc": "loyalty.v1.Customers/List" },
    ] });
    app.patch("services/svc/loyalty", own).await.is(200);
    let methods =
        methods.replace("List(Customer) returns (Customer)", "List(Customer) returns (stream Customer)");
    let mut document = proto(&methods);
    let text =
        document["protos"]["loyalty.proto"].as_str().unwrap().replace("id = 1;", "id = 1; string name = 2;");
    document["protos"]["loyalty.proto"] = text.into();
    let update = json!({ "document": document, "id": "loyalty", "mode": "preview" });
    let preview = app.post("services/svc/import", update).await.is(200);
    let changed = preview.body["changes"]["changed"].as_array().unwrap().clone();
    let fields = |id: &str| -> Vec<Value> {
        let tool = changed.iter().find(|tool| tool["id"] == id).unwrap();
        tool["fields"].as_array().unwrap().iter().map(|change| change["field"].clone()).collect()
    };
    assert_eq!(
        fields("customers_get"),
        ["input_schema", "output_schema", "messages.loyalty.v1.Customer"].map(Value::from)
    );
    assert!(fields("customers_list").contains(&json!("output_schema")));
    let get =
        preview.body["tools"].as_array().unwrap().iter().find(|tool| tool["id"] == "customers_get").unwrap();
    assert_eq!(get["description"], "My own words.");
}

/// SV-12: what clients do not see and what steers calls all the same is shown, too: numbers of fields, and whether a call
/// may be repeated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_shows_changes_that_no_schema_tells() {
    let app = TestApp::start(Backend::Sqlite).await;
    let get = "rpc Get(Customer) returns (Customer)";
    let import = json!({ "document": proto(&format!("{get};")), "config": config(), "id": "loyalty", "mode": "create" });
    app.post("services/svc/import", import).await.is(201);
    let safe = proto(&format!("{get} {{ option idempotency_level = NO_SIDE_EFFECTS; }}"));
    let mut moved = proto(&format!("{get};"));
    let text = moved["protos"]["loyalty.proto"].as_str().unwrap().replace("id = 1;", "id = 2;");
    moved["protos"]["loyalty.proto"] = text.into();
    for (document, field) in [(safe, "idempotency_level"), (moved, "messages.loyalty.v1.Customer")] {
        let update = json!({ "document": document, "id": "loyalty", "mode": "preview" });
        let preview = app.post("services/svc/import", update).await.is(200);
        let changed = &preview.body["changes"]["changed"][0];
        assert_eq!(
            (&changed["id"], &changed["fields"][0]["field"]),
            (&json!("customers_get"), &json!(field))
        );
    }
}

/// SV-12: what a service is described by is replaced, however it was described before, and so is where it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn importing_replaces_another_kind_of_description() {
    let app = TestApp::start(Backend::Sqlite).await;
    let mut config = config();
    config["protocol"] = "grpc".into();
    for (id, schema) in
        [("one", json!({ "reflection": true })), ("two", proto("rpc Get(Customer) returns (Customer);"))]
    {
        config["schema"] = schema;
        app.service(json!({ "type": "svc", "id": id, "config": config })).await;
        let discovery = json!({ "type": "dns", "name": "localhost", "port": 1 });
        let update = json!({ "document": proto("rpc List(Customer) returns (Customer);"), "id": id, "mode": "update",
            "config": { "discovery": discovery } });
        let updated = app.post("services/svc/import", update).await.is(200);
        assert_eq!(updated.body["config"]["discovery"], discovery);
        assert!(updated.body["config"]["schema"]["descriptor_set"].is_string());
    }
}

/// Who may not save the pod's identity may not use it by trying an import out, either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn managers_do_not_import_as_the_pod() {
    let app = TestApp::start(Backend::Sqlite).await;
    let manager = app.with_key(json!({ "name": "m", "role": "manager" })).await;
    let config = json!({ "discovery": { "type": "kubernetes", "service_name": "x", "in_cluster": true } });
    for mode in ["preview", "create"] {
        let import =
            json!({ "document": { "reflection": true }, "config": config, "mode": mode, "id": "pod" });
        manager.post("services/svc/import", import).await.is(403);
    }
    // An admin gets as far as to find that there is no pod.
    let import = json!({ "document": { "reflection": true }, "config": config, "mode": "preview" });
    assert_ne!(app.post("services/svc/import", import).await.status, 403);
}
