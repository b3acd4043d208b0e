//! `flow …` on the command line: with a server and without.

use crate::binary::serve;
use crate::command_line::{Ended, run, run_with};
use crate::setup::crm;
use testkit::process::Server;
use testkit::{Backend, Database, http};

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// FL-18: a compiler's lines, exit code 1, no server.
#[tokio::test]
async fn validates_files_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let right = file(&folder, "right.yaml", "inputs: {x: int}\nnodes: {a: {exec: 'api://some/tool'}}\n");
    let ended = run(&["flow", "validate", &right]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, format!("{right}:1:13: warning: the input 'x' is never used [Unused]\n"));
    assert!(
        ended.stderr.contains("tools were not checked") && ended.stderr.contains("no errors, 1 warning"),
        "{}",
        ended.stderr
    );
    let wrong = file(&folder, "wrong.yaml", "nodes:\n  a: {with: '${b}'}\n  c: {wait: soon}\n");
    let ended = run(&["flow", "validate", &wrong]).await;
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stdout.contains(&format!("{wrong}:3:13: a length of time belongs here")),
        "{}",
        ended.stdout
    );
    let ended = run_with("nodes: {a: {with: 1, nxt: b}}", &["flow", "validate", "-"]).await;
    assert_eq!(ended.stdout, "stdin:1:22: there is no field 'nxt' here; did you mean 'next'? [Unknown]\n");
    let none = run(&["flow", "validate", "/nowhere/at/all.yaml"]).await;
    assert!(
        none.code == Some(1) && none.stderr.contains("'/nowhere/at/all.yaml' cannot be read"),
        "{}",
        none.stderr
    );
    let bytes = folder.path().join("bytes.yaml");
    std::fs::write(&bytes, b"name: x\nnodes: \xff\n").unwrap();
    let broken = run(&["flow", "validate", bytes.to_str().unwrap()]).await;
    assert!(broken.code == Some(1) && broken.stderr.contains(":2: this is no UTF-8"), "{}", broken.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pushes_compares_and_publishes() {
    let upstream = http::Server::start().await;
    let database = Database::create(Backend::Sqlite).await;
    let server = Server::start(serve(&database));
    let admin = server.admin();
    admin.post("services", crm(&upstream)).await.is(201);
    let (url, key) = (admin.url("/"), admin.key().unwrap().to_owned());
    let flow = async |words: &[&str]| -> Ended {
        let words: Vec<_> =
            ["flow"].iter().chain(words).chain(&["--server", &url, "--token", &key]).copied().collect();
        run(&words).await
    };
    let folder = tempfile::tempdir().unwrap();
    let text = "name: Hello\nnodes:\n  a: {exec: 'api://crm/pong'}\n";
    let path = file(&folder, "hello.yaml", text);
    let ended = flow(&["validate", &path]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stdout.starts_with(&format!("{path}:3:13: service api://crm has no tool 'pong'")),
        "{}",
        ended.stdout
    );
    let ended = flow(&["push", &path]).await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "made the draft of flow 'hello', revision 1\n")
    );
    assert!(ended.stderr.contains("1 error and cannot be published"), "{}", ended.stderr);
    let ended = flow(&["publish", "hello"]).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("line 3, column 13"), "{}", ended.stderr);
    let hook = "triggers: [{type: webhook, name: in}]\n";
    file(&folder, "hello.yaml", &format!("{}{hook}", text.replace("pong", "ping")));
    let ended = flow(&["push", &path, "--revision", "1"]).await;
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "changed the draft of flow 'hello', revision 2\n")
    );
    let stale = flow(&["push", &path, "--revision", "1"]).await;
    assert!(stale.code == Some(1) && stale.stderr.contains("CONFLICT"), "{}", stale.stderr);
    let ended = flow(&["publish", "hello"]).await;
    assert!(
        ended.stdout.starts_with("published flow 'hello' as version 1\nwebhook in: POST /hooks/"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("whsec_"), "{}", ended.stdout);
    assert!(flow(&["publish", "hello"]).await.stdout.contains("has that text already"));
    file(&folder, "hello.yaml", &format!("{}  b: {{with: 1}}\n{hook}", text.replace("pong", "ping")));
    flow(&["push", &path]).await;
    let ended = flow(&["diff", "hello"]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "+ nodes.b: {\"with\":1}\n"));
    flow(&["publish", "hello"]).await;
    assert_eq!(flow(&["diff", "hello", "--from", "2", "--to", "draft"]).await.code, Some(0));
    assert_eq!(flow(&["rollback", "hello", "1"]).await.stdout, "published flow 'hello' as version 3\n");
    assert_eq!(flow(&["list"]).await.stdout, "hello  version 3  Hello\n");
    let none = flow(&["publish", "nobody"]).await;
    assert!(none.code == Some(1) && none.stderr.contains("there is no such flow"), "{}", none.stderr);
}

/// FL-2: a flow that goes on is told by its run, also to whoever calls it as a tool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_goes_on_prints_its_run() {
    let database = Database::create(Backend::Sqlite).await;
    let server = Server::start(serve(&database));
    let admin = server.admin();
    let source = "nodes: {ok: {approval: Go}}";
    admin.post("flows", serde_json::json!({ "id": "asks", "source": source })).await.is(201);
    admin.post("flows/asks/publish", serde_json::json!({})).await.is(200);
    let (url, key) = (admin.url("/"), admin.key().unwrap().to_owned());
    for uri in ["flow://asks", "flow://asks?async=true"] {
        let ended = run(&["call", uri, "--server", &url, "--token", &key]).await;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let first = ended.stdout.lines().next().unwrap_or_default();
        let told: serde_json::Value = serde_json::from_str(first).unwrap_or_default();
        let id = told["run_id"].as_str().unwrap_or_else(|| panic!("{}", ended.stdout));
        admin.get(&format!("runs/{id}")).await.is(200);
    }
}
