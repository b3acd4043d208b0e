//! The binary serving: first words, logs, signals, keys.

use crate::setup::{BothDoors, audited, crm, received};
use serde_json::{Value, json};
use std::process::{Command, Output};
use std::time::Duration;
use testkit::process::{self, Server};
use testkit::{Backend, Client, Database, http, on_both_databases};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_mcp-all-in-one");

pub(crate) fn serve(database: &Database) -> Command {
    let mut command = process::serve(BINARY, database, &database.data_dir());
    command.arg("--allow-private-network");
    command
}

pub(crate) fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

on_both_databases! {
    says_where_it_listens_and_the_admin_key_once
    finishes_calls_and_writes_the_audit_at_sigterm
    rotates_the_master_key_and_forgets_the_old_one
}

async fn says_where_it_listens_and_the_admin_key_once(backend: Backend) {
    let database = Database::create(backend).await;
    let mut server = Server::start(serve(&database));
    let (admin, welcome) = (server.admin(), server.stdout());
    let key = server.admin_key().unwrap().to_owned();
    assert!(welcome.starts_with("mcp-all-in-one 1.0.0 listens on http://127.0.0.1:"), "{welcome}");
    assert!(welcome.contains("claude mcp add --transport http"), "{welcome}");
    let line = welcome.lines().find(|line| line.trim().starts_with("curl ")).unwrap().trim();
    let curl = tokio::task::spawn_blocking({
        let script = format!("{line} --silent --show-error --noproxy '*'");
        move || process::run(process::sheltered("sh").args(["-c", &script]))
    });
    let (stdout, stderr) = said(&curl.await.unwrap());
    let list: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{line}: {stdout}{stderr}"));
    assert_eq!(list["tools"], json!([]));
    admin.post("tenants", json!({ "id": "acme" })).await.is(201);
    assert!(!server.stderr().contains(&key), "the key is not logged");
    server.terminate();
    assert!(server.wait(Duration::from_secs(60)).success(), "{}", server.stderr());

    let again = Server::start(serve(&database));
    assert_eq!(again.admin_key(), None);
    assert!(!again.stdout().contains(&key), "{}", again.stdout());
    again.client(&key).get("tenants/acme").await.is(200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn takes_the_admin_key_from_the_environment() {
    let database = Database::create(Backend::Sqlite).await;
    let token = "an-admin-token-of-our-own";
    for _ in 0..2 {
        let mut command = serve(&database);
        command.env("MCP_ALL_IN_ONE_ADMIN_TOKEN", token);
        let server = Server::start(command);
        assert_eq!(server.admin_key(), None);
        assert!(!server.stdout().contains(token), "{}", server.stdout());
        assert_eq!(server.client(token).get("auth/me").await.is(200).body["role"], "admin");
        assert!(!server.stderr().contains(token));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restores_the_admin_key_of_the_environment() {
    let database = Database::create(Backend::Sqlite).await;
    let first = Server::start(serve(&database));
    let (admin, token) = (first.admin_key().unwrap().to_owned(), "an-admin-token-of-our-own");
    drop(first);
    let start = || {
        let mut command = serve(&database);
        command.env("MCP_ALL_IN_ONE_ADMIN_TOKEN", token);
        Server::start(command)
    };
    let mut server = start();
    let id = server.client(token).get("auth/me").await.is(200).string("id");
    for change in [
        json!({ "status": "disabled" }),
        json!({ "role": "viewer" }),
        json!({ "expires_at": "2001-01-01T00:00:00Z" }),
        json!({ "scopes": ["read"], "allow": ["none"], "limits": { "calls_per_minute": 1 } }),
    ] {
        server.client(&admin).patch(&format!("keys/{id}"), change.clone()).await.is(200);
        drop(server);
        server = start();
        let key = server.client(token).get(&format!("keys/{id}")).await.is(200).body;
        assert_eq!((&key["role"], &key["status"]), (&json!("admin"), &json!("active")), "{change}: {key}");
        assert_eq!((&key["scopes"], &key["allow"]), (&json!([]), &json!([])), "{change}: {key}");
        assert_eq!((&key["limits"], &key["expires_at"]), (&json!({}), &json!(null)), "{change}: {key}");
        let said = server.stderr();
        assert!(said.contains("restored") && !said.contains(token), "{change}: {said}");
    }
    drop(server);
    assert!(!start().stderr().contains("restored"), "nothing to restore");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuses_private_addresses_unless_told_otherwise() {
    let upstream = http::Server::start().await;
    let database = Database::create(Backend::Sqlite).await;
    let server = Server::start(process::serve(BINARY, &database, &database.data_dir()));
    let admin = server.admin();
    admin.post("services", crm(&upstream)).await.is(201);
    let reply = admin.call("api://crm/ping", json!({})).await;
    assert!(reply.status == 403 || reply.body["isError"] == true, "{}", reply.text);
    assert!(reply.text.contains("allow_private_network"), "{}", reply.text);
    assert!(upstream.requests().is_empty());
    let config = json!({ "base_url": upstream.url(), "allow_private_network": true });
    admin.patch("services/api/crm", json!({ "config": config })).await.is(200);
    admin.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rotates_master_keys_that_come_from_outside() {
    let upstream = http::Server::start().await;
    let database = Database::create(Backend::Sqlite).await;
    let (old, new) = ("01".repeat(32), "ab".repeat(32));
    let with = |mut command: Command, keys: &str| {
        command.env("MCP_ALL_IN_ONE_MASTER_KEY", keys);
        command
    };
    let mut server = Server::start(with(serve(&database), &old));
    server.admin().post("services", crm(&upstream)).await.is(201);
    server.kill();
    let rotate = || {
        let mut command = process::command(BINARY);
        command.arg("rotate-key").arg("--data-dir").arg(database.data_dir());
        command
    };
    let output = process::run(&mut with(rotate(), &format!("{new},{old}")));
    assert!(output.status.success(), "{}", said(&output).1);
    let again = Server::start(with(serve(&database), &new));
    again.client(server.admin_key().unwrap()).call("api://crm/ping", json!({})).await.is(200);
    drop(again);
    let refused = process::run(&mut with(rotate(), &old));
    assert_eq!(refused.status.code(), Some(1), "the old key opens nothing: {}", said(&refused).0);
}

/// HD-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_a_line_of_json_per_door_call_without_secrets() {
    let upstream = http::Server::start().await;
    let database = Database::create(Backend::Sqlite).await;
    let mut server = Server::start(serve(&database));
    let key = server.admin_key().unwrap().to_owned();
    let admin = server.admin();
    let mut service = crm(&upstream);
    service["config"]["auth_type"] = json!("bearer");
    service["config"]["auth_config"] = json!({ "token": "hunter2-service" });
    service["tools"][1]["response_template"] = json!("{{ index .query 99 }}");
    admin.post("services", service).await.is(201);
    let user = json!({ "username": "ada", "password": "hunter2-password" });
    admin.post("users", user.clone()).await.is(201);
    let token = admin.post("auth/login", user).await.is(200).string("token");
    let arguments = json!({ "userId": "hunter2-argument", "access_token": "hunter2-token" });
    admin.call("api://crm/get_order", arguments.clone()).await.is(200);
    admin.call_name("crm__get_order", arguments).await.is(200);
    admin.call("api://crm/get_order", json!({ "hunter2-name": 1 })).await.is(422);
    admin.call("api://crm/fail", json!({})).await.is(200);
    let template_failed = admin.call("api://crm/ping", json!({})).await.is(200);
    assert_eq!(template_failed.body["isError"], true, "{}", template_failed.text);
    let door = BothDoors::open(&admin).await;
    door.mcp("tools/call", json!({ "name": "crm__ping" })).await;
    admin.get("mcp/tools").await.is(200);
    admin.get("/mcp/hunter2-path").await.is(404);
    admin.as_key("hunter2-key").get("mcp/tools").await.is(401);
    server.terminate();
    server.wait(Duration::from_secs(60));
    let log = server.stderr();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect();
    let count = |path: &str, status: i64| {
        lines.iter().filter(|line| line["path"] == path && line["status"] == status).count()
    };
    let is_about_template =
        |line: &Value| line["message"].as_str().unwrap().contains("response template failed");
    assert_eq!(lines.iter().filter(|line| is_about_template(line)).count(), 2, "{log}");
    assert_eq!(count("/mcp", 200), 2, "{log}");
    let is_door_call = |line: &&Value| line["message"] == "mcp tools/call";
    assert_eq!(lines.iter().filter(is_door_call).count(), 1, "{log}");
    assert_eq!(count("/api/v1/call", 200), 3, "{log}");
    assert_eq!(count("/api/v1/call", 422), 1, "{log}");
    assert_eq!(count("/api/v1/mcp/tools/call", 200), 1, "{log}");
    assert_eq!(count("/api/v1/mcp/tools", 200), 1, "{log}");
    assert_eq!(count("/api/v1/mcp/tools", 401), 1, "{log}");
    for line in lines.iter().filter(|line| line["path"].is_string()) {
        for field in ["timestamp", "level", "message", "request_id", "method", "ms"] {
            assert!(!line[field].is_null(), "{field} in {line}");
        }
    }
    for secret in ["hunter2", &key, &token] {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

async fn finishes_calls_and_writes_the_audit_at_sigterm(backend: Backend) {
    let upstream = http::Server::start().await;
    let database = Database::create(backend).await;
    let mut server = Server::start(serve(&database));
    let admin = server.admin();
    admin.post("services", crm(&upstream)).await.is(201);
    for _ in 0..20 {
        admin.call("api://crm/ping", json!({})).await.is(200);
    }
    let slow = {
        let admin = admin.clone();
        tokio::spawn(async move { admin.call("api://crm/slow", json!({ "ms": 3000 })).await })
    };
    received(&upstream, 21).await;
    server.terminate();
    let reply = slow.await.unwrap().is(200);
    assert_eq!(reply.body["isError"], false, "{}", reply.text);
    assert!(server.wait(Duration::from_secs(60)).success(), "{}", server.stderr());
    assert!(server.stderr().contains("the audit is written"), "{}", server.stderr());
    let again = Server::start(serve(&database));
    let admin = again.client(server.admin_key().unwrap());
    assert_eq!(admin.get("audit?tool=crm__ping").await.is(200).body["total"], 20, "already there");
    assert_eq!(admin.get("audit?tool=crm__slow&status=ok").await.is(200).body["total"], 1);
}

async fn rotates_the_master_key_and_forgets_the_old_one(backend: Backend) {
    let upstream = http::Server::start().await;
    let database = Database::create(backend).await;
    let file = database.data_dir().join("master.key");
    let sent_token = async |admin: &Client| {
        admin.call("api://crm/ping", json!({})).await.is(200);
        upstream.last().header("authorization").map(str::to_owned)
    };
    let key = {
        let mut server = Server::start(serve(&database));
        let mut service = crm(&upstream);
        service["config"]["auth_type"] = json!("bearer");
        service["config"]["auth_config"] = json!({ "token": "hunter2" });
        server.admin().post("services", service).await.is(201);
        assert_eq!(sent_token(&server.admin()).await.as_deref(), Some("Bearer hunter2"));
        server.terminate();
        server.wait(Duration::from_secs(60));
        server.admin_key().unwrap().to_owned()
    };
    let old = std::fs::read(&file).unwrap();
    let output = tokio::task::spawn_blocking({
        let mut command = process::command(BINARY);
        command.arg("rotate-key").arg("--data-dir").arg(database.data_dir());
        command.args(database.url().map(|url| format!("--database={url}")));
        move || {
            process::run(
                process::sheltered("timeout").arg("60").arg(command.get_program()).args(command.get_args()),
            )
        }
    });
    let output = output.await.unwrap();
    let (stdout, stderr) = said(&output);
    assert!(output.status.success(), "{:?} {stdout}{stderr}", output.status);
    assert!(stdout.contains("values are sealed with the new master key"), "{stdout}");
    let new = std::fs::read(&file).unwrap();
    assert_ne!(new, old);
    let has_old = new.windows(old.len()).any(|part| part == old);
    assert!(!has_old, "the old key is forgotten");
    {
        let mut server = Server::start(serve(&database));
        assert_eq!(sent_token(&server.client(&key)).await.as_deref(), Some("Bearer hunter2"));
        audited(&server.client(&key), "", 2).await;
        server.terminate();
        server.wait(Duration::from_secs(60));
    }
    std::fs::write(&file, old).unwrap();
    let refused = tokio::task::spawn_blocking({
        let command = serve(&database);
        move || {
            process::run(
                process::sheltered("timeout").arg("60").arg(command.get_program()).args(command.get_args()),
            )
        }
    });
    let refused = refused.await.unwrap();
    assert_eq!(refused.status.code(), Some(1), "the old key opens nothing: {}", said(&refused).1);
    assert!(said(&refused).1.contains("master key"), "{}", said(&refused).1);
}
