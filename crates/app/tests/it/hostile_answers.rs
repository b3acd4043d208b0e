//! Answers of a hostile or broken service: each ends in a clear error, within its limits of time and memory.

use async_compression::Level;
use async_compression::tokio::write::{BrotliEncoder, GzipEncoder, ZstdEncoder};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::{Backend, TestApp};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the service does once it was asked.
enum Act {
    /// Says this and closes.
    Say(Vec<u8>),
    /// Says this and nothing more, without closing.
    Wait(Vec<u8>),
    /// Says this, and then that again and again.
    Repeat(Vec<u8>, Vec<u8>),
    /// Says this, and then one byte after the other, slowly.
    Drip(Vec<u8>, u8),
}

const OK: &str = "HTTP/1.1 200 OK\r\n";
const JSON: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const LATE: &str = "the service did not answer within 2000 ms";
const BROKEN: &str = "the connection broke while the answer was read";
const UNUSABLE: &str = "the service's answer cannot be used: ";
const TOO_LONG: &str = "the answer has more than 1000000 bytes, the limit (max_response_bytes)";
const UNPACKED: &str = "the answer cannot be decompressed: it is not in the encoding that its header names";

fn say(text: impl AsRef<[u8]>) -> Act {
    Act::Say(text.as_ref().to_vec())
}

fn after(head: &str, text: &str) -> Act {
    say(format!("{head}{text}"))
}

fn packed(encoding: &str, body: &[u8]) -> Act {
    let head = format!("{OK}content-encoding: {encoding}\r\ncontent-length: {}\r\n\r\n", body.len());
    Act::Say([head.as_bytes(), body].concat())
}

async fn pack<W: AsyncWrite + Unpin>(mut encoder: W, megabytes: usize) -> W {
    let zeros = vec![0; 1 << 20];
    for _ in 0..megabytes {
        encoder.write_all(&zeros).await.unwrap();
    }
    encoder.shutdown().await.unwrap();
    encoder
}

