//! HTTPS: whom we believe.

use crate::server::{Then, ToLoopback, client, get, ok, read_head, talk, text};
use fetch::http::Method;
use fetch::{Client, Request, Tls};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Speaks for `some.test`, with this certificate.
fn acceptor() -> (TlsAcceptor, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["some.test".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), made.cert.der().clone())
}

/// Serves `some.test` and gives its port and its certificate.
async fn serve() -> (u16, CertificateDer<'static>) {
    let (acceptor, certificate) = acceptor();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                let answer = |request: &str| match request.split_once("\r\n\r\n").unwrap().1 {
                    "" => (ok(b"safe", ""), Then::Stay),
                    body => (ok(body.as_bytes(), ""), Then::Stay),
                };
                tokio::spawn(async move { talk(stream, &AtomicUsize::new(0), &answer).await });
            }
        }
    });
    (port, certificate)
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

#[tokio::test]
async fn carries_large_bodies_both_ways() {
    let (port, certificate) = serve().await;
    let client = trusting(certificate);
    for length in [100 << 10, 5 << 20] {
        let url = format!("https://some.test:{port}/").parse().unwrap();
        let sent: String = "0123456789abc".chars().cycle().take(length).collect();
        let request = Request { body: sent.clone().into(), ..Request::new(Method::POST, url) };
        assert!(text(client.send(request).await.unwrap()).await.unwrap() == sent, "{length}");
    }
}

/// Answers once and ends the connection, with a word of good-bye or without one.
async fn ending(answer: &'static str, says_so: bool) -> Result<String, fetch::Error> {
    let (acceptor, certificate) = acceptor();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://some.test:{}/", listener.local_addr().unwrap().port()).parse().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(stream).await.unwrap();
        read_head(&mut stream).await;
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        if says_so {
            stream.shutdown().await.unwrap();
        }
    });
    get(&trusting(certificate), &url).await
}

/// Whoever can cut a connection could shorten a body that lasts as long as the connection.
#[tokio::test]
async fn a_body_without_a_length_ends_only_where_the_server_says_so() {
    let (endless, measured) =
        ("HTTP/1.1 200 OK\r\n\r\nall", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nall");
    assert_eq!(ending(endless, true).await.unwrap(), "all");
    assert_eq!(ending(endless, false).await.unwrap_err().to_string(), "the connection broke");
    assert_eq!(ending(measured, true).await.unwrap(), "all");
    assert_eq!(ending(measured, false).await.unwrap(), "all");
}
