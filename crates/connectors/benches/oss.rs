//! What a call of `oss` costs over OpenDAL on its own, in one run: loading 64 KiB and saving 8 MiB, on the server at
//! `MCP_TEST_SEAWEEDFS_URL`: `scripts/servers run seaweedfs -- cargo bench -p connectors --features full --bench oss`.

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on stops and says so")]
#![expect(clippy::print_stdout, reason = "a bench prints")]

use futures::TryStreamExt as _;
use opendal::services::S3;
use opendal::{Buffer, ErrorKind, HttpBody, HttpTransport, HttpTransporter, OperationContext, Operator};
use serde_json::json;
use std::time::{Duration, Instant};
use testkit::conformance::{call, context};
use tool::objects::InMemory;
use tool::{Connector, Env};

const ROUNDS: usize = 7;
const LOADS: u32 = 100;
const SAVES: u32 = 4;

/// What people use OpenDAL with.
struct Reqwest(reqwest::Client);

impl HttpTransport for Reqwest {
    async fn fetch(&self, request: http::Request<Buffer>) -> opendal::Result<http::Response<HttpBody>> {
        let failed = |error| opendal::Error::new(ErrorKind::Unexpected, "no answer").set_source(error);
        let (parts, body) = request.into_parts();
        let request =
            self.0.request(parts.method, parts.uri.to_string()).headers(parts.headers).body(body.to_bytes());
        let response = request.send().await.map_err(failed)?;
        let (status, headers, length) =
            (response.status(), response.headers().clone(), response.content_length());
        let stream = response.bytes_stream().map_ok(Buffer::from).map_err(failed);
        let mut answer = http::Response::new(HttpBody::new(Box::pin(stream), length));
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}

#[tokio::main]
async fn main() {
    let url = std::env::var("MCP_TEST_SEAWEEDFS_URL").unwrap();
    let settings = json!({
        "provider": "minio", "bucket": "tests", "endpoint": url, "allow_private_network": true,
        "credentials": { "access_key_id": "tester-key", "secret_access_key": "tester-secret" },
    });
    let ours = connectors::find("oss").unwrap().open(settings, &Env::default()).unwrap();
    let builder = S3::default().bucket("tests").endpoint(&url).region("us-east-1");
    let builder =
        builder.access_key_id("tester-key").secret_access_key("tester-secret").disable_config_load();
    let transport = HttpTransporter::new(Reqwest(reqwest::Client::builder().no_proxy().build().unwrap()));
    let bare =
        Operator::new(builder).unwrap().with_context(OperationContext::new().with_http_transport(transport));

    println!("{:<12} {:>12} {:>10} {:>7}", "what", "OpenDAL µs", "oss µs", "ratio");
    let small = vec![7_u8; 64 * 1024];
    bare.write("bench-small", small).await.unwrap();
    let (mut bares, mut our) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bares.push(time(LOADS, || async { drop(bare.read("bench-small").await.unwrap()) }).await);
        our.push(time(LOADS, || load(&*ours)).await);
    }
    print("load 64 KiB", median(bares), median(our), 1.2);
    let large = bytes::Bytes::from(vec![7_u8; 8 * 1024 * 1024]);
    let (mut bares, mut our) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bares.push(
            time(SAVES, || async { drop(bare.write("bench-bare", large.clone()).await.unwrap()) }).await,
        );
        our.push(time(SAVES, || save(&*ours, large.clone())).await);
    }
    print("save 8 MiB", median(bares), median(our), 1.15);
}

async fn load(store: &dyn Connector) {
    let arguments = json!({ "key": "bench-small" }).as_object().cloned().unwrap();
    store.call(&context(Duration::from_secs(60)), call("load", arguments)).await.unwrap();
}

async fn save(store: &dyn Connector, content: bytes::Bytes) {
    let cx = context(Duration::from_secs(60));
    store.objects().unwrap().write(&cx, "bench-ours", None, InMemory::body(content)).await.unwrap();
}

async fn time<F: Future<Output = ()>>(times: u32, work: impl Fn() -> F) -> Duration {
    let begin = Instant::now();
    for _ in 0..times {
        work().await;
    }
    begin.elapsed() / times
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn print(what: &str, bare: f64, ours: f64, most: f64) {
    let ratio = ours / bare;
    let verdict = if ratio <= most { "  within the target" } else { "  over the target" };
    println!("{what:<12} {bare:>12.1} {ours:>10.1} {ratio:>7.2} (at most {most}){verdict}");
}
