//! Servers that are connected to by another name than the one in their certificate.

use crate::mq::support::{Home, name, needed};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::certificates::Authority;
use testkit::conformance::{bind_and_call, call, context};
use testkit::tls_proxy::TlsProxy;
use tool::ErrorKind;

const NAME: &str = "store.internal";
/// Nobody listens there.
const NOBODY: &str = "127.0.0.1:9";

/// A service behind TLS: its type, its server, its settings at an address, and a call.
struct Subject {
    scheme: &'static str,
    server: String,
    settings: fn(&str) -> Value,
    tool: &'static str,
    arguments: Value,
}

fn plain(variable: &str) -> String {
    let url = needed(variable);
    let host = url.rsplit_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    host.split('/').next().unwrap().to_owned()
}

fn subjects() -> Vec<Subject> {
    let key = name("tls");
    vec![
        Subject {
            scheme: "oss",
            server: plain("MCP_TEST_SEAWEEDFS_URL"),
            settings: |address| {
                json!({ "provider": "minio", "bucket": "tests", "endpoint": format!("https://{address}"),
                        "credentials": { "access_key_id": "tester-key", "secret_access_key": "tester-secret" } })
            },
            tool: "save",
            arguments: json!({ "key": key, "content": "x" }),
        },
        Subject {
            scheme: "mail",
            server: plain("MCP_TEST_EXIM_URL"),
            settings: |address| {
                let (host, port) = address.rsplit_once(':').unwrap();
                json!({ "smtp_host": host, "smtp_port": port.parse::<u16>().unwrap(), "security": "tls",
                        "from_address": "it@tests.example" })
            },
            tool: "send",
            arguments: json!({ "to": format!("{key}@tests.example"), "subject": "s", "body": "b" }),
        },
        Subject {
            scheme: "sms",
            server: plain("MCP_TEST_SMS_URL"),
            settings: |address| {
                json!({ "provider": "twilio", "endpoint": format!("https://{address}"), "sender": "+15005550006",
                        "api_key": "tester-key", "api_secret": "tester-secret" })
            },
            tool: "send",
            arguments: json!({ "to": "13800138001", "content": "hello" }),
        },
        queue("MCP_TEST_RABBITMQ_URL", |address| {
            json!({ "broker": "rabbitmq", "connection_string": format!("amqps://guest:guest@{address}"),
                    "tools": [{ "id": "placed", "queue": "tls-names" }] })
        }),
        queue("MCP_TEST_REDIS_URL", |address| {
            json!({ "broker": "redis", "connection_string": format!("rediss://:tester-password@{address}/0"),
                    "tools": [{ "id": "placed", "stream": "tls-names" }] })
        }),
    ]
}

fn queue(variable: &str, settings: fn(&str) -> Value) -> Subject {
    let (tool, arguments) = ("placed", json!({ "message": { "order": 1 } }));
    Subject { scheme: "mq", server: plain(variable), settings, tool, arguments }
}

async fn attempt(subject: &Subject, proxy: &TlsProxy, tls: Value) -> tool::Result<()> {
    let home = Home::new().await;
    let mut settings = (subject.settings)(&proxy.address().to_string());
    settings["tls"] = tls;
    settings["allow_private_network"] = json!(true);
    settings["timeout_ms"] = json!(10_000);
    settings["retry"] = json!({ "max_attempts": 1 });
    let service = connectors::find(subject.scheme).unwrap().open(settings, &home.env).unwrap();
    let arguments = subject.arguments.as_object().cloned().unwrap();
    let cx = context(Duration::from_secs(20));
    bind_and_call(&*service, &cx, call(subject.tool, arguments)).await.map(drop)
}

/// The certificate must have the name of `tls.server_name`, or else that of the host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_known_by_the_name_of_the_settings() {
    let authority = Authority::new();
    for subject in subjects() {
        let what = (subject.settings)("host:1").to_string();
        let proxy = TlsProxy::start(authority.server_named(NAME), subject.server.as_str()).await;
        for wrong in [
            json!({ "ca": authority.pem() }),
            json!({ "ca": authority.pem(), "server_name": "other.internal" }),
        ] {
            let error = attempt(&subject, &proxy, wrong).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{what}: {error:?}");
        }
        assert_eq!(proxy.handshakes(), 0, "{what}");
        let right = json!({ "ca": authority.pem(), "server_name": NAME });
        attempt(&subject, &proxy, right).await.unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert!(proxy.handshakes() > 0, "{what}");
    }
}

/// The same for brokers that name themselves to their clients: with the right name they are believed, and nothing more is tried.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_known_by_the_name_of_the_settings() {
    let authority = Authority::new();
    for broker in ["kafka", "rocketmq"] {
        let settings: fn(&str) -> Value = match broker {
            "kafka" => {
                |address| json!({ "broker": "kafka", "connection_string": address, "tools": [{ "id": "placed" }] })
            }
            _ => {
                |address| json!({ "broker": "rocketmq", "connection_string": address, "tools": [{ "id": "placed" }] })
            }
        };
        let arguments = json!({ "message": { "order": 1 } });
        let subject =
            Subject { scheme: "mq", server: NOBODY.to_owned(), settings, tool: "placed", arguments };
        let proxy = TlsProxy::start(authority.server_named(NAME), NOBODY).await;
        for (name, is_believed) in [(None, false), (Some("other.internal"), false), (Some(NAME), true)] {
            let tls = json!({ "ca": authority.pem(), "server_name": name });
            attempt(&subject, &proxy, tls).await.unwrap_err();
            assert_eq!(proxy.handshakes() > 0, is_believed, "{broker} {name:?}");
        }
    }
}
