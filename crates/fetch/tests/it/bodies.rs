//! Bodies: packed, cut into pieces, cut short.

use crate::server::{Server, Then, client, get, ok, request, text};
use async_compression::tokio::write::{BrotliEncoder, GzipEncoder, ZstdEncoder};
use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncWrite, AsyncWriteExt};

async fn packed<W: AsyncWrite + Unpin>(mut encoder: W, text: &str) -> W {
    encoder.write_all(text.as_bytes()).await.unwrap();
    encoder.shutdown().await.unwrap();
    encoder
}

#[tokio::test]
async fn unpacks_what_servers_pack() {
    let long = "long ".repeat(100_000);
    for (encoding, bytes) in [
        ("gzip", packed(GzipEncoder::new(Vec::new()), &long).await.into_inner()),
        ("br", packed(BrotliEncoder::new(Vec::new()), &long).await.into_inner()),
        ("zstd", packed(ZstdEncoder::new(Vec::new()), &long).await.into_inner()),
    ] {
        let header = format!("content-encoding: {encoding}\r\n");
        let server = Server::start(move |request| {
            assert!(request.contains("accept-encoding: gzip, br, zstd\r\n"), "{request}");
            (ok(&bytes, &header), Then::Stay)
        })
        .await;
        let client = client();
        for _ in 0..2 {
            let response = client.send(request("GET", &server.url("/"), "")).await.unwrap();
            assert!(!response.headers().contains_key("content-encoding"));
            assert!(!response.headers().contains_key("content-length"));
            assert!(text(response).await.unwrap() == long, "{encoding}");
        }
        assert_eq!(server.connections(), 1, "{encoding}");
        // There is nothing to unpack in the answer to HEAD.
        let response = client.send(request("HEAD", &server.url("/"), "")).await.unwrap();
        assert_eq!(text(response).await.unwrap(), "");
    }
}

#[tokio::test]
async fn an_empty_body_is_empty_however_it_is_packed() {
    for encoding in ["gzip", "x-gzip", "GZIP", "br", "zstd"] {
        for (framing, then) in [
            ("content-length: 0\r\n\r\n", Then::Stay),
            ("transfer-encoding: chunked\r\n\r\n0\r\n\r\n", Then::Stay),
            ("\r\n", Then::Close),
        ] {
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\n{framing}");
            let server = Server::start(move |_| (answer.clone().into_bytes(), then)).await;
            assert_eq!(get(&client(), &server.url("/")).await.unwrap(), "", "{encoding} {framing}");
        }
    }
}

#[tokio::test]
async fn knows_the_other_names_of_gzip() {
    for encoding in ["x-gzip", "GZip", "X-GZIP"] {
        let bytes = packed(GzipEncoder::new(Vec::new()), "hello").await.into_inner();
        let header = format!("content-encoding: {encoding}\r\n");
        let server = Server::start(move |_| (ok(&bytes, &header), Then::Stay)).await;
        assert_eq!(get(&client(), &server.url("/")).await.unwrap(), "hello", "{encoding}");
    }
}

#[tokio::test]
async fn says_when_a_body_is_not_packed_as_it_says() {
    let server = Server::start(|_| (ok(b"plain", "content-encoding: gzip\r\n"), Then::Stay)).await;
    let error = get(&client(), &server.url("/")).await.unwrap_err();
    assert_eq!(error.to_string(), "the answer cannot be unpacked");
    // What we cannot unpack is the caller's affair.
    let server = Server::start(|_| (ok(b"plain", "content-encoding: x-own\r\n"), Then::Stay)).await;
    assert_eq!(get(&client(), &server.url("/")).await.unwrap(), "plain");
}

#[tokio::test]
async fn a_body_cut_short_is_an_error_and_not_an_end() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nshort\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1",
    ] {
        let server = Server::start(move |_| (answer.into(), Then::Close)).await;
        let error = get(&client(), &server.url("/")).await.unwrap_err();
        assert_eq!(error.to_string(), "the connection broke", "{answer}");
    }
}

/// A task that has used up its turn hears "pending" from everything; it must be woken all the same.
#[tokio::test]
async fn gets_its_answer_however_little_of_its_turn_is_left() {
    let server = Server::start(|_| (ok(b"x", ""), Then::Stay)).await;
    let (client, url) = (client(), server.url("/"));
    for used in 0..128 {
        let mut answer = pin!(get(&client, &url));
        let mut turn = 0;
        let answer = poll_fn(|cx| {
            // The first turn only asks; the answer comes in the second.
            turn += 1;
            for _ in 0..if turn == 2 { used } else { 0 } {
                let _ = pin!(tokio::task::coop::consume_budget()).poll(cx);
            }
            answer.as_mut().poll(cx)
        });
        let answer = tokio::time::timeout(Duration::from_secs(5), answer).await;
        assert_eq!(answer.expect("it is woken").unwrap(), "x", "{used}");
    }
}

#[tokio::test]
async fn reads_thousands_of_small_pieces() {
    let mut answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..5000 {
        answer.extend_from_slice(b"1\r\nx\r\n");
    }
    answer.extend_from_slice(b"0\r\nsome: trailer\r\n\r\n");
    let server = Server::start(move |_| (answer.clone(), Then::Stay)).await;
    let client = client();
    for _ in 0..3 {
        assert_eq!(get(&client, &server.url("/")).await.unwrap().len(), 5000);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_body_may_last_until_the_connection_ends() {
    let server = Server::start(|_| (b"HTTP/1.1 200 OK\r\n\r\nall".to_vec(), Then::Close)).await;
    assert_eq!(get(&client(), &server.url("/")).await.unwrap(), "all");
}

#[tokio::test]
async fn sends_bodies_and_the_headers_it_was_given() {
    let server = Server::start(|request| (ok(request.as_bytes(), ""), Then::Stay)).await;
    let url = server.url("/a?b#c");
    let mut asked = request("POST", &url, "the body");
    asked.headers.insert("user-agent", "somebody".parse().unwrap());
    let seen = text(client().send(asked).await.unwrap()).await.unwrap();
    assert!(seen.starts_with("POST /a?b HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("user-agent: somebody\r\n") && seen.contains("content-length: 8\r\n"), "{seen}");
    assert!(seen.ends_with("\r\n\r\nthe body"), "{seen}");
}
