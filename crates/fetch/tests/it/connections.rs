//! Which connections are used, used again, and given up.

use crate::server::{Server, Then, ToLoopback, client, get, ok, request, text};
use fetch::{Client, Resolve, Resolving, Tls};
use std::sync::Arc;
use std::time::Duration;

fn path_of(request: &str) -> &str {
    request.split(' ').nth(1).unwrap()
}

async fn echo(then: Then) -> Server {
    Server::start(move |request| (ok(path_of(request).as_bytes(), ""), then)).await
}

#[tokio::test]
async fn uses_a_connection_again() {
    let (server, client) = (echo(Then::Stay).await, client());
    for path in ["/a", "/b?c=d", "/e%20f"] {
        assert_eq!(get(&client, &server.url(path)).await.unwrap(), path);
    }
    assert_eq!((server.connections(), server.requests()), (1, 3));
}

#[tokio::test]
async fn takes_another_connection_when_the_resting_one_was_closed() {
    let (server, client) = (echo(Then::Close).await, client());
    for turn in 1..=3 {
        assert_eq!(
            text(client.send(request("POST", &server.url("/a"), "x")).await.unwrap()).await.unwrap(),
            "/a"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!((server.connections(), server.requests()), (turn, turn));
    }
}

#[tokio::test]
async fn keeps_to_connection_close() {
    let server = Server::start(|_| (ok(b"x", "connection: close\r\n"), Then::Stay)).await;
    let client = client();
    assert_eq!(get(&client, &server.url("/")).await.unwrap(), "x");
    assert_eq!(get(&client, &server.url("/")).await.unwrap(), "x");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn never_repeats_what_may_have_arrived() {
    let server = Server::start(|_| (Vec::new(), Then::Close)).await;
    let client = client();
    let error = client.send(request("POST", &server.url("/secret"), "x")).await.unwrap_err();
    assert!(!error.is_connect() && !error.is_unusable(), "{error:?}");
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn gives_up_a_connection_whose_answer_nobody_reads_to_its_end() {
    let body = vec![b'a'; 4 << 20];
    let server = Server::start(move |request| match path_of(request) {
        "/big" => (ok(&body, ""), Then::Stay),
        path => (ok(path.as_bytes(), ""), Then::Stay),
    })
    .await;
    let client = client();
    let mut response = client.send(request("GET", &server.url("/big"), "")).await.unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    drop(response);
    assert_eq!(get(&client, &server.url("/small")).await.unwrap(), "/small");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_request_taken_back_does_not_leave_its_answer_to_the_next() {
    let server = Server::start(|request| match path_of(request) {
        "/never" => (Vec::new(), Then::Stay),
        path => (ok(path.as_bytes(), ""), Then::Stay),
    })
    .await;
    let client = client();
    assert_eq!(get(&client, &server.url("/first")).await.unwrap(), "/first");
    let url = server.url("/never");
    let never = client.send(request("GET", &url, ""));
    assert!(tokio::time::timeout(Duration::from_millis(50), never).await.is_err());
    assert_eq!(get(&client, &server.url("/second")).await.unwrap(), "/second");
    assert_eq!(server.connections(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_many_gets_its_own_answer() {
    let server = echo(Then::Stay).await;
    let client = client();
    let tasks = (0..64).map(|task| {
        let (client, urls) = (client.clone(), (0..50).map(|n| server.url(&format!("/{task}/{n}"))));
        let urls: Vec<_> = urls.collect();
        tokio::spawn(async move {
            for url in urls {
                assert_eq!(get(&client, &url).await.unwrap(), url.path());
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(server.requests(), 64 * 50);
    assert!(server.connections() <= 64, "{}", server.connections());
}

#[tokio::test]
async fn goes_where_the_resolver_says_and_keeps_hosts_apart() {
    let (server, client) = (
        Server::start(|request| {
            let host = request.lines().find_map(|line| line.strip_prefix("host: "));
            (ok(host.unwrap().as_bytes(), ""), Then::Stay)
        })
        .await,
        Client::new(Arc::new(ToLoopback), Tls::default()),
    );
    for host in ["one.test", "two.test", "one.test"] {
        let url = format!("http://user:word@{host}:{}/", server.port).parse().unwrap();
        assert_eq!(get(&client, &url).await.unwrap(), format!("{host}:{}", server.port));
    }
    assert_eq!(server.connections(), 2);
}

#[derive(Debug)]
struct Refusing;

#[derive(Debug)]
struct No;

impl std::fmt::Display for No {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no such place for you")
    }
}

impl std::error::Error for No {}

impl Resolve for Refusing {
    fn resolve(&self, _: &str) -> Resolving {
        Box::pin(async { Err(No.into()) })
    }
}

#[tokio::test]
async fn tells_why_a_name_was_not_resolved() {
    let client = Client::new(Arc::new(Refusing), Tls::default());
    let error = get(&client, &"http://some.test/?key=hidden".parse().unwrap()).await.unwrap_err();
    assert!(error.is_resolve() && error.is_connect());
    assert!(error.find::<No>().is_some(), "{error:?}");
    assert!(!format!("{error:?}").contains("hidden"));
}

#[tokio::test]
async fn says_when_nobody_is_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let error = get(&client(), &url).await.unwrap_err();
    assert!(error.is_connect() && !error.is_resolve(), "{error:?}");
    let error = get(&client(), &"ftp://127.0.0.1/".parse().unwrap()).await.unwrap_err();
    assert!(error.is_unusable(), "{error:?}");
}

#[tokio::test]
async fn hands_over_a_connection_that_changes_its_protocol() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut seen).await.unwrap();
        }
        let head = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: bytes\r\n\r\nfirst";
        stream.write_all(head).await.unwrap();
        let mut word = [0; 6];
        stream.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"second");
        stream.write_all(b"third").await.unwrap();
    });
    let mut asked = request("GET", &url, "");
    asked.headers.insert("connection", "upgrade".parse().unwrap());
    asked.headers.insert("upgrade", "bytes".parse().unwrap());
    let response = client().send(asked).await.unwrap();
    assert_eq!(response.status(), 101);
    let (mut stream, first) = response.upgrade().await.unwrap();
    let mut seen = first.to_vec();
    while seen.len() < 5 {
        stream.read_buf(&mut seen).await.unwrap();
    }
    assert_eq!(seen, b"first");
    stream.write_all(b"second").await.unwrap();
    let mut word = [0; 5];
    stream.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"third");
    server.await.unwrap();
}
