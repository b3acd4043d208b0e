//! An MCP instance holds no more than its owner does when it is called.

use crate::instances::{Instance, Session, bind, hello, instance, tool};
use crate::setup::PATIENCE;
use crate::tables::{shop, table};
use serde_json::{Value, json};
use testkit::{Backend, Client, TestApp, eventually, on_both_databases};

on_both_databases! {
    closes_with_the_key_that_made_it
    closes_with_the_person_who_made_it
    offers_no_more_than_its_owner_may_call
    stays_open_where_no_owner_was_ever_named
}

const VERSION: &str = "2025-06-18";

/// An instance of this client that offers the tool `all`.
async fn door_of(client: &Client) -> Instance {
    let orders = table(client, shop()).await;
    let all = tool(client, "all", "get_all_data", &orders, "").await;
    let door = instance(client, "door").await;
    bind(client, &door, &[&all]).await.is(201);
    door
}

async fn is_open(app: &TestApp, door: &Instance) {
    let session = Session::open(app, &door.key, VERSION).await;
    assert_eq!(session.names().await, json!(["all"]));
    assert_eq!(session.call("all", json!({})).await["result"]["isError"], false);
}

async fn is_closed(app: &TestApp, door: &Instance) {
    let nobody = app.as_nobody();
    hello(&nobody, &format!("/mcp/{}", door.key), VERSION).await.is_problem(404, "NOT_FOUND");
    nobody.get(&format!("mcp/{}/tools", door.key)).await.is_problem(404, "NOT_FOUND");
}

/// Changes the owner so that the door closes, and so that it opens again.
async fn closes_and_opens(app: &TestApp, door: &Instance, owner: &str, steps: &[(Value, Value)]) {
    for (less, as_before) in steps {
        is_open(app, door).await;
        app.patch(owner, less.clone()).await.is(200);
        is_closed(app, door).await;
        app.patch(owner, as_before.clone()).await.is(200);
    }
    is_open(app, door).await;
    app.delete(owner).await.is(204);
    is_closed(app, door).await;
}

async fn closes_with_the_key_that_made_it(backend: Backend) {
    let app = TestApp::start(backend).await;
    for role in ["caller", "manager"] {
        let made = app.post("keys", json!({ "name": "ada", "role": role })).await.is(201);
        let door = door_of(&app.as_key(made.string("key"))).await;
        let steps = [
            (json!({ "status": "disabled" }), json!({ "status": "active" })),
            (json!({ "role": "viewer" }), json!({ "role": role })),
            (json!({ "scopes": ["read"] }), json!({ "scopes": [] })),
            (json!({ "expires_at": "2001-01-01T00:00:00Z" }), json!({ "expires_at": null })),
        ];
        closes_and_opens(&app, &door, &format!("keys/{}", made.string("id")), &steps).await;
    }
    // Nobody has to say that time passes.
    let made = app.post("keys", json!({ "name": "bob", "role": "caller" })).await.is(201);
    let (bob, door) = (format!("keys/{}", made.string("id")), door_of(&app.as_key(made.string("key"))).await);
    let now = app.patch(&bob, json!({ "name": "bo" })).await.is(200).string("updated_at");
    let now = chrono::DateTime::parse_from_rfc3339(&now).unwrap();
    let soon = (now + chrono::TimeDelta::seconds(2)).to_rfc3339();
    app.patch(&bob, json!({ "expires_at": soon })).await.is(200);
    let path = format!("mcp/{}/tools", door.key);
    eventually("the door closes", PATIENCE, async || app.as_nobody().get(&path).await.status == 404).await;
    is_closed(&app, &door).await;
}

async fn closes_with_the_person_who_made_it(backend: Backend) {
    let app = TestApp::start(backend).await;
    let ada = json!({ "username": "ada", "password": "correct horse battery", "role": "manager" });
    let id = app.post("users", ada).await.is(201).string("id");
    let login = json!({ "username": "ada", "password": "correct horse battery" });
    let token = app.as_nobody().post("auth/login", login).await.is(200).string("token");
    let door = door_of(&app.as_key(token)).await;
    let steps = [
        (json!({ "status": "disabled" }), json!({ "status": "active" })),
        (json!({ "role": "viewer" }), json!({ "role": "caller" })),
    ];
    closes_and_opens(&app, &door, &format!("users/{id}"), &steps).await;
}

async fn offers_no_more_than_its_owner_may_call(backend: Backend) {
    let app = TestApp::start(backend).await;
    let made = app.post("keys", json!({ "name": "ada", "role": "caller" })).await.is(201);
    let door = door_of(&app.as_key(made.string("key"))).await;
    let session = Session::open(&app, &door.key, VERSION).await;
    let owner = format!("keys/{}", made.string("id"));
    app.patch(&owner, json!({ "allow": ["other"] })).await.is(200);
    assert_eq!(session.names().await, json!([]));
    let refused = session.call("all", json!({})).await.to_string();
    assert!(refused.contains("allow-list"), "{refused}");
    app.patch(&owner, json!({ "allow": ["al*"], "limits": { "calls_per_minute": 1 } })).await.is(200);
    assert_eq!(session.call("all", json!({})).await["result"]["isError"], false);
    let refused = session.call("all", json!({})).await.to_string();
    assert!(refused.contains("calls a minute"), "{refused}");
}

async fn stays_open_where_no_owner_was_ever_named(backend: Backend) {
    let app = TestApp::start(backend).await;
    let door = door_of(&app).await;
    let database = app.database().clone();
    app.stop().await;
    let mut connection = database.connect().await;
    sqlx::query("UPDATE instances SET owner = ''").execute(&mut connection).await.unwrap();
    drop(connection);
    let again = TestApp::restart(&database).await;
    is_open(&again, &door).await;
}
