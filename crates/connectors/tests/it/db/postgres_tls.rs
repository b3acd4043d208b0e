//! PostgreSQL that is spoken to over TLS: whose certificate is believed, and what happens where there is none.

use super::support::{Engine, Place, Service};
use serde_json::{Value, json};
use testkit::certificates::Authority;
use tool::{Env, ErrorKind};

/// Whether our own session is encrypted, as the server sees it.
const IS_ENCRYPTED: &str = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: use `make test`"))
}

fn authority() -> String {
    std::fs::read_to_string(variable("MCP_TEST_POSTGRES_TLS_CA")).unwrap()
}

/// A service over the server that lets nobody in without TLS.
#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn open(mode: &str, tls: Value) -> Service {
    let settings = json!({
        "db_type": "postgresql", "allow_private_network": true, "allow_superuser": true, "tls": tls,
        "connection_string": format!("{}{mode}", variable("MCP_TEST_POSTGRES_TLS_URL")),
        "retry": { "max_attempts": 1 },
    });
    Service(connectors::find("db").unwrap().open(settings, &Env::default()).unwrap())
}

#[tokio::test]
async fn speaks_to_a_server_whose_certificate_is_vouched_for() {
    let ca = authority();
    for (mode, tls) in [
        // With an authority the name is checked, too, unless told otherwise.
        ("", json!({ "ca": ca })),
        ("", json!({ "ca": ca, "server_name": "localhost" })),
        ("?sslmode=verify-full", json!({ "ca": ca })),
        ("?sslmode=verify-ca", json!({ "ca": ca, "server_name": "db.example" })),
        // Encrypted, and nothing checked.
        ("?sslmode=require", json!({})),
        ("?sslmode=prefer", json!({})),
        ("", json!({})),
    ] {
        let answer = open(mode, tls.clone()).query(IS_ENCRYPTED).await;
        let answer = answer.unwrap_or_else(|error| panic!("{mode} {tls}: {error:?}"));
        assert_eq!(answer["rows"][0]["ssl"], json!(true), "{mode} {tls}: {answer}");
    }
}

#[tokio::test]
async fn refuses_a_server_whose_certificate_is_not_vouched_for() {
    let (ca, other) = (authority(), Authority::new().pem());
    for (mode, tls) in [
        ("", json!({ "ca": other })),
        ("?sslmode=verify-ca", json!({ "ca": other })),
        ("?sslmode=verify-full", json!({ "ca": other })),
        ("", json!({ "ca": ca, "server_name": "db.example" })),
        ("?sslmode=verify-full", json!({ "ca": ca, "server_name": "db.example" })),
        // Nobody whom this machine trusts has vouched for it.
        ("?sslmode=verify-full", json!({})),
    ] {
        let error = open(mode, tls.clone()).query("SELECT 1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{mode} {tls}: {error:?}");
        assert!(
            error.message().contains("'tls'") && error.message().contains("'sslmode'"),
            "{mode}: {error}"
        );
        assert!(!format!("{error:?}").contains("tester-password"), "{error:?}");
    }
    let error = open("?sslmode=disable", json!({})).query("SELECT 1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Upstream, "{error:?}");
    assert!(error.message().contains("'connection_string'"), "{error}");
}

#[tokio::test]
async fn refuses_a_server_without_tls_where_tls_is_demanded() {
    let place = Place::make(Engine::Postgres).await;
    let ca = authority();
    for (mode, tls) in [
        ("?sslmode=require", json!({})),
        ("?sslmode=verify-ca", json!({ "ca": ca })),
        ("?sslmode=verify-full", json!({ "ca": ca })),
        ("", json!({ "ca": ca })),
    ] {
        let string = format!("{}{mode}", place.connection_string());
        let service = place.open(json!({ "connection_string": string, "tls": tls }));
        let error = service.query("SELECT 1").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{mode}: {error:?}");
        assert!(
            error.message().contains("'tls'") && error.message().contains("'sslmode'"),
            "{mode}: {error}"
        );
    }
    place.open(json!({})).query("SELECT 1").await.unwrap();
}
