//! `backup` and `restore`: while the server runs, from either database into either, all or nothing.

use crate::binary::{BINARY, said, serve};
use crate::setup::{PATIENCE, audited};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;
use std::time::Duration;
use testkit::process::{self, Server};
use testkit::{Backend, Client, Database, eventually, http, on_both_databases};

on_both_databases! {
    restores_a_running_server_into_either_database
    refuses_backups_that_do_not_fit
    refuses_to_restore_under_a_running_server
}

const SECRET: &str = "t0ken-0f-the-service";

async fn run(name: &str, database: &Database, arguments: &[&str]) -> Output {
    let mut command = process::command(BINARY);
    command.arg(name).args(arguments).arg("--data-dir").arg(database.data_dir());
    if let Some(url) = database.url() {
        command.args(["--database", &url]);
    }
    tokio::task::spawn_blocking(move || process::run(&mut command)).await.unwrap()
}

#[track_caller]
fn succeeds(output: &Output) -> String {
    let (stdout, stderr) = said(output);
    assert!(output.status.success(), "{stdout}{stderr}");
    stdout
}

#[track_caller]
fn fails(output: &Output, words: &str) {
    let (stdout, stderr) = said(output);
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    // Long lines are broken for people to read.
    let flat = stderr.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert!(flat.contains(words), "{stderr}");
}

/// An empty database whose server will have the same master key.
async fn beside(database: &Database, backend: Backend) -> Database {
    let other = Database::create(backend).await;
    std::fs::create_dir_all(other.data_dir()).unwrap();
    std::fs::copy(database.data_dir().join("master.key"), other.data_dir().join("master.key")).unwrap();
    other
}

/// Everything there is: a secret, a person, a table with a search over it, an instance, a record of a call.
async fn furnish(admin: &Client, upstream: &http::Server) -> String {
    let config =
        json!({ "base_url": upstream.url(), "auth_type": "bearer", "auth_config": { "token": SECRET } });
    let service = json!({ "type": "api", "id": "crm", "config": config, "tools": [{ "id": "ping", "endpoint": "/ping" }] });
    admin.post("services", service).await.is(201);
    admin.post("users", json!({ "username": "ada", "password": "long enough" })).await.is(201);
    let data = json!({ "docs": [{ "text": "a giraffe eats leaves" }, { "text": "héllo \u{1F600} 'quoted' \"twice\"" }] });
    let table = admin.post("tables", json!({ "name": "zoo", "data": data })).await.is(201).string("id");
    let search = json!({ "name": "find", "type": "search", "table_id": table, "json_path": "/docs", "description": "Finds" });
    admin.post("tools/search", search).await;
    let tool = json!({ "name": "pong", "type": "uri", "uri": "api://crm/ping" });
    let tool = admin.post("tools", tool).await.is(201).string("id");
    let instance = admin.post("mcp", json!({ "name": "door" })).await.is(201).string("id");
    let bindings = json!({ "bindings": [{ "tool_id": tool }] });
    admin.post(&format!("mcp/id/{instance}/bindings"), bindings).await.is(201);
    let source = "nodes: {p: {exec: 'api://crm/ping'}}\ntriggers: [{type: webhook, name: in}]";
    admin.post("flows", json!({ "id": "pings", "source": source })).await.is(201);
    admin.post("flows/pings/publish", json!({})).await.is(200);
    admin.call("api://crm/ping", json!({})).await.is(200);
    audited(admin, "service=crm", 1).await;
    tool
}

#[track_caller]
fn keeps_secrets_sealed(file: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    for secret in [SECRET, "long enough", "whsec_"] {
        assert!(!text.contains(secret), "{secret} can be read");
    }
}

/// Everything there is of the flow.
async fn flow(client: &Client) -> Value {
    let version = client.get("flows/pings/versions/1").await.is(200).body;
    let triggers = client.get("flows/pings/triggers").await.is(200).body;
    let references = client.get("services/api/crm/references").await.is(200).body;
    assert_eq!((&triggers["total"], &references["total"]), (&json!(1), &json!(3)));
    json!([version, triggers, references])
}

