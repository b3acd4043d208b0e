//! HTTPS: whom we believe.

use crate::server::{Then, ToLoopback, client, get, ok, talk};
use fetch::{Client, Tls};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Serves `some.test` and gives its port and its certificate.
async fn serve() -> (u16, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["some.test".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                let answer = |_: &str| (ok(b"safe", ""), Then::Stay);
                tokio::spawn(async move { talk(stream, &AtomicUsize::new(0), &answer).await });
            }
        }
    });
    (port, made.cert.der().clone())
}

fn trusting(certificate: CertificateDer<'static>) -> Client {
    Client::new(Arc::new(ToLoopback), Tls { authorities: vec![certificate], ..Tls::default() })
}

#[tokio::test]
async fn talks_to_those_it_trusts_and_to_nobody_else() {
    let (port, certificate) = serve().await;
    let client_of_ours = trusting(certificate);
    let url = format!("https://some.test:{port}/").parse().unwrap();
    for _ in 0..3 {
        assert_eq!(get(&client_of_ours, &url).await.unwrap(), "safe");
    }
    let another_name = format!("https://other.test:{port}/").parse().unwrap();
    let error = get(&client_of_ours, &another_name).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    let error = get(&client(), &url).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
}
