//! What every connector must do, and what the settings refuse; the rest is tried in `tests/it/oss`.

use super::Settings;
#[cfg(feature = "oss")]
use crate::shared::{attempts::RetrySettings, breaker::BreakerSettings, content::Sources, network::Policy};
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
    let env = Env { data_dir: Some(std::env::temp_dir()), allow_private_sources: true, ..Env::default() };
    let dead = format!("http://{}", testkit::http::dead_address().await);
    let subject = Subject {
        dead_settings: Capability::Has(settings(&dead)),
        secrets: vec![SECRET.to_owned()],
        slow: Capability::Has(Sample::new("save", source)),
        ..subject(settings(&url), env)
    };
    conformance::check(&subject).await;
}

/// OS-5: who makes an address to write at lets others write, and is asked as for writing.
#[tokio::test]
async fn only_a_store_that_is_read_says_that_its_links_are() {
    let env = Env { data_dir: Some(std::env::temp_dir()), ..Env::default() };
    for is_read_only in [true, false] {
        let settings = json!({ "read_only": is_read_only });
        let service = Kind::of::<Settings>().open(settings, &env).unwrap();
        let tools = service.tools(&conformance::context(std::time::Duration::from_secs(20))).await.unwrap();
        let presign = tools.iter().find(|tool| tool.name() == "presign").unwrap();
        let hints: Value = serde_json::from_str(presign.field("annotations").unwrap().get()).unwrap();
        assert_eq!(hints["readOnlyHint"], is_read_only, "{hints}");
    }
}

#[test]
fn refuses_settings_that_cannot_work() {
    for (settings, path) in [
        (json!({ "provider": "dropbox" }), "provider"),
        (json!({ "root": "relative/path" }), "root"),
        (json!({ "bucket": "b" }), "bucket"),
        (json!({ "region": "cn-hangzhou" }), "region"),
        (json!({ "path_style": true }), "path_style"),
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

/// A setting that would change nothing is refused by its name.
#[cfg(feature = "oss")]
#[test]
fn refuses_the_bucket_in_the_path_where_the_vendor_cannot() {
    for (provider, is_taken) in [("cos", false), ("obs", false), ("aliyun", true), ("s3", true)] {
        let settings = json!({
            "provider": provider, "bucket": "b", "region": "cn-hangzhou", "endpoint": "https://store.example.com",
            "path_style": true, "credentials": { "access_key_id": "k", "secret_access_key": "s" },
        });
        if is_taken {
            Kind::of::<Settings>().open(settings, &Env::default()).unwrap();
        } else {
            assert_eq!(problems(settings), ["path_style"], "{provider}");
        }
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
        assert_eq!(Settings::privileged(&settings).is_some(), is_privileged, "{settings}");
    }
    let error = Kind::of::<Settings>().open(json!({}), &Env::default()).err().unwrap();
    assert!(error.to_string().contains("root"), "{error}");
}

/// The tools over a store that is made already.
#[cfg(feature = "oss")]
pub(super) fn service_over(store: impl super::store::Store + 'static) -> super::Oss {
    let (policy, retry) = (std::sync::Arc::new(Policy::Anywhere), RetrySettings::default());
    super::Oss {
        client: super::client::Client {
            store: std::sync::Arc::new(store),
            breaker: BreakerSettings::default().into(),
            max_attempts: 1,
            backoff: retry.check(&mut Vec::new()),
            permits: None,
        },
        sources: Sources::new(&Env::default(), policy, std::time::Duration::from_secs(20)),
        offer: super::Offer {
            prefix: "team/".to_owned(),
            public_base_url: None,
            is_read_only: false,
            max_object_bytes: 1 << 20,
            max_inline_bytes: 1 << 20,
            service: "store".to_owned(),
        },
        tools: super::tools::all(false).unwrap(),
    }
}

/// Calls with keys that lead elsewhere, or hide: the parameter, the tool and the arguments.
#[cfg(feature = "oss")]
pub(super) fn hostile_keys() -> Vec<(&'static str, &'static str, Value)> {
    let mut calls = Vec::new();
    for key in ["../a", "/a", "a/../../b", "a/./b", "a//b", "a\\b", "a\0b", "a\nb", " a", "a\u{202E}b"] {
        calls.push(("key", "save", json!({ "key": key, "content": "x" })));
        calls.push(("key", "copy", json!({ "key": key, "to": "b" })));
        calls.push(("to", "copy", json!({ "key": "b", "to": key })));
        for tool in ["load", "delete", "presign", "stat"] {
            calls.push(("key", tool, json!({ "key": key })));
        }
        calls.push(("prefix", "list", json!({ "prefix": key })));
    }
    calls
}

/// OS-7: what leads elsewhere is refused before anything is sent.
#[cfg(feature = "oss")]
#[tokio::test]
async fn sends_nothing_to_s3_for_keys_that_traverse_or_hide() {
    let server = testkit::http::Server::start().await;
    for provider in ["s3", "minio"] {
        let settings = json!({
            "provider": provider, "bucket": "b", "region": "us-east-1", "endpoint": server.url(), "path_style": true,
            "credentials": { "access_key_id": "k", "secret_access_key": "s" }, "allow_private_network": true,
        });
        let service = Kind::of::<Settings>().open(settings, &Env::default()).unwrap();
        let cx = conformance::context(std::time::Duration::from_secs(20));
        for (parameter, tool, arguments) in hostile_keys() {
            let call = conformance::call(tool, arguments.as_object().cloned().unwrap());
            let error = service.call(&cx, call).await.map(drop).unwrap_err();
            assert_eq!(
                (error.kind(), error.parameter()),
                (ErrorKind::InvalidInput, Some(parameter)),
                "{tool} {arguments}"
            );
        }
        assert_eq!(server.requests().len(), 0);
    }
    let list = conformance::call("list", Default::default());
    let settings = json!({
        "provider": "minio", "bucket": "b", "endpoint": server.url(), "allow_private_network": true,
        "credentials": { "access_key_id": "k", "secret_access_key": "s" }, "retry": { "max_attempts": 1 },
    });
    let service = Kind::of::<Settings>().open(settings, &Env::default()).unwrap();
    let _ = service.call(&conformance::context(std::time::Duration::from_secs(20)), list).await;
    assert_eq!(server.requests().len(), 1, "requests are counted");
}