/// An act by its name, and what its caller must be told.
type Case = (&'static str, Act, String);

fn text(told: &str) -> String {
    told.to_owned()
}

fn unusable(why: &str) -> String {
    format!("{UNUSABLE}{why}")
}

async fn acts() -> Vec<Case> {
    [lengths(), chunks(), heads(), delays(), packed_bodies().await, contents()]
        .into_iter()
        .flatten()
        .collect()
}

/// A length that is none, or not that of what follows.
fn lengths() -> Vec<Case> {
    let no_number = "the content-length of the answer is no number";
    let several = "the answer has several content-lengths";
    vec![
        ("length-too-long", after(OK, "content-length: 100\r\n\r\nshort"), text(BROKEN)),
        ("length-negative", after(OK, "content-length: -1\r\n\r\nx"), unusable(no_number)),
        ("length-no-number", after(OK, "content-length: ten\r\n\r\nx"), unusable(no_number)),
        ("length-plus", after(OK, "content-length: +5\r\n\r\nhello"), unusable(no_number)),
        ("length-overflow", after(OK, "content-length: 99999999999999999999\r\n\r\nx"), unusable(no_number)),
        ("length-twice", after(OK, "content-length: 1\r\ncontent-length: 2\r\n\r\nxy"), unusable(several)),
        ("length-list", after(OK, "content-length: 1, 2\r\n\r\nxy"), unusable(several)),
        (
            "length-huge-and-silence",
            Act::Wait(format!("{OK}content-length: 9999999999\r\n\r\nx").into()),
            text(LATE),
        ),
        (
            "length-huge-and-endless",
            Act::Repeat(format!("{OK}content-length: 9999999999\r\n\r\n").into(), vec![b'x'; 65536]),
            text(TOO_LONG),
        ),
    ]
}

/// Chunks that are cut wrong, and those that never end.
fn chunks() -> Vec<Case> {
    let size = "the size of a chunk is no number";
    vec![
        ("chunk-no-number", after(CHUNKED, "zz\r\nhello\r\n0\r\n\r\n"), unusable(size)),
        ("chunk-negative", after(CHUNKED, "-5\r\nhello\r\n0\r\n\r\n"), unusable(size)),
        ("chunk-0x", after(CHUNKED, "0x5\r\nhello\r\n0\r\n\r\n"), unusable("")),
        (
            "chunk-overflow",
            after(CHUNKED, "fffffffffffffffff\r\nx\r\n0\r\n\r\n"),
            unusable("the size of a chunk is too large"),
        ),
        (
            "chunk-without-end",
            after(CHUNKED, "5\r\nhelloworld\r\n0\r\n\r\n"),
            unusable("the chunks of the answer are not as they should be"),
        ),
        ("chunk-cut-short", after(CHUNKED, "ff\r\nhello"), text(BROKEN)),
        ("chunks-without-last", after(CHUNKED, "5\r\nhello\r\n"), text(BROKEN)),
        (
            "chunks-endless",
            Act::Repeat(
                CHUNKED.into(),
                b"4000\r\n".iter().copied().chain([b'x'; 0x4000]).chain(*b"\r\n").collect(),
            ),
            text(TOO_LONG),
        ),
        (
            "chunk-extension-endless",
            Act::Repeat(format!("{CHUNKED}5;a=").into(), vec![b'x'; 1024]),
            unusable("the chunk extensions of the answer are too long"),
        ),
        (
            "trailers-endless",
            Act::Repeat(format!("{CHUNKED}5\r\nhello\r\n0\r\n").into(), b"a: b\r\n".repeat(100)),
            unusable("the trailers of the answer are too long"),
        ),
    ]
}

/// Heads that are too long, and those of no HTTP.
fn heads() -> Vec<Case> {
    let no_http = "the answer is no HTTP/1.1; check that the address is that of an HTTP service";
    let too_long = "the head of the answer is too long";
    let too_many = "the answer has too many headers";
    vec![
        ("headers-endless", Act::Repeat(OK.into(), b"a: b\r\n".repeat(10)), unusable(too_many)),
        ("header-endless", Act::Repeat(format!("{OK}a: ").into(), vec![b'x'; 1024]), unusable(too_long)),
        ("headers-many", after(OK, &format!("{}\r\n", "a: b\r\n".repeat(10_000))), unusable(too_many)),
        ("status-line-endless", Act::Repeat(b"HTTP/1.1 200 ".to_vec(), vec![b'O'; 1024]), unusable(too_long)),
        (
            "status-line-huge",
            say(format!("HTTP/1.1 200 {}\r\n\r\n", "O".repeat(1 << 20))),
            unusable(too_long),
        ),
        ("status-too-small", say("HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n"), unusable("")),
        ("status-no-number", say("HTTP/1.1 2x0 OK\r\n\r\n"), unusable(no_http)),
        ("version-unknown", say("HTTP/9.9 200 OK\r\n\r\n"), unusable(no_http)),
        ("no-http", say("HELLO WORLD\r\n\r\n"), unusable(no_http)),
        ("another-protocol", say("SSH-2.0-OpenSSH_9.6\r\n"), unusable(no_http)),
        (
            "tls",
            say([0x15, 0x03, 0x01, 0, 2, 2, 22]),
            unusable("the service speaks TLS at that port; write https:// instead of http://"),
        ),
        ("header-with-nul", after(OK, "a: b\0c\r\n\r\n"), unusable(no_http)),
        ("header-name-with-space", after(OK, "bad name: x\r\n\r\n"), unusable(no_http)),
        ("header-without-colon", after(OK, "nothing\r\n\r\n"), unusable(no_http)),
    ]
}

/// Answers that never come, or byte by byte.
fn delays() -> Vec<Case> {
    let uncounted = "the server sent too many interim responses (HTTP status 1xx)";
    let broke = "the connection broke before the service answered";
    vec![
        (
            "continue-endless",
            Act::Repeat(Vec::new(), b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100)),
            unusable(uncounted),
        ),
        (
            "hints-endless",
            Act::Repeat(Vec::new(), b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(10)),
            unusable(uncounted),
        ),
        ("closes-at-once", say(""), text(broke)),
        ("closes-within-head", after(OK, "content-le"), text(broke)),
        ("never-answers", Act::Wait(Vec::new()), text(LATE)),
        ("head-drips", Act::Drip(OK.into(), b'a'), text(LATE)),
        ("body-drips", Act::Drip(CHUNKED.into(), b'1'), String::new()),
    ]
}

