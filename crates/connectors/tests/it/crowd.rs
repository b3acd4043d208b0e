//! Many callers of one service that is slow: they wait their turn, until their deadline, and others are not concerned.

use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::conformance::{bind_and_call, call, context};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tool::{Connector, Env, ErrorKind};

const CALLERS: usize = 500;
const AT_ONCE: usize = 10;

/// A server that takes its time, and remembers what it was asked.
struct Slow {
    url: String,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    asked: Mutex<Vec<String>>,
    busy: AtomicUsize,
    busiest: AtomicUsize,
}

impl Slow {
    async fn start(answer: &'static str, takes: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::<Seen>::default();
        let shared = seen.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, answer, takes, shared.clone()));
            }
        });
        Self { url, seen }
    }

    fn has_asked(&self) -> usize {
        self.seen.asked.lock().unwrap().len()
    }
}

async fn serve(mut client: TcpStream, answer: &'static str, takes: Duration, seen: Arc<Seen>) {
    while let Some(request) = next_request(&mut client).await {
        let now = seen.busy.fetch_add(1, Ordering::SeqCst) + 1;
        seen.busiest.fetch_max(now, Ordering::SeqCst);
        seen.asked.lock().unwrap().push(request);
        tokio::time::sleep(takes).await;
        seen.busy.fetch_sub(1, Ordering::SeqCst);
        if client.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// A request as a whole, with its body.
async fn next_request(client: &mut TcpStream) -> Option<String> {
    let (mut text, mut buffer) = (String::new(), vec![0; 65536]);
    loop {
        let read = client.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length =
            head.split_once("content-length: ").and_then(|(_, rest)| rest.lines().next()?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text);
        }
    }
}

/// A type of services, what its server answers, and the call of one caller, whose number shows in the request as `mark` writes it.
struct Subject {
    scheme: &'static str,
    answer: &'static str,
    settings: fn(&str) -> Value,
    tool: &'static str,
    arguments: fn(usize) -> Value,
    mark: fn(usize) -> String,
}

fn open(subject: &Subject, url: &str) -> Arc<dyn Connector> {
    let mut settings = (subject.settings)(url);
    settings["allow_private_network"] = json!(true);
    settings["max_concurrent_calls"] = json!(AT_ONCE);
    connectors::find(subject.scheme).unwrap().open(settings, &Env::default()).unwrap()
}

async fn run(service: &dyn Connector, subject: &Subject, caller: usize, time: Duration) -> tool::Result<()> {
    let arguments = (subject.arguments)(caller).as_object().cloned().unwrap();
    bind_and_call(service, &context(time), call(subject.tool, arguments)).await.map(drop)
}

/// One thread, so that callers come in the order of their numbers.
async fn a_crowd_waits_in_order(subject: &'static Subject) {
    let slow = Slow::start(subject.answer, Duration::from_millis(40)).await;
    let quick = Slow::start(subject.answer, Duration::ZERO).await;
    let (service, other) = (open(subject, &slow.url), open(subject, &quick.url));
    let mut calls = JoinSet::new();
    for caller in 0..CALLERS {
        let service = service.clone();
        calls.spawn(async move { run(&*service, subject, caller, Duration::from_secs(60)).await });
    }
    run(&*other, subject, 0, Duration::from_secs(60)).await.unwrap();
    assert!(slow.has_asked() < CALLERS, "another service waits until the crowd is gone");
    let error = run(&*service, subject, CALLERS, Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    assert!(slow.has_asked() < CALLERS, "the deadline was over long before the crowd was gone");
    let ended = calls.join_all().await;
    assert!(ended.iter().all(Result::is_ok), "{:?}", ended.iter().find(|ended| ended.is_err()));
    assert_eq!(slow.seen.busiest.load(Ordering::SeqCst), AT_ONCE);
    let asked = slow.seen.asked.lock().unwrap();
    assert_eq!(asked.len(), CALLERS, "whoever had no time left asked nothing");
    for (place, text) in asked.iter().enumerate() {
        // Those who are at it together may overtake one another.
        let mut near = place.saturating_sub(AT_ONCE)..=place + AT_ONCE;
        assert!(near.any(|caller| text.contains(&(subject.mark)(caller))), "{place}: {text}");
    }
}

static OSS: Subject = Subject {
    scheme: "oss",
    answer: "HTTP/1.1 200 OK\r\ncontent-length: 1\r\netag: \"e\"\r\n\r\nx",
    settings: |url| {
        json!({ "provider": "minio", "bucket": "b", "endpoint": url, "retry": { "max_attempts": 1 },
                "credentials": { "access_key_id": "k", "secret_access_key": "s" } })
    },
    tool: "load",
    arguments: |caller| json!({ "key": format!("of-{caller}-") }),
    mark: |caller| format!("/b/of-{caller}-"),
};

static SMS: Subject = Subject {
    scheme: "sms",
    answer: "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 31\r\n\r\n{\"sid\":\"SM1\",\"status\":\"queued\"}",
    settings: |url| {
        json!({ "provider": "twilio", "endpoint": url, "sender": "+15005550006", "api_key": "k", "api_secret": "s",
                "retry": { "max_attempts": 1 } })
    },
    tool: "send",
    arguments: |caller| json!({ "to": format!("138{caller:08}"), "content": "x" }),
    mark: |caller| format!("86138{caller:08}"),
};

/// F26
#[tokio::test]
async fn five_hundred_callers_of_a_slow_store_wait_in_order() {
    a_crowd_waits_in_order(&OSS).await;
}

/// F26
#[tokio::test]
async fn five_hundred_callers_of_a_slow_gateway_wait_in_order() {
    a_crowd_waits_in_order(&SMS).await;
}
