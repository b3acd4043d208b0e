//! What surrounds the process: a clock that is off, a name that moves, and credentials that are not ours.

use crate::binary::{BINARY, serve};
use crate::remotes::{needed, path, remotes, sms, store};
use serde_json::json;
use std::path::{Path, PathBuf};
use testkit::process::{self, Server, user_home};
use testkit::tcp_proxy::TcpProxy;
use testkit::{Backend, Database};

/// A library that moves the clock and a name of the process that loads it.
fn moved(folder: &Path) -> PathBuf {
    let library = folder.join("moved.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/moved.c");
    let mut compiler = process::sheltered("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    let output = process::run(&mut compiler);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

/// F10: the clock of the process is more than an hour ahead of that of a real store and of the vendors' SDKs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_off_is_named() {
    let (database, folder) = (Database::create(Backend::Sqlite).await, tempfile::tempdir().unwrap());
    let mut command = serve(&database);
    command.env("LD_PRELOAD", moved(folder.path())).env("MOVED_CLOCK", "4000");
    let server = Server::start(command);
    let admin = server.admin();
    let address = |variable| needed(variable).replace("http://", "");
    admin.post("services", store(&address("MCP_TEST_SEAWEEDFS_URL"), "tester-secret")).await.is(201);
    let reply = admin.call("oss://docs/save", json!({ "key": "late", "content": "x" })).await;
    assert!(reply.text.contains("set the clock"), "{}", reply.text);
    for vendor in ["aliyun", "tencent", "huawei"] {
        let mut service = sms(&address("MCP_TEST_SMS_URL"), vendor);
        service["id"] = json!(vendor);
        admin.post("services", service).await.is(201);
        let arguments = json!({ "to": "13800138001", "template": "SMS_001", "params": { "code": "1" } });
        let reply = admin.call(&format!("sms://{vendor}/send"), arguments).await;
        assert!(reply.text.contains("set the clock"), "{vendor}: {}", reply.text);
    }
}

/// OS-12: neither variables nor files of this machine take the place of the service's credentials.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_of_the_machine_sign_nothing() {
    let database = Database::create(Backend::Sqlite).await;
    let file = user_home().join(".aws/credentials");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = "[default]\naws_access_key_id = tester-key\naws_secret_access_key = tester-secret\n";
    std::fs::write(&file, text).unwrap();
    let mut command = serve(&database);
    command.env("AWS_ACCESS_KEY_ID", "tester-key").env("AWS_SECRET_ACCESS_KEY", "tester-secret");
    command
        .env("AWS_SHARED_CREDENTIALS_FILE", &file)
        .env("AWS_CONFIG_FILE", &file)
        .env("AWS_PROFILE", "default");
    let server = Server::start(command);
    let admin = server.admin();
    let address = needed("MCP_TEST_SEAWEEDFS_URL").replace("http://", "");
    let mut without = store(&address, "");
    without["config"].as_object_mut().unwrap().remove("credentials");
    assert!(admin.post("services", without).await.is(422).text.contains("credentials"));
    let arguments = json!({ "key": "machine", "content": "x" });
    admin.post("services", store(&address, "another-secret")).await.is(201);
    let reply = admin.call("oss://docs/save", arguments.clone()).await;
    assert!(reply.text.contains("check its setting 'credentials'"), "{}", reply.text);
    let config = store(&address, "tester-secret")["config"].clone();
    admin.patch("services/oss/docs", json!({ "config": config })).await.is(200);
    admin.call("oss://docs/save", arguments).await.is(200);
}

/// F27: a name leads to an address that is allowed, and then to one that is not: the second connection is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_moves_into_our_network_is_refused() {
    let (database, folder) = (Database::create(Backend::Sqlite).await, tempfile::tempdir().unwrap());
    let place = folder.path().join("address");
    std::fs::write(&place, "127.0.0.1").unwrap();
    let mut command = process::serve(BINARY, &database, &database.data_dir());
    command
        .env("LD_PRELOAD", moved(folder.path()))
        .env("MOVED_NAME", "moving.test")
        .env("MOVED_FILE", &place);
    let server = Server::start(command);
    let admin = server.admin();
    for remote in remotes() {
        std::fs::write(&place, "127.0.0.1").unwrap();
        let proxy = TcpProxy::start(remote.server.as_str()).await;
        let mut service = (remote.service)(&format!("moving.test:{}", proxy.address().port()));
        service["config"]["allow_private_network"] = json!(["127.0.0.1/32"]);
        admin.post("services", service.clone()).await.is(201);
        let run = || admin.call(remote.uri, remote.arguments.clone());
        let reply = run().await.is(200);
        assert_ne!(reply.body["isError"], true, "{}", reply.text);
        std::fs::write(&place, "127.0.0.2").unwrap();
        // What is open may be used; what is opened anew, as after a change of settings, is checked anew.
        service["config"]["timeout_ms"] = json!(20_000);
        admin.patch(&path(&service), json!({ "config": service["config"] })).await.is(200);
        let reply = run().await;
        assert!(reply.text.contains("allow_private_network"), "{}: {}", remote.uri, reply.text);
        std::fs::write(&place, "127.0.0.1").unwrap();
        let reply = run().await.is(200);
        assert_ne!(reply.body["isError"], true, "{}", reply.text);
        admin.delete(&path(&service)).await.is(204);
    }
}
