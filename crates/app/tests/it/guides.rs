//! Guides whose commands are run as they stand.

use crate::guide_commands::{commands, said_by};
use serde_json::Value;
use testkit::process;
use testkit::registry::{Consul, ConsulService};
use testkit::{Backend, TestApp};

/// TB-1.1, TB-2.1, TB-4.3, TB-8.1, TB-9.2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_tables_does_what_it_says() {
    let app = TestApp::start(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let out = said_by(include_str!("../../../../docs/guides/tables.md"), &app, folder.path()).await;
    assert!(out.contains(r#""binding_status":true"#), "{out}");
    let queried =
        r#""structuredContent":{"data":["Ada"],"query":"[?status=='open'].customer"},"isError":false}"#;
    assert!(out.contains(queried), "{out}");
    let found: Value = serde_json::from_str(&out[out.rfind("\n{").unwrap()..]).unwrap();
    assert_eq!(found["structuredContent"]["results"][0]["json_path"], "/orders/1/customer", "{out}");
    let config: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("mcp.json")).unwrap()).unwrap();
    let url = config["mcpServers"]["shop"]["url"].as_str().unwrap();
    assert!(url.starts_with(&format!("http://{}/mcp/mi_", app.address())), "{url}");
}

/// DB-1, DB-2, DB-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_databases_does_what_it_says() {
    let app = TestApp::start(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let out =
        said_by(include_str!("../../../../docs/guides/ask-your-database.md"), &app, folder.path()).await;
    for expected in [
        r#""structuredContent":{"affected":2}"#,
        r#"{"rows":[{"id":2,"customer":"Bob","status":"paid","total":99.0},{"id":1,"#,
        r#""structuredContent":{"id":1,"customer":"Ada","status":"open","total":12.5}"#,
        r#""rows":[{"id":1,"total":12.5}]"#,
        r#""rows":[{"status":"open","n":1},{"status":"paid","n":1}]"#,
        r#""structuredContent":{"count":2}"#,
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
    assert_eq!(out.matches("refused: ").count(), 4, "{out}");
    let file = own_folder(&app, "db", "shop").join("data.db");
    assert!(file.exists(), "the service keeps its file with its tenant");
}

/// The folder in which a service of the first tenant keeps its files.
fn own_folder(app: &TestApp, scheme: &str, service: &str) -> std::path::PathBuf {
    let folders = std::fs::read_dir(app.data_dir().join("tenants/default").join(scheme)).unwrap();
    let mut folders = folders.map(|folder| folder.unwrap().path());
    let is_its = |path: &std::path::PathBuf| {
        path.file_name().unwrap().to_string_lossy().starts_with(&format!("{service}~"))
    };
    folders.find(is_its).unwrap()
}

/// FL-1, FL-14, FL-18, FL-23, FL-26, FL-29: three tools become a flow that is checked, published, run, approved and repeated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_flows_does_what_it_says() {
    let app = TestApp::start(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let guide = include_str!("../../../../docs/guides/flows.md");
    let program = format!("mcp-all-in-one() {{ '{}' \"$@\"; }}", crate::binary::BINARY);
    let guide = guide.replacen("```sh\nexport MCP", &format!("```sh\n{program}\nexport MCP"), 1);
    let out = said_by(&guide, &app, folder.path()).await;
    for expected in [
        "made the draft of flow 'order', revision 1",
        "published flow 'order' as version 1",
        r#""output":{"order":7,"to":"Ada"}"#,
        "approved",
        "run succeeded",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
    let [.., repeated, hello] = out.trim_end().lines().collect::<Vec<_>>()[..] else { panic!("{out}") };
    assert_eq!(hello, "\"Hello Ada\"");
    testkit::eventually("the repeated run has ended", std::time::Duration::from_secs(30), async || {
        app.get(&format!("runs/{repeated}")).await.is(200).body["output"]["order"] == 7
    })
    .await;
    let mails = std::fs::read_dir(own_folder(&app, "mail", "alerts")).unwrap().count();
    assert_eq!(mails, 4, "each run has sent one");
}

/// SV-5, SV-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_grpc_services_does_what_it_says() {
    let app = TestApp::start(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let address = std::env::var("MCP_TEST_GRPC_NODE_URL");
    let address =
        address.expect("MCP_TEST_GRPC_NODE_URL is not set; run the tests with scripts/servers run -- CMD");
    let guide = include_str!("../../../../docs/guides/grpc-services.md");
    // What the reader fills in is the first block, of which the shell has two lines already.
    let guide = guide.replacen("```sh\napi()", &format!("```sh\nexport GRPC={address}\napi()"), 1);
    let out = said_by(&guide, &app, folder.path()).await;
    for expected in [
        r#""id":"customers_list","description":"#,
        r#""skipped":[{"operation":"loyalty.v1.Customers/Upload""#,
        r#""structuredContent":{"customers":[{"id":"1","displayName":"Ada","tier":"TIER_GOLD"}"#,
        r#""complete":true}"#,
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
}

/// OS-1, OS-2, OS-3, OS-5, OS-9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_objects_does_what_it_says() {
    let app = TestApp::start(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let out = said_by(include_str!("../../../../docs/guides/objects.md"), &app, folder.path()).await;
    for expected in [
        r#""content":"day,total\n1,12.5\n","encoding":"utf8""#,
        r#""objects":[{"key":"reports/june.csv","size":17,"#,
        "day,total\n1,12.5\n",
        r#"{"key":"inbox/note.txt","size":5,"#,
        r#""key":"archive/june.csv","size":17,"contentType":"text/csv""#,
        "refused: the service only reads now",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
    let file = own_folder(&app, "oss", "docs").join("reports/june.csv");
    assert!(file.exists(), "the service keeps its files with its tenant");
}

/// MQ-1, MQ-10, MQ-11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_queues_does_what_it_says() {
    let app = TestApp::start(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let out = said_by(include_str!("../../../../docs/guides/queues.md"), &app, folder.path()).await;
    // As it was sent, to the last space.
    let message = r#""message":{"orderId": "O001", "status": "created"},"key":"O001""#;
    assert_eq!(out.matches(message).count(), 2, "{out}");
    assert_eq!(out.matches(r#""duplicate":true"#).count(), 1, "{out}");
}

/// ML-1, ML-2, ML-4, ML-5, ML-10: the scenarios of mail, without a server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_mail_does_what_it_says() {
    let app = TestApp::start(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let out = said_by(include_str!("../../../../docs/guides/mail.md"), &app, folder.path()).await;
    assert!(out.contains("refused: not among allow_recipients"), "{out}");
    assert_eq!(out.matches(r#""duplicate":true"#).count(), 1, "{out}");
    let kept = |service: &str| {
        let files = std::fs::read_dir(own_folder(&app, "mail", service)).unwrap();
        files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(kept("marketing").len(), 3);
    let alerts = kept("it-service");
    assert!(alerts.len() == 2 && alerts.iter().any(|alert| alert.contains("report.csv")), "{alerts:?}");
}

/// SM-1, SM-2, SM-7: the scenarios of short messages, without a vendor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_short_messages_does_what_it_says() {
    let app = TestApp::start(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let out = said_by(include_str!("../../../../docs/guides/sms.md"), &app, folder.path()).await;
    assert_eq!(out.matches(r#""duplicate":true"#).count(), 1, "{out}");
    let file = own_folder(&app, "sms", "crm-sms").join("messages.jsonl");
    assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 3);
}

/// SV-2, SV-3, SV-4: the guide's service, behind a registry of our own instead of one called `consul`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guide_to_registries_does_what_it_says() {
    let (consul, server) = (Consul::start().await, testkit::http::Server::start().await);
    consul.register(ConsulService::new("one", "loyalty", server.address()));
    let guide = include_str!("../../../../docs/guides/services-behind-a-registry.md");
    let command = commands(guide)[0].replace("http://consul:8500", &consul.url());
    let command = command.replace("10.0.0.0/8", "127.0.0.0/8");
    let app = TestApp::start(Backend::Sqlite).await;
    let key = app.with_key(serde_json::json!({ "name": "guide", "role": "manager" })).await;
    let mut shell = process::sheltered("bash");
    shell.arg("-c").arg(command).env("SERVER", format!("http://{}", app.address()));
    shell.env("TOKEN", key.key().unwrap());
    let output = tokio::task::spawn_blocking(move || shell.output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = app.call("svc://loyalty/customers_list", serde_json::json!({ "q": "Ada" })).await.is(200);
    assert_eq!(listed.body["structuredContent"]["path"], "/customers", "{}", listed.text);
    assert!(server.last().header("authorization").unwrap().starts_with("Bearer ey"));
    app.call("svc://loyalty/customers_create", serde_json::json!({ "name": "Ada" })).await.is(200);
    app.post("services/svc/loyalty/test", serde_json::json!({})).await.is(200);
    drop(server);
    for _ in 0..5 {
        app.call("svc://loyalty/customers_create", serde_json::json!({ "name": "Ada" })).await;
    }
    let fallback = app.call("svc://loyalty/customers_list", serde_json::json!({ "q": "Ada" })).await.is(200);
    assert_eq!(fallback.body["structuredContent"]["customers"], serde_json::json!([]), "{}", fallback.text);
}
