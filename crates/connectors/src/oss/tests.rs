//! What every connector must do, and what the settings refuse; the rest is tried in `tests/it/oss`.

use super::Settings;
use serde_json::{Value, json};
use testkit::conformance::{self, Capability, Echo, Sample, Subject, Tested};
use tool::{Env, ErrorKind, Kind, Settings as _};

fn subject(settings: Value, env: Env) -> Subject {
    Subject {
        tested: Tested::with::<Settings>(),
        readme: include_str!("README.md"),
        settings,
        dead_settings: Capability::Absent("a folder of this machine is never dead"),
        env,
        secrets: Vec::new(),
        good: Sample::new("save", json!({ "key": "files/a.txt", "content": "hello" })),
        bad: Sample::new("save", json!({ "key": "../a.txt", "content": "hello" })),
        bad_argument: "key",
        slow: Capability::Absent("a folder of this machine is never slow"),
        echo: Capability::Has(Echo { tool: "delete", argument: "key" }),
        undescribed: Capability::Has(&[]),
    }
}

fn problems(settings: Value) -> Vec<String> {
    let env = Env { data_dir: Some(std::env::temp_dir()), ..Env::default() };
    let error = Kind::of::<Settings>().open(settings, &env).err().expect("the settings must be refused");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    error.problems().iter().map(|problem| problem.path.clone()).collect()
}

#[tokio::test]
async fn conforms_like_every_connector_in_a_folder() {
    const SECRET: &str = "s3cr3t-of-the-store";
    let folder = tempfile::tempdir().unwrap();
    let env = Env { data_dir: Some(folder.path().to_owned()), ..Env::default() };
    // A folder has no use for it; the suite wants to see that it stays secret.
    let settings = json!({ "tls": { "certificate": SECRET, "key": SECRET } });
    let subject = Subject { secrets: vec![SECRET.to_owned()], ..subject(settings, env) };
    conformance::check(&subject).await;
}

#[cfg(feature = "oss")]
#[tokio::test]
async fn conforms_like_every_connector_on_s3() {
    const SECRET: &str = "tester-secret";
    let url = std::env::var("MCP_TEST_SEAWEEDFS_URL").expect(
        "MCP_TEST_SEAWEEDFS_URL is set: use `make test` or `scripts/servers run seaweedfs -- cargo nextest run`",
    );
    let settings = |endpoint: &str| {
        json!({
            "provider": "minio", "bucket": "tests", "endpoint": endpoint, "allow_private_network": true,
            "credentials": { "access_key_id": "tester-key", "secret_access_key": SECRET },
            "prefix": "conformance/", "retry": { "max_attempts": 2, "initial_delay_ms": 10 },
        })
    };
    let slow = testkit::http::Server::start().await;
    let source = json!({ "key": "slow", "source": { "url": format!("{}/slow/20000", slow.url()) } });
    let env = Env { data_dir: Some(std::env::temp_dir()), ..Env::default() };
    let dead = format!("http://{}", testkit::http::dead_address().await);
    let subject = Subject {
        dead_settings: Capability::Has(settings(&dead)),
        secrets: vec![SECRET.to_owned()],
        slow: Capability::Has(Sample::new("save", source)),
        ..subject(settings(&url), env)
    };
    conformance::check(&subject).await;
}

#[test]
fn refuses_settings_that_cannot_work() {
    for (settings, path) in [
        (json!({ "provider": "dropbox" }), "provider"),
        (json!({ "root": "relative/path" }), "root"),
        (json!({ "bucket": "b" }), "bucket"),
        (json!({ "prefix": "../x" }), "prefix"),
        (json!({ "prefix": "/x" }), "prefix"),
        (json!({ "public_base_url": "cdn.example.com" }), "public_base_url"),
        (json!({ "max_object_bytes": 0 }), "max_object_bytes"),
        (json!({ "retry": { "initial_delay_ms": 99999 } }), "retry.initial_delay_ms"),
    ] {
        let found = problems(settings.clone());
        assert!(found.iter().any(|found| found == path), "{settings}: {found:?}");
    }
}

#[test]
fn only_a_named_folder_is_privileged() {
    for (settings, is_privileged) in [
        (json!({ "root": "/x" }), true),
        (json!({ "root": null }), false),
        (json!({}), false),
        (json!({ "provider": "s3" }), false),
    ] {
        assert_eq!(Settings::is_privileged(&settings), is_privileged, "{settings}");
    }
    let error = Kind::of::<Settings>().open(json!({}), &Env::default()).err().unwrap();
    assert!(error.to_string().contains("root"), "{error}");
}