/// Bodies that are packed, to no good.
async fn packed_bodies() -> Vec<Case> {
    let gzip = pack(GzipEncoder::with_quality(Vec::new(), Level::Fastest), 200).await.into_inner();
    let brotli = pack(BrotliEncoder::with_quality(Vec::new(), Level::Fastest), 50).await.into_inner();
    let zstd = pack(ZstdEncoder::with_quality(Vec::new(), Level::Fastest), 200).await.into_inner();
    let mut corrupt = gzip.clone();
    corrupt[10..30].fill(0xAA);
    let half = gzip[..gzip.len() / 2].to_vec();
    let small = pack(GzipEncoder::new(Vec::new()), 0).await.into_inner();
    vec![
        ("gzip-bomb", packed("gzip", &gzip), text(TOO_LONG)),
        ("brotli-bomb", packed("br", &brotli), text(TOO_LONG)),
        ("zstd-bomb", packed("zstd", &zstd), text(TOO_LONG)),
        (
            "zstd-window",
            packed("zstd", &[0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xF8, 0x01, 0x00, 0x00]),
            text(UNPACKED),
        ),
        ("gzip-corrupt", packed("gzip", &corrupt), text(UNPACKED)),
        ("gzip-cut-short", packed("gzip", &half), String::new()),
        ("gzip-plain", packed("gzip", b"{}"), text(UNPACKED)),
        (
            "gzip-twice",
            packed("gzip, gzip", &small),
            text("the answer is compressed with 'gzip, gzip', which we did not ask for and cannot read"),
        ),
        (
            "encoding-unknown",
            packed("lzma", b"xyz"),
            text("the answer is compressed with 'lzma', which we did not ask for and cannot read"),
        ),
    ]
}

/// Answers that are well-formed, and still no good.
fn contents() -> Vec<Case> {
    vec![
        (
            "redirects-to-itself",
            say("HTTP/1.1 302 Found\r\nlocation: /k/redirects-to-itself\r\ncontent-length: 0\r\n\r\n"),
            String::new(),
        ),
        (
            "redirects-to-a-file",
            say("HTTP/1.1 302 Found\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\n\r\n"),
            String::new(),
        ),
        (
            "deep-json",
            after(
                JSON,
                &format!("content-length: 200000\r\n\r\n{}{}", "[".repeat(100_000), "]".repeat(100_000)),
            ),
            String::new(),
        ),
        (
            "error-endless",
            Act::Repeat(b"HTTP/1.1 500 Oops\r\n\r\n".to_vec(), vec![b'x'; 65536]),
            text("the service answered HTTP 500"),
        ),
    ]
}

async fn serve(acts: HashMap<&'static str, Act>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let acts = Arc::new(acts);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(play(stream, acts.clone()));
        }
    });
    url
}

