//! Every example is loaded, so that none goes stale.

use local::mcp_config::McpConfig;
use serde_json::Value;
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

#[tokio::test]
async fn every_service_can_be_made() {
    let app = TestApp::start(Backend::Sqlite).await;
    let mut count = 0;
    for file in std::fs::read_dir(examples().join("services")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let service: Value = serde_json::from_str(&text).unwrap();
        app.post("services", service).await.is(201);
        count += 1;
    }
    assert!(count > 0, "there are no examples");
}
