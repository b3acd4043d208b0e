//! OpenAPI documents become services: previewed, made, called for real, and imported again.

use serde_json::{Value, json};
use testkit::http::Server;
use testkit::{Backend, Reply, TestApp, http, on_both_databases};

on_both_databases! {
    a_tool_of_every_kind_of_document_really_calls
    a_preview_says_everything_and_changes_nothing
    importing_again_shows_and_applies_what_changed
    other_people_can_neither_import_nor_see_it
}

pub(crate) fn document(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../connectors/tests/data/openapi/");
    std::fs::read_to_string(format!("{folder}{name}")).unwrap()
}

fn ids(reply: &Reply) -> Vec<String> {
    let tools = reply.body["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["id"].as_str().unwrap().to_owned()).collect()
}

/// What one tool of a document must make of its arguments.
struct Case {
    document: &'static str,
    config: Value,
    tool: &'static str,
    arguments: Value,
    /// Method, path and query, as they arrive.
    request: (&'static str, &'static str, &'static str),
    body: Value,
}

fn case(
    document: &'static str,
    config: Value,
    tool: &'static str,
    arguments: Value,
    request: (&'static str, &'static str, &'static str),
    body: Value,
) -> Case {
    Case { document, config, tool, arguments, request, body }
}

fn basic() -> Value {
    json!({ "auth_config": { "username": "ada", "password": "hunter2" } })
}

/// Documents like those of services that many use.
fn cases_of_known_services() -> Vec<Case> {
    vec![
        case(
            "petstore-3.0.yaml",
            json!({ "auth_config": { "value": "hunter2" } }),
            "updatePet",
            json!({ "petId": 7, "body_petId": "seven", "name": "Rex", "photoUrls": ["a"], "tag": null }),
            ("PUT", "/pets/7", ""),
            json!({ "petId": "seven", "name": "Rex", "photoUrls": ["a"], "tag": null, "status": "available" }),
        ),
        case(
            "petstore-2.0.json",
            basic(),
            "findPetsByStatus",
            json!({ "status": ["available", "sold"], "tags": ["a", "b"] }),
            ("GET", "/pet/findByStatus", "status=available&status=sold&tags=a%2Cb&age=1"),
            json!(""),
        ),
        case(
            "github-like.json",
            json!({}),
            "issues_set-labels",
            json!({ "owner": "a", "repo": "b", "issue_number": 3, "body": ["bug", "ui"] }),
            ("PUT", "/repos/a/b/issues/3/labels", ""),
            json!(["bug", "ui"]),
        ),
        case(
            "stripe-like.yaml",
            basic(),
            "GetCharges",
            json!({ "range_from": 1, "range_to": 2, "expand": ["data"] }),
            ("GET", "/v1/charges", "range%5Bfrom%5D=1&range%5Bto%5D=2&expand%5B%5D=data"),
            json!(""),
        ),
        case(
            "kubernetes-like.json",
            json!({ "auth_config": { "value": "Bearer hunter2" } }),
            "createCoreV1NamespacedPod",
            json!({ "namespace": "dev", "kind": "Pod", "spec": { "containers": [{ "name": "c" }] } }),
            ("POST", "/api/v1/namespaces/dev/pods", ""),
            json!({ "kind": "Pod", "spec": { "containers": [{ "name": "c" }] } }),
        ),
    ]
}

/// Documents that use what few use, or are not quite right.
fn cases_of_odd_documents() -> Vec<Case> {
    vec![
        case(
            "modern-3.1.yaml",
            json!({}),
            "book",
            json!({ "kind": "booking", "seat": 12, "note": null, "anything": [1] }),
            ("POST", "/bookings", ""),
            json!({ "kind": "booking", "seat": 12, "note": null, "anything": [1] }),
        ),
        case("server-variables.yaml", json!({}), "status", json!({}), ("GET", "/state", ""), json!("")),
        case(
            "security-schemes.yaml",
            json!({ "auth_config": { "value": "hunter2" } }),
            "listLocks",
            json!({}),
            ("GET", "/locks", ""),
            json!(""),
        ),
        case(
            "anchors.yaml",
            json!({}),
            "listShips",
            json!({ "page": 2, "state": "off" }),
            ("GET", "/ships", "page=2&state=off"),
            json!(""),
        ),
        case(
            "unnamed.yaml",
            json!({}),
            "get_users_user-id_items_item_id",
            json!({ "user-id": "a/b", "item.id": "1", "filter_name": "x", "top": 5 }),
            ("GET", "/users/a%2Fb/items/1", "filter%5Bname%5D=x&%24top=5"),
            json!(""),
        ),
        case(
            "bodies.yaml",
            json!({}),
            "dropMany",
            json!({ "body": { "ids": ["a"] } }),
            ("DELETE", "/many", ""),
            json!({ "ids": ["a"] }),
        ),
        case(
            "broken.json",
            json!({}),
            "undeclared",
            json!({ "id": "x" }),
            ("GET", "/undeclared/x", ""),
            json!(""),
        ),
    ]
}

async fn a_tool_of_every_kind_of_document_really_calls(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    for case in cases_of_known_services().into_iter().chain(cases_of_odd_documents()) {
        let id = case.document.split('.').next().unwrap();
        let reply = app.post("services/api/import", json!({
            "document": document(case.document), "mode": "create", "id": id, "base_url": upstream.url(), "config": case.config
        }));
        let reply = reply.await.is(201);
        assert!(!reply.text.contains("hunter2"), "{}", reply.text);
        let result = app.call(&format!("api://{id}/{}", case.tool), case.arguments).await.is(200);
        assert_eq!(result.body["isError"], false, "{}: {}", case.document, result.text);
        let received = upstream.last();
        let request = (received.method.as_str(), received.path.as_str(), received.query.as_str());
        assert_eq!(request, case.request, "{}", case.document);
        let echoed = &result.body["structuredContent"];
        assert_eq!(
            (&echoed["body"], &echoed["path"]),
            (&case.body, &json!(case.request.1)),
            "{}",
            case.document
        );
    }
    assert_eq!(sent_with(&app, &upstream, "api://petstore-3/listPets", "api_key").await, "hunter2");
    assert_eq!(
        sent_with(&app, &upstream, "api://petstore-2/findPetsByStatus", "authorization").await,
        "Basic YWRhOmh1bnRlcjI="
    );
    assert_eq!(sent_with(&app, &upstream, "api://security-schemes/listLocks", "x-lock-key").await, "hunter2");
    assert!(app.tool_names().await.contains(&"petstore-3__listPets".to_owned()), "MCP clients see them too");
    let refused = app.call("api://petstore-3/listPets", json!({ "limit": 500 })).await;
    let refused = refused.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(refused.errors(), [("limit", "TooLarge")], "the document's bounds hold");
}

/// The value of a header that a call carries.
async fn sent_with(app: &TestApp, upstream: &Server, uri: &str, header: &str) -> String {
    app.call(
        uri,
        json!({ "status": ["sold"] })
            .as_object()
            .filter(|_| uri.contains("Status"))
            .cloned()
            .unwrap_or_default()
            .into(),
    )
    .await
    .is(200);
    upstream.last().header(header).unwrap_or_default().to_owned()
}

async fn a_preview_says_everything_and_changes_nothing(backend: Backend) {
    let app = TestApp::start(backend).await;
    let parsed: Value = serde_json::from_str(&document("petstore-2.0.json")).unwrap();
    let reply = app.post("services/api/import", json!({ "document": parsed })).await.is(200);
    let body = &reply.body;
    assert_eq!(
        (&body["type"], &body["id"], &body["name"]),
        (&json!("api"), &json!("petstore-of-old"), &json!("Petstore of old"))
    );
    assert_eq!(body["config"]["base_url"], "https://petstore.example.com/v2");
    assert_eq!(body["config"]["auth_type"], "basic");
    assert_eq!(body["credentials"][1]["setting"], "auth_config.password");
    assert_eq!(body["problems"][0]["path"], "config.auth_config.username", "{}", reply.text);
    assert_eq!(body["skipped"], json!([]));
    assert!(body["changes"].is_null());
    let tool = &body["tools"][0];
    for field in ["id", "method", "endpoint", "description"] {
        assert!(tool[field].is_string(), "{field}: {tool}");
    }
    assert_eq!(tool["input_schema"]["required"], json!(["name"]));
    assert_eq!(app.get("services").await.is(200).body["total"], 0);

    let config = json!({ "auth_config": { "username": "ada", "password": "hunter2" } });
    let reply =
        app.post("services/api/import", json!({ "document": parsed, "config": config })).await.is(200);
    assert_eq!((&reply.body["problems"], &reply.body["credentials"]), (&json!([]), &json!([])));
    assert_eq!(reply.body["config"]["auth_config"]["password"], "***");
    assert!(!reply.text.contains("hunter2"));
    let reply = app.post("services/api/import", json!({ "document": parsed, "mode": "create" })).await;
    let reply = reply.is_problem(422, "VALIDATION_FAILED");
    assert_eq!(reply.errors()[0].0, "config.auth_config.username", "{}", reply.text);
}

async fn importing_again_shows_and_applies_what_changed(backend: Backend) {
    let upstream = http::Server::start().await;
    let app = TestApp::start(backend).await;
    let config = json!({ "auth_config": { "value": "hunter2" } });
    let create = json!({ "document": orders(), "mode": "create", "id": "shop", "base_url": upstream.url(), "config": config });
    app.post("services/api/import", create.clone()).await.is(201);
    app.post("services/api/import", create).await.is_problem(409, "CONFLICT");
    let template = json!({ "response_template": "{{ .method }}", "headers": { "X-Own": "1" } });
    app.patch("services/api/shop/tools/get", template).await.is(200);

    let document = orders_changed();
    let again = |mode: &str| json!({ "document": document, "mode": mode, "id": "shop" });
    let preview = app.post("services/api/import", again("preview")).await.is(200);
    check_changes(&preview.body["changes"]);
    assert!(
        preview.text.contains("base_url moves it") && !preview.text.contains("hunter2"),
        "{}",
        preview.text
    );
    app.call("api://shop/drop", json!({ "id": "1" })).await.is(200);

    let updated = app.post("services/api/import", again("update")).await.is(200);
    assert_eq!(ids(&updated), ["list", "place", "get"]);
    assert_eq!(updated.body["config"]["base_url"], upstream.url(), "a document does not move a service");
    app.call("api://shop/drop", json!({ "id": "1" })).await.is_problem(404, "TOOL_NOT_FOUND");
    let kept = app.call("api://shop/get", json!({ "id": "1" })).await.is(200);
    assert_eq!(kept.body["content"][0]["text"], "GET", "the template stays");
    let received = upstream.last();
    assert_eq!((received.header("x-key"), received.header("x-own")), (Some("hunter2"), Some("1")));
    let same = app.post("services/api/import", again("preview")).await.is(200);
    assert_eq!(same.body["changes"], json!({ "added": [], "removed": [], "changed": [], "unchanged": 3 }));

    let mut few = again("update");
    few["include"] = json!(["place"]);
    few["keep_missing"] = json!(true);
    few["config"] = json!({ "auth_config": { "value": "correct horse" } });
    assert_eq!(ids(&app.post("services/api/import", few).await.is(200)).len(), 3);
    app.call("api://shop/list", json!({})).await.is(200);
    assert_eq!(upstream.last().header("x-key"), Some("correct horse"));
    app.post("services/api/import", json!({ "document": document, "mode": "update", "id": "nobody" }))
        .await
        .is_problem(404, "NOT_FOUND");
}

/// A shop with three operations.
fn orders() -> Value {
    json!({
        "openapi": "3.0.0", "info": { "title": "Shop" }, "servers": [{ "url": "https://shop.example.com" }],
        "components": { "securitySchemes": { "k": { "type": "apiKey", "in": "header", "name": "X-Key" } } }, "security": [{ "k": [] }],
        "paths": {
            "/orders": { "get": { "operationId": "list", "parameters": [{ "name": "page", "in": "query", "schema": { "type": "integer" } }] } },
            "/orders/{id}": { "get": { "operationId": "get" }, "delete": { "operationId": "drop" } }
        }
    })
}

/// The same shop, with an operation more, one less and two that differ.
fn orders_changed() -> Value {
    let mut document = orders();
    document["paths"]["/orders"]["get"]["parameters"] = json!([
        { "name": "page", "in": "query", "schema": { "type": "string" } },
        { "name": "size", "in": "query", "schema": { "type": "integer" } }
    ]);
    document["paths"]["/orders"]["post"] = json!({ "operationId": "place" });
    document["paths"]["/orders/{id}"].as_object_mut().unwrap().shift_remove("delete");
    document["paths"]["/orders/{id}"]["get"]["summary"] = json!("One order");
    document
}

fn check_changes(changes: &Value) {
    assert_eq!((&changes["added"], &changes["removed"]), (&json!(["place"]), &json!(["drop"])), "{changes}");
    assert_eq!(
        changes["changed"],
        json!([
            { "id": "list", "fields": [
                { "field": "parameters.page",
                  "from": { "name": "page", "parameter_type": "Integer", "position": "query" },
                  "to": { "name": "page", "parameter_type": "String", "position": "query" } },
                { "field": "parameters.size", "from": null,
                  "to": { "name": "size", "parameter_type": "Integer", "position": "query" } }
            ] },
            { "id": "get", "fields": [{ "field": "description", "from": "GET /orders/{id}", "to": "One order" }] }
        ])
    );
}

async fn other_people_can_neither_import_nor_see_it(backend: Backend) {
    let app = TestApp::start(backend).await;
    let acme = app.with_tenant("acme").await;
    let body = |mode: &str| json!({ "document": document("server-variables.yaml"), "mode": mode, "id": "r" });
    app.post("services/api/import", body("create")).await.is(201);
    acme.post("services/api/import", body("update")).await.is_problem(404, "NOT_FOUND");
    let preview = acme.post("services/api/import", body("preview")).await.is(200);
    assert!(preview.body["changes"].is_null(), "another tenant's service is not there");
    acme.post("services/api/import", body("create")).await.is(201);
    for role in ["caller", "viewer"] {
        let someone = app.with_key(json!({ "name": role, "role": role })).await;
        for mode in ["preview", "create", "update"] {
            someone.post("services/api/import", body(mode)).await.is_problem(403, "FORBIDDEN");
        }
    }
    app.post("services/mcp/import", body("preview")).await.is_problem(404, "NOT_FOUND");
    app.post("services/nothing/import", body("preview")).await.is_problem(404, "NOT_FOUND");
}