/// Answers until the other side has had enough.
async fn play(mut stream: TcpStream, acts: Arc<HashMap<&'static str, Act>>) -> std::io::Result<()> {
    let mut asked = Vec::new();
    while !asked.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut asked).await? == 0 {
            return Ok(());
        }
    }
    let asked = String::from_utf8_lossy(&asked).into_owned();
    let name = asked.split_whitespace().nth(1).and_then(|path| path.strip_prefix("/k/")).unwrap_or_default();
    match acts.get(name) {
        None => stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await?,
        Some(Act::Say(bytes)) => {
            stream.write_all(bytes).await?;
            stream.shutdown().await?;
            // Until the other side closes, too: what it has not read yet is not to be lost.
            while stream.read(&mut [0; 1024]).await? > 0 {}
        }
        Some(Act::Wait(bytes)) => {
            stream.write_all(bytes).await?;
            while stream.read(&mut [0; 1024]).await? > 0 {}
        }
        Some(Act::Repeat(first, again)) => {
            stream.write_all(first).await?;
            loop {
                stream.write_all(again).await?;
            }
        }
        Some(Act::Drip(first, byte)) => {
            stream.write_all(first).await?;
            loop {
                stream.write_all(&[*byte]).await?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    Ok(())
}

/// The most memory this process ever had; with nextest that is this test.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_ends_in_a_clear_error_within_its_limits() {
    let acts = acts().await;
    let (mut told, mut played) = (Vec::new(), HashMap::new());
    for (name, act, expected) in acts {
        told.push((name, expected));
        assert!(played.insert(name, act).is_none(), "{name} is there twice");
    }
    let url = serve(played).await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(json!({
        "type": "api", "id": "odd", "name": "Odd",
        "config": { "base_url": url, "timeout_ms": 2000, "max_response_bytes": 1_000_000,
            "retry": { "max_attempts": 1 }, "circuit_breaker": { "failures": 0 } },
        "tools": [{ "id": "get", "endpoint": "/k/{name}", "select": "@",
            "parameters": [{ "name": "name", "position": "path", "required": true }] }]
    }))
    .await;
    // Whatever is made once is made before anything is measured.
    app.call("api://odd/get", json!({ "name": "nothing" })).await.is(200);
    let before = peak_megabytes();
    let mut wrong = Vec::new();
    for (name, expected) in told {
        let begun = Instant::now();
        let reply = app.call("api://odd/get", json!({ "name": name })).await.is(200);
        let said = reply.body["content"][0]["text"].as_str().unwrap_or_default();
        if reply.body["isError"] != true || said.is_empty() || !said.starts_with(&expected) {
            wrong.push(format!("{name}: {:.300}\n    and not: {expected}", reply.text));
        }
        // Time enough for the busiest machine; what has no limit would last for ever.
        assert!(begun.elapsed() < Duration::from_secs(60), "{name} took {:?}", begun.elapsed());
    }
    assert!(wrong.is_empty(), "{} are told wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(peak_megabytes() < before + 100, "{} MB more", peak_megabytes() - before);
    app.call("api://odd/get", json!({ "name": "nothing" })).await.is(200);
}

/// What follows an answer is not the next one's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_smuggled_behind_an_answer_reaches_nobody() {
    let smuggled = "HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsmuggled";
    let heads = [
        ("a-length-too-short", format!("{OK}content-length: 2\r\n\r\nok{smuggled}")),
        (
            "both-framings",
            format!(
                "{OK}content-length: 60\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n{smuggled}"
            ),
        ),
        ("no-content", format!("HTTP/1.1 204 No Content\r\ncontent-length: 50\r\n\r\n{smuggled}")),
        ("not-modified", format!("HTTP/1.1 304 Not Modified\r\ncontent-length: 50\r\n\r\n{smuggled}")),
        (
            "chunked-not-last",
            format!("{OK}transfer-encoding: chunked, identity\r\n\r\n2\r\nok\r\n0\r\n\r\n{smuggled}"),
        ),
    ];
    let mut acts: HashMap<_, _> =
        heads.iter().map(|(name, text)| (*name, Act::Wait(text.clone().into()))).collect();
    acts.insert("honest", Act::Wait(format!("{OK}content-length: 6\r\n\r\nhonest").into()));
    let url = serve(acts).await;
    let app = TestApp::start(Backend::Sqlite).await;
    app.service(json!({
        "type": "api", "id": "odd", "name": "Odd",
        "config": { "base_url": url, "timeout_ms": 2000, "retry": { "max_attempts": 1 }, "circuit_breaker": { "failures": 0 } },
        "tools": [{ "id": "get", "endpoint": "/k/{name}", "parameters": [{ "name": "name", "position": "path", "required": true }] }]
    }))
    .await;
    for (name, _) in heads {
        app.call("api://odd/get", json!({ "name": name })).await.is(200);
        let reply = app.call("api://odd/get", json!({ "name": "honest" })).await.is(200);
        assert_eq!(reply.body["content"][0]["text"], "honest", "after {name}");
    }
}
