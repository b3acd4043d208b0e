//! Every example is loaded, so that none goes stale.

use local::mcp_config::McpConfig;
use serde_json::json;
use std::path::{Path, PathBuf};
use testkit::{Backend, TestApp};
use tool::Env;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

#[test]
fn the_mcp_json_opens_all_its_services() {
    let services = McpConfig::read(&examples().join("mcp.json")).unwrap().services();
    assert_eq!(services.len(), 3);
    for service in services {
        assert_eq!(service.problem, None, "{}", service.id);
        connectors::find("mcp").unwrap().open(service.settings, &Env::default()).unwrap();
    }
}

/// The texts of a folder, by name.
fn texts(folder: &str) -> Vec<(String, String)> {
    let files = std::fs::read_dir(examples().join(folder)).unwrap().map(|file| file.unwrap().path());
    let mut texts: Vec<_> = files
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    texts.sort();
    assert!(!texts.is_empty(), "there are no examples");
    texts
}

async fn with_services() -> TestApp {
    let app = TestApp::start(Backend::Sqlite).await;
    for (_, text) in texts("services") {
        app.post("services", serde_json::from_str(&text).unwrap()).await.is(201);
    }
    app
}

/// OS-1, MQ-1: what needs no server elsewhere works as it is written.
#[tokio::test]
async fn every_service_can_be_made() {
    let app = with_services().await;
    let of = |kind: &str| {
        let kind = format!("\"type\": \"{kind}\"");
        texts("services").iter().filter(|(_, text)| text.contains(&kind)).count()
    };
    assert_eq!(["oss", "mq", "mail", "sms"].map(of), [2, 2, 1, 1]);
    let saved = app
        .call("oss://sample-bucket/save", json!({ "key": "files/a.txt", "content": "hello" }))
        .await
        .is(200);
    assert_eq!(saved.body["structuredContent"]["size"], 5, "{}", saved.text);
    let order = json!({ "message": { "orderId": "O001", "status": "created" } });
    let published = app.call("mq://order-service/order_created", order).await.is(200);
    let waiting = app.call("mq://order-service/order_created_peek", json!({})).await.is(200);
    let message = &waiting.body["structuredContent"]["messages"][0];
    assert_eq!(
        (&message["messageId"], &message["key"]),
        (&published.body["structuredContent"]["messageId"], &json!("O001"))
    );
}

/// FL-6: every flow is right, also against the tools that it calls, the one in the origin's spelling among them.
#[tokio::test]
async fn every_flow_can_be_published() {
    let app = with_services().await;
    let flows = texts("flows");
    assert_eq!(flows.len(), 5);
    for (name, text) in flows {
        let made = app.post("flows", json!({ "source": text })).await.is(201).body;
        assert_eq!(made["id"], name, "a file is named after its flow");
        let errors = made["errors"].as_array().unwrap();
        // The database of the example is nowhere.
        assert!(errors.iter().all(|error| error["code"] == "Unchecked"), "{name}: {errors:#?}");
        app.post(&format!("flows/{name}/publish"), json!({})).await.is(200);
    }
    let bound = app.get("flows/origin-style/versions/1").await.is(200).body["bound"].clone();
    assert_eq!(bound, json!([]), "everything is written out there");
}
