//! Answers of every kind, and what they mean for the connection.

use crate::server::{Server, Then, body_of, client, get, ok, post, read_head, request, text};
use fetch::Url;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

/// Asks twice for the same answer, and says how many connections that took.
async fn connections_for(answer: &str, then: Then) -> usize {
    let bytes = answer.as_bytes().to_vec();
    let server = Server::start(move |_| (bytes.clone(), then)).await;
    let client = client();
    for _ in 0..2 {
        assert_eq!(get(&client, &server.url("/")).await.unwrap(), "four", "{answer}");
    }
    server.connections()
}

#[tokio::test]
async fn keeps_a_connection_as_long_as_both_sides_want() {
    for (answer, connections) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfour", 1),
        ("HTTP/1.1 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 4, 4\r\n\r\nfour", 1),
        ("HTTP/1.1 200 OK\r\nConnection: other, Close\r\nContent-Length: 4\r\n\r\nfour", 2),
        ("HTTP/1.0 200 OK\r\ncontent-length: 4\r\n\r\nfour", 2),
        ("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 4\r\n\r\nfour", 1),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\na: b\r\n\r\n", 1),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n",
            2,
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfourteen", 2),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\n\r\n\r\n", 2),
    ] {
        assert_eq!(connections_for(answer, Then::Stay).await, connections, "{answer}");
    }
    for answer in ["HTTP/1.0 200 OK\r\n\r\nfour", "HTTP/1.1 200 OK\r\ntransfer-encoding: other\r\n\r\nfour"] {
        assert_eq!(connections_for(answer, Then::Close).await, 2, "{answer}");
    }
}

#[tokio::test]
async fn does_not_use_a_connection_again_that_it_asked_to_close() {
    let server = Server::start(|_| (ok(b"x", ""), Then::Stay)).await;
    let client = client();
    for _ in 0..2 {
        let mut asked = request("GET", &server.url("/"), "");
        asked.headers.insert("connection", "close".parse().unwrap());
        assert_eq!(text(client.send(asked).await.unwrap()).await.unwrap(), "x");
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn knows_which_answers_have_no_body() {
    let server = Server::start(|request| {
        let answer = match request.split(' ').nth(1).unwrap() {
            "/204" => "HTTP/1.1 204 Empty\r\n\r\n",
            "/304" => "HTTP/1.1 304 Same\r\ncontent-length: 9\r\n\r\n",
            "/zero" => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            _ => "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n",
        };
        (answer.into(), Then::Stay)
    })
    .await;
    let client = client();
    for (method, path) in [("HEAD", "/"), ("GET", "/204"), ("GET", "/304"), ("POST", "/zero"), ("HEAD", "/")]
    {
        let mut response = client.send(request(method, &server.url(path), "")).await.unwrap();
        assert_eq!(response.chunk().await.unwrap(), None, "{method} {path}");
        let said = response.headers().get("content-length").is_some_and(|length| length == "9");
        assert_eq!(said, method == "HEAD" || path == "/304");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn skips_answers_that_do_not_count() {
    let after = |count: usize| {
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: a\r\n\r\n".repeat(count / 2);
        let odd = if count % 2 == 1 { "HTTP/1.1 102 Wait\r\n\r\n" } else { "" };
        [interim.as_bytes(), odd.as_bytes(), &ok(b"x", "")].concat()
    };
    for count in [0, 1, 8, 9] {
        let server = Server::start(move |_| (after(count), Then::Stay)).await;
        let client = client();
        let answered = get(&client, &server.url("/")).await;
        if count <= 8 {
            assert_eq!(answered.unwrap(), "x", "{count}");
            assert_eq!(get(&client, &server.url("/")).await.unwrap(), "x", "{count}");
            assert_eq!(server.connections(), 1);
        } else {
            assert_eq!(answered.unwrap_err().to_string(), "the connection broke");
        }
    }
}

/// Says `first` and then `again` without end.
async fn endless(first: &'static str, again: &'static str) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        let again = again.repeat(1000);
        stream.write_all(first.as_bytes()).await.unwrap();
        while stream.write_all(again.as_bytes()).await.is_ok() {}
    });
    url
}

#[tokio::test]
async fn has_enough_of_what_never_ends() {
    for (first, again) in [
        ("HTTP/1.1 200 OK\r\n", "a: b\r\n"),
        ("HTTP/1.1 200 OK\r\na: ", "b"),
        ("HTTP/1.1 200 ", "OK"),
        ("", "HTTP/1.1 100 Continue\r\n\r\n"),
        ("", "nonsense"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "a: b\r\n"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;", "a"),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", "0"),
    ] {
        let (client, url) = (client(), endless(first, again).await);
        let answered = tokio::time::timeout(Duration::from_secs(10), get(&client, &url)).await;
        let error = answered.expect("it does not read for ever").unwrap_err();
        assert_eq!(error.to_string(), "the connection broke", "{first}{again}");
    }
}

#[tokio::test]
async fn refuses_answers_in_doubt() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nfour!",
        "HTTP/1.1 200 OK\r\ncontent-length: +4\r\n\r\nfour",
        "HTTP/1.1 200 OK\r\na: b\r\n folded\r\ncontent-length: 4\r\n\r\nfour",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\nfour\n0\n\n",
        "HTTP/2 200 OK\r\ncontent-length: 4\r\n\r\nfour",
    ] {
        let server = Server::start(move |_| (answer.into(), Then::Stay)).await;
        let error = get(&client(), &server.url("/")).await.unwrap_err();
        assert_eq!(error.to_string(), "the connection broke", "{answer}");
    }
}

#[tokio::test]
async fn carries_bodies_of_every_size_both_ways() {
    let server = Server::start(|request| {
        let body = request.split_once("\r\n\r\n").unwrap().1.as_bytes();
        if !request.starts_with("POST /chunked") {
            return (ok(body, ""), Then::Stay);
        }
        let mut answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for chunk in body.chunks(10_000) {
            answer.extend_from_slice(format!("{:X}\r\n", chunk.len()).as_bytes());
            answer.extend_from_slice(chunk);
            answer.extend_from_slice(b"\r\n");
        }
        answer.extend_from_slice(b"0\r\n\r\n");
        (answer, Then::Stay)
    })
    .await;
    let client = client();
    for length in [0, 1, 8 << 10, 16 << 10, (16 << 10) + 1, 100 << 10, 5 << 20] {
        for path in ["/", "/chunked"] {
            let echoed = post(&client, &server.url(path), body_of(length)).await.unwrap();
            assert!(echoed == body_of(length), "{path} {length}");
        }
    }
    assert_eq!(server.connections(), 1);
}