async fn restores_a_running_server_into_either_database(backend: Backend) {
    let upstream = http::Server::start().await;
    let database = Database::create(backend).await;
    let server = Server::start(serve(&database));
    let admin = server.admin();
    let tool = furnish(&admin, &upstream).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.backup");
    let file = file.to_str().unwrap();
    // Somebody writes all the while: a Tool and its versions change together.
    let writer = tokio::spawn({
        let (admin, path) = (admin.clone(), format!("tools/{tool}"));
        async move {
            for n in 0.. {
                admin.patch(&path, json!({ "description": format!("version {n}") })).await.is(200);
            }
        }
    });
    eventually("the writer is at work", PATIENCE, async || {
        admin.get(&format!("tools/{tool}")).await.is(200).body["version"].as_i64() > Some(3)
    })
    .await;
    let said = succeeds(&run("backup", &database, &[file]).await);
    assert!(said.contains("master key"), "{said}");
    writer.abort();
    keeps_secrets_sealed(file);
    fails(&run("backup", &database, &[file]).await, "is there already");
    succeeds(&run("backup", &database, &[file, "--force"]).await);

    let flow = flow(&admin).await;
    for target in [Backend::Sqlite, Backend::Postgres] {
        let other = beside(&database, target).await;
        succeeds(&run("restore", &other, &[file]).await);
        let mut restored = Server::start(serve(&other));
        assert_eq!(restored.admin_key(), None, "there are people already");
        let client = restored.client(server.admin_key().unwrap());
        client.call("api://crm/ping", json!({})).await.is(200);
        assert_eq!(upstream.last().header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
        let login = json!({ "tenant": "default", "username": "ada", "password": "long enough" });
        client.post("auth/login", login).await.is(200);
        let tables = client.get("tables").await.is(200).items();
        let data = format!("tables/{}/data?json_path=/docs/1/text", tables[0]["id"].as_str().unwrap());
        assert_eq!(client.get(&data).await.is(200).body["data"], "héllo \u{1F600} 'quoted' \"twice\"");
        assert_eq!(self::flow(&client).await, flow, "with its version, triggers and references");
        let version = client.get(&format!("tools/{tool}")).await.is(200).body["version"].as_i64();
        let versions =
            client.get(&format!("tools/{tool}/versions?limit=1000")).await.is(200).body["total"].as_i64();
        assert_eq!(version, versions, "a Tool and its versions are of one moment");
        audited(&client, "service=crm", 2).await;
        eventually("the search finds again", PATIENCE, async || {
            let found = client.call_name("find", json!({ "query": "giraffe" })).await;
            found.text.contains("leaves")
        })
        .await;
        restored.terminate();
        assert!(restored.wait(Duration::from_secs(60)).success());
        fails(&run("restore", &other, &[file]).await, "not empty");
        succeeds(&run("restore", &other, &[file, "--force"]).await);
    }
}

async fn refuses_to_restore_under_a_running_server(backend: Backend) {
    let database = Database::create(backend).await;
    let mut first = Server::start(serve(&database));
    let admin = first.admin();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.backup");
    let file = file.to_str().unwrap();
    succeeds(&run("backup", &database, &[file]).await);
    admin.post("users", json!({ "username": "ada", "password": "long enough" })).await.is(201);
    // Servers may share a database; the last of them must be gone.
    let mut second = Server::start(serve(&database));
    for server in [&mut first, &mut second] {
        fails(&run("restore", &database, &[file, "--force"]).await, "stop every server that uses it");
        let users = server.client(admin.key().unwrap()).get("users").await.is(200);
        assert!(users.text.contains("ada"), "nothing was replaced: {}", users.text);
        server.terminate();
        assert!(server.wait(Duration::from_secs(60)).success());
    }
    succeeds(&run("restore", &database, &[file, "--force"]).await);
    let restored = Server::start(serve(&database));
    let users = restored.client(admin.key().unwrap()).get("users").await.is(200);
    assert!(!users.text.contains("ada"), "{}", users.text);
}

async fn refuses_backups_that_do_not_fit(backend: Backend) {
    let database = Database::create(backend).await;
    let mut server = Server::start(serve(&database));
    let admin = server.admin();
    let key = server.admin_key().unwrap().to_owned();
    admin.post("tenants", json!({ "id": "acme" })).await.is(201);
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let whole = path("whole");
    succeeds(&run("backup", &database, &[&whole]).await);
    admin.post("tenants", json!({ "id": "later" })).await.is(201);
    server.terminate();
    assert!(server.wait(Duration::from_secs(60)).success());

    let text = std::fs::read_to_string(&whole).unwrap();
    let lines: Vec<_> = text.lines().collect();
    for (name, changed, words) in [
        ("changed", text.replace("acme", "acmf"), "checksum does not fit"),
        ("cut", format!("{}\n", lines[..lines.len() - 1].join("\n")), "its end is missing"),
        ("half", text[..text.len() / 2].to_owned(), "is not what a backup"),
        ("foreign", "PRAGMA foreign_keys=OFF;\n".to_owned(), "line 1 is not what a backup"),
        ("newer", text.replacen("\"format\":1", "\"format\":99", 1), "newer version"),
        (
            "injected",
            text.replacen("\"table\":\"users\"", "\"table\":\"users; --\"", 1).replacen(
                "\"table\":\"tenants\"",
                "\"table\":\"x\"",
                1,
            ),
            "is not what a backup",
        ),
    ] {
        let file = path(name);
        std::fs::write(&file, changed).unwrap();
        fails(&run("restore", &database, &[&file, "--force"]).await, words);
    }
    fails(&run("restore", &database, &[&path("nowhere"), "--force"]).await, "cannot be read");
    let stranger = Database::create(backend).await;
    fails(&run("restore", &stranger, &[&whole]).await, "master.key");
    std::fs::create_dir_all(stranger.data_dir()).unwrap();
    make_key(&stranger.data_dir());
    fails(&run("restore", &stranger, &[&whole]).await, "master key does not belong");
    // All or nothing: after so many attempts everything is as it was.
    let again = Server::start(serve(&database));
    again.client(&key).get("tenants/later").await.is(200);
}

/// Another key than the one that sealed.
fn make_key(folder: &Path) {
    let path = folder.join("master.key");
    let script = "umask 077; head -c 32 /dev/urandom | base64 > \"$0\"";
    assert!(process::sheltered("sh").args(["-c", script]).arg(&path).status().unwrap().success());
}
