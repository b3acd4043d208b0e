//! Connections that something happened to while they rested.

use crate::server::{Server, Then, body_of, client, get, ok, post, read_head};
use std::future::poll_fn;
use std::io::{Read, Write};
use std::pin::pin;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

/// The second request would take for its answer what nobody asked for.
#[tokio::test]
async fn what_nobody_asked_for_is_nobodys_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let (tx, mut is_smuggled) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream.write_all(&ok(b"asked", "")).await.unwrap();
            let tx = tx.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                stream.write_all(&ok(b"smuggled", "")).await.unwrap();
                tx.send(()).unwrap();
                tokio::time::sleep(Duration::from_secs(60)).await;
            });
        }
    });
    let client = client();
    for _ in 0..3 {
        assert_eq!(get(&client, &url).await.unwrap(), "asked");
        is_smuggled.recv().await.unwrap();
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}

#[tokio::test]
async fn sends_a_large_body_again_when_the_resting_connection_was_closed() {
    let server = Server::start(|request| {
        let (_, body) = request.split_once("\r\n\r\n").unwrap();
        (ok(body.as_bytes(), ""), Then::CloseLater)
    });
    let (server, client) = (server.await, client());
    for length in [100, 1 << 20, 1 << 20] {
        assert!(post(&client, &server.url("/"), body_of(length)).await.unwrap() == body_of(length));
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!((server.connections(), server.requests()), (3, 3));
}

/// Nobody has told the runtime of it yet: only the first write finds out.
#[tokio::test]
async fn takes_another_connection_when_the_first_write_fails() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let (reset, is_reset) = std::sync::mpsc::channel();
    let (close, may_close) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        let (mut first, _) = listener.accept().unwrap();
        first.read_exact(&mut [0; 20]).unwrap();
        first.write_all(&ok(b"first", "")).unwrap();
        may_close.recv().unwrap();
        // With something unread, that is a reset.
        drop(first);
        reset.send(()).unwrap();
        let (mut second, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"the end") {
            let mut part = [0; 4096];
            let count = second.read(&mut part).unwrap();
            seen.extend_from_slice(&part[..count]);
        }
        let head = seen.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        second.write_all(&ok(&seen[head..], "")).unwrap();
    });
    let client = client();
    assert_eq!(get(&client, &url).await.unwrap(), "first");
    close.send(()).unwrap();
    // Blocks, so that the runtime does not look at its sockets meanwhile.
    is_reset.recv().unwrap();
    let body = body_of(100_000) + "the end";
    assert!(post(&client, &url, body.clone()).await.unwrap() == body);
}

/// A task that has used up its turn hears nothing from a socket, not even that it is closed.
#[tokio::test]
async fn sees_that_a_connection_is_closed_however_little_of_its_turn_is_left() {
    let server = Server::start(|_| (ok(b"x", ""), Then::CloseLater)).await;
    let (client, url) = (client(), server.url("/"));
    for _ in 0..3 {
        let mut answer = pin!(get(&client, &url));
        let mut is_first = true;
        let answer = poll_fn(|cx| {
            for _ in 0..if std::mem::take(&mut is_first) { 200 } else { 0 } {
                let _ = pin!(tokio::task::coop::consume_budget()).poll(cx);
            }
            answer.as_mut().poll(cx)
        });
        assert_eq!(answer.await.unwrap(), "x");
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!((server.connections(), server.requests()), (3, 3));
}
