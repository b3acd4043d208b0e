//! Answers that come before the request is written out.

use crate::server::{client, get, read_head, text};
use fetch::http::Method;
use fetch::{Client, Request, Response, Url};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// More than the buffers of two sockets hold.
const UPLOAD_BYTES: usize = 64 << 20;
const REFUSAL: &[u8] = b"HTTP/1.1 413 Too Large\r\ncontent-length: 8\r\n\r\ntoo much";

async fn listen() -> (TcpListener, Url) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    (listener, url)
}

async fn accept(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    read_head(&mut stream).await;
    stream
}

async fn upload(client: &Client, url: &Url, body: Vec<u8>) -> Response {
    let request = Request { body: body.into(), ..Request::new(Method::POST, url.clone()) };
    let answer = tokio::time::timeout(Duration::from_secs(10), client.send(request)).await;
    answer.expect("it does not wait for the upload").unwrap()
}

#[tokio::test]
async fn hears_a_refusal_from_a_server_that_does_not_read_on() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        stream.write_all(REFUSAL).await.unwrap();
        // The connection is as good as ever, but half a request stands on it.
        let mut second = accept(&listener).await;
        second.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nagain").await.unwrap();
        drop(stream);
    });
    let client = client();
    let response = upload(&client, &url, vec![b'x'; UPLOAD_BYTES]).await;
    assert_eq!(response.status(), 413);
    assert_eq!(text(response).await.unwrap(), "too much");
    assert_eq!(get(&client, &url).await.unwrap(), "again");
    server.await.unwrap();
}

/// Closing with something unread resets the connection: writing fails before anything is read.
#[tokio::test]
async fn hears_a_refusal_from_a_server_that_closes_at_once() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.read_exact(&mut [0; 1000]).await.unwrap();
            stream.write_all(REFUSAL).await.unwrap();
        }
    });
    let client = client();
    for _ in 0..20 {
        let response = upload(&client, &url, vec![b'x'; UPLOAD_BYTES]).await;
        assert_eq!(response.status(), 413);
        assert_eq!(text(response).await.unwrap(), "too much");
    }
}

#[tokio::test]
async fn says_when_a_server_closes_within_an_upload() {
    let (listener, url) = listen().await;
    tokio::spawn(async move { drop(accept(&listener).await) });
    let request = Request { body: vec![b'x'; UPLOAD_BYTES].into(), ..Request::new(Method::POST, url) };
    let error = client().send(request).await.unwrap_err();
    assert_eq!(error.to_string(), "the connection broke");
    assert!(!error.is_connect());
}

/// A server that likes what it hears may answer while it reads.
#[tokio::test]
async fn goes_on_writing_while_it_reads_what_comes_early() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {UPLOAD_BYTES}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let (mut reader, mut writer) = stream.split();
        tokio::io::copy(&mut reader, &mut writer).await.unwrap();
    });
    let sent: Vec<u8> = (0..=250).cycle().take(UPLOAD_BYTES).collect();
    let mut response = upload(&client(), &url, sent.clone()).await;
    let mut seen = Vec::new();
    let reading = async {
        while let Some(part) = response.chunk().await.unwrap() {
            seen.extend_from_slice(&part);
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reading).await.expect("the upload goes on");
    assert!(seen == sent);
}

#[tokio::test]
async fn stops_writing_when_it_is_refused() {
    let (listener, url) = listen().await;
    let server = tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        stream.write_all(&REFUSAL[..REFUSAL.len() - 1]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let (mut part, mut count) = (vec![0; 1 << 20], 0);
        let quiet = Duration::from_millis(200);
        while let Ok(read) = tokio::time::timeout(quiet, stream.read(&mut part)).await {
            count += read.unwrap();
            if count >= UPLOAD_BYTES {
                break;
            }
        }
        stream.write_all(b"h").await.unwrap();
        count
    });
    let response = upload(&client(), &url, vec![b'x'; UPLOAD_BYTES]).await;
    assert_eq!(text(response).await.unwrap(), "too much");
    assert!(server.await.unwrap() < UPLOAD_BYTES);
}

#[tokio::test]
async fn does_not_switch_protocols_within_a_request() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: bytes\r\n\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
    });
    let request = Request { body: vec![b'x'; UPLOAD_BYTES].into(), ..Request::new(Method::POST, url) };
    let answer = tokio::time::timeout(Duration::from_secs(10), client().send(request)).await;
    assert_eq!(answer.expect("it does not wait").unwrap_err().to_string(), "the connection broke");
}

#[tokio::test]
async fn a_continue_within_an_upload_is_no_answer() {
    let (listener, url) = listen().await;
    tokio::spawn(async move {
        let mut stream = accept(&listener).await;
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut rest = vec![0; UPLOAD_BYTES];
        stream.read_exact(&mut rest).await.unwrap();
        assert!(rest.iter().all(|byte| *byte == b'x'));
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nall").await.unwrap();
    });
    let response = upload(&client(), &url, vec![b'x'; UPLOAD_BYTES]).await;
    assert_eq!(text(response).await.unwrap(), "all");
}
