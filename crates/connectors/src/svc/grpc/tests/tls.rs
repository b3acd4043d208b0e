//! Servers behind TLS: whom we believe, and who we are to them.

use super::calls::{echo, open, run};
use super::server::Server;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use std::sync::Arc;
use testkit::certificates::Authority;
use tool::ErrorKind;

fn speaking_h2(mut config: ServerConfig) -> ServerConfig {
    config.alpn_protocols = vec![b"h2".to_vec()];
    config
}

/// A server that has a name, and no address, in its certificate.
fn named(authority: &Authority, name: &str) -> ServerConfig {
    let identity = authority.identity(name);
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    speaking_h2(builder.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap())
}

/// Requirement SV-2: TLS to servers whose authority we are told of.
#[tokio::test]
async fn believes_whom_it_is_told_to() {
    let authority = Authority::new();
    let server = Server::start_with(Some(speaking_h2(authority.server())), echo).await;
    let service = open(&[&server], &json!({ "scheme": "https", "tls": { "ca": authority.pem() } }));
    run(&service, "customers_create", &json!({ "id": "1" })).await.unwrap();
    let stranger = open(&[&server], &json!({ "scheme": "https", "tls": { "ca": Authority::new().pem() } }));
    let error = run(&stranger, "customers_create", &json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("'tls.ca'"), "{error}");
    assert_eq!(server.seen().len(), 1);
}

/// Requirement SV-2: instances that are addresses are known by their name.
#[tokio::test]
async fn knows_addresses_by_their_name() {
    let authority = Authority::new();
    let server = Server::start_with(Some(named(&authority, "loyalty.internal")), echo).await;
    for (name, is_right) in [(Some("loyalty.internal"), true), (Some("other.internal"), false), (None, false)]
    {
        let tls = json!({ "ca": authority.pem(), "server_name": name });
        let service = open(&[&server], &json!({ "scheme": "https", "tls": tls }));
        assert_eq!(
            run(&service, "customers_create", &json!({ "id": "1" })).await.is_ok(),
            is_right,
            "{name:?}"
        );
    }
}

/// Requirement SV-2: our certificate, for servers that ask for one.
#[tokio::test]
async fn shows_its_certificate() {
    let authority = Authority::new();
    let config = speaking_h2(authority.server_that_asks_for_certificates());
    let server = Server::start_with(Some(config), echo).await;
    let identity = authority.identity("gateway");
    let mut tls = json!({ "ca": authority.pem() });
    let anonymous = open(&[&server], &json!({ "scheme": "https", "tls": tls }));
    let error = run(&anonymous, "customers_create", &json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    tls["certificate"] = identity.certificate.into();
    tls["key"] = identity.key.into();
    let service = open(&[&server], &json!({ "scheme": "https", "tls": tls }));
    run(&service, "customers_create", &json!({ "id": "1" })).await.unwrap();
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn says_that_a_server_does_not_speak_http2() {
    let authority = Authority::new();
    let server = Server::start_with(Some(authority.server()), echo).await;
    let service = open(&[&server], &json!({ "scheme": "https", "tls": { "ca": authority.pem() } }));
    let error = run(&service, "customers_create", &json!({})).await.unwrap_err();
    assert!(error.message().contains("does not speak HTTP/2 over TLS"), "{error}");
    // And one that speaks TLS where we do not.
    let plain = open(&[&server], &json!({}));
    assert_eq!(run(&plain, "customers_create", &json!({})).await.unwrap_err().kind(), ErrorKind::Unavailable);
}
