//! What a mail costs over bare lettre on a warm connection, and a short message over a bare POST, in one run.
//!
//! On the servers at `MCP_TEST_EXIM_URL` and `MCP_TEST_SMS_URL`: `scripts/servers run exim sms -- cargo bench -p connectors --features mail
//! --bench mail`. Messages that are refused at the end of DATA would be kept by nobody; these are kept, on both sides alike.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on stops and says so")]
#![expect(clippy::print_stdout, reason = "a bench prints")]

use lettre::message::header::ContentType;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::conformance::{call, context};
use tool::{Connector, Env, Outcome};

const ROUNDS: usize = 5;
const MAILS: u32 = 20;
const MESSAGES: u32 = 30;

#[tokio::main]
async fn main() {
    println!("{:<24} {:>10} {:>10} {:>7} {:>7}", "what", "bare µs", "ours µs", "ratio", "target");
    if let Ok(address) = std::env::var("MCP_TEST_EXIM_URL") {
        mail(&address).await;
    }
    if let Ok(url) = std::env::var("MCP_TEST_SMS_URL") {
        sms(&url).await;
    }
}

async fn mail(address: &str) {
    let (host, port) = address.rsplit_once(':').unwrap();
    let port: u16 = port.parse().unwrap();
    let bare = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host).port(port).build();
    let settings = json!({ "smtp_host": host, "smtp_port": port, "security": "none", "from_address": "it@tests.example",
                           "allow_private_network": true });
    let ours = connectors::find("mail").unwrap().open(settings, &Env::default()).unwrap();
    let arguments = json!({ "to": "bench@tests.example", "subject": "bench", "body": "x".repeat(1000) });
    // Warm, both.
    send_bare(&bare).await;
    run(&ours, "send", &arguments).await;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let plain = time(MAILS, || send_bare(&bare)).await;
        times.push((plain, time(MAILS, || run(&ours, "send", &arguments)).await));
    }
    report("mail, 1 kB", times, 1.2);
}

async fn send_bare(transport: &AsyncSmtpTransport<Tokio1Executor>) {
    let message = Message::builder()
        .from("it@tests.example".parse().unwrap())
        .to("bench@tests.example".parse().unwrap())
        .subject("bench")
        .header(ContentType::TEXT_PLAIN)
        .body("x".repeat(1000))
        .unwrap();
    transport.send(message).await.unwrap();
}

/// Against the same request, signed once and sent as it is: what is compared is the way, not the vendor's signature.
async fn sms(url: &str) {
    let settings = json!({ "provider": "twilio", "endpoint": url, "api_key": "tester-key", "api_secret": "tester-secret",
                           "sender": "+15005550006", "allow_private_network": true });
    let ours = connectors::find("sms").unwrap().open(settings, &Env::default()).unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let address = format!("{url}/2010-04-01/Accounts/tester-key/Messages.json");
    let post = || async {
        let request = client.post(&address).basic_auth("tester-key", Some("tester-secret"));
        let form = "To=%2B8613800138001&From=%2B15005550006&Body=bench";
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
        let answer: Value =
            serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap();
        assert!(answer["sid"].is_string());
    };
    let arguments = json!({ "to": "13800138001", "content": "bench" });
    post().await;
    run(&ours, "send", &arguments).await;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let plain = time(MESSAGES, post).await;
        times.push((plain, time(MESSAGES, || run(&ours, "send", &arguments)).await));
    }
    report("short message", times, 1.1);
}

async fn run(connector: &Arc<dyn Connector>, tool: &str, arguments: &Value) {
    let arguments = arguments.as_object().cloned().unwrap();
    let outcome = connector.call(&context(Duration::from_secs(60)), call(tool, arguments)).await.unwrap();
    let Outcome::Done(output) = outcome else { panic!("{outcome:?}") };
    assert!(!output.is_error(), "{}", output.to_result());
}

async fn time<Work: Future<Output = ()>>(count: u32, work: impl Fn() -> Work) -> Duration {
    let begin = Instant::now();
    for _ in 0..count {
        work().await;
    }
    begin.elapsed() / count
}

fn report(what: &str, mut times: Vec<(Duration, Duration)>, target: f64) {
    let ratio = |(bare, ours): &(Duration, Duration)| ours.as_secs_f64() / bare.as_secs_f64();
    times.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    let found = times[times.len() / 2];
    let (bare, ours) = (found.0.as_micros(), found.1.as_micros());
    println!("{what:<24} {bare:>10} {ours:>10} {:>7.2} {target:>7.1}", ratio(&found));
}
