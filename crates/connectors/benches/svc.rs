//! What calls of `svc` cost, in one run: of a gRPC method over tonic with types that were made when it was compiled, one message
//! of a kibibyte there and back; and of an HTTP service over `api`; each against the same server.
//!
//! `cargo bench -p connectors --features grpc --bench svc`

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on stops and says so")]
#![expect(clippy::print_stdout, reason = "a bench prints")]

use prost::Message;
use serde_json::{Map, Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tonic::codegen::{BoxFuture, Service, http};
use tool::{Call, Caller, Connector, Context, Door, Env, Outcome, TenantId};

const ROUNDS: usize = 15;
const CALLS: usize = 400;
/// What a call may cost over tonic's.
const GRPC_TARGET: f64 = 1.6;
/// What a call may cost over one of `api`.
const HTTP_TARGET: f64 = 1.1;
const TOOL: &str = "bench_echo";
const HTTP_TOOL: &str = "create";
const PATH: &str = "/bench.v1.Bench/Echo";
const PROTO: &str = r#"
syntax = "proto3";
package bench.v1;
service Bench { rpc Echo(Order) returns (Order); }
message Order { int64 id = 1; string customer = 2; repeated Line lines = 3; double total = 4; bool paid = 5; }
message Line { string article = 1; int32 count = 2; double price = 3; }
"#;

#[derive(Clone, PartialEq, Message)]
struct Order {
    #[prost(int64, tag = "1")]
    id: i64,
    #[prost(string, tag = "2")]
    customer: String,
    #[prost(message, repeated, tag = "3")]
    lines: Vec<Line>,
    #[prost(double, tag = "4")]
    total: f64,
    #[prost(bool, tag = "5")]
    paid: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(string, tag = "1")]
    article: String,
    #[prost(int32, tag = "2")]
    count: i32,
    #[prost(double, tag = "3")]
    price: f64,
}

/// A kibibyte on the wire.
fn order() -> Order {
    let line = |number| Line {
        article: format!("article-{number:04}-{}", "x".repeat(20)),
        count: number,
        price: 9.99,
    };
    let lines = (0..20).map(line).collect();
    Order { id: 9_007_199_254_740_993, customer: "Ada Lovelace".to_owned(), lines, total: 199.8, paid: true }
}

#[tokio::main]
async fn main() {
    println!("{:<24} {:>10} {:>10} {:>7} {:>7}", "what", "bare µs", "svc µs", "ratio", "target");
    let address = serve().await;
    let mut tonic = connect(address).await;
    let (service, order) = (open(address), arguments());
    let (mut bare, mut ours) = (Duration::MAX, Duration::MAX);
    // By turns, so that whatever else this machine does falls on both.
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        for _ in 0..CALLS {
            echo(&mut tonic).await;
        }
        bare = bare.min(begun.elapsed());
        ours = ours.min(time(&service, TOOL, &order).await);
    }
    print("unary 1 KiB to tonic", bare, ours, GRPC_TARGET);

    let server = testkit::http::Server::start().await;
    let (api, service) = open_http(&server);
    let (mut bare, mut ours) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        bare = bare.min(time(&api, HTTP_TOOL, &order).await);
        ours = ours.min(time(&service, HTTP_TOOL, &order).await);
    }
    print("HTTP to api", bare, ours, HTTP_TARGET);
}

fn print(what: &str, bare: Duration, ours: Duration, target: f64) {
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / CALLS as f64;
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    let verdict = if ratio <= target { "met" } else { "MISSED" };
    println!("{what:<24} {:>10.1} {:>10.1} {ratio:>7.2} {target:>7.2} {verdict}", micros(bare), micros(ours));
}

/// The same request as a tool of `api` and of `svc`, to the same server.
fn open_http(server: &testkit::http::Server) -> (Arc<dyn Connector>, Arc<dyn Connector>) {
    let parameter = |name: &str, kind: &str| json!({ "name": name, "parameter_type": kind });
    let parameters = [
        parameter("id", "String"),
        parameter("customer", "String"),
        parameter("lines", "Array"),
        parameter("total", "Number"),
        parameter("paid", "Boolean"),
    ];
    let tools =
        json!([{ "id": HTTP_TOOL, "endpoint": "/orders", "method": "POST", "parameters": parameters }]);
    let api = json!({ "base_url": server.url(), "allow_private_network": true, "tools": tools });
    let discovery = json!({ "type": "static", "endpoints": [server.address().to_string()] });
    let svc = json!({ "discovery": discovery, "allow_private_network": true, "tools": tools });
    let open = |scheme, settings| connectors::find(scheme).unwrap().open(settings, &Env::default()).unwrap();
    (open("api", api), open("svc", svc))
}

async fn time(service: &Arc<dyn Connector>, tool: &str, arguments: &Map<String, Value>) -> Duration {
    let begun = Instant::now();
    for _ in 0..CALLS {
        call(service, tool, arguments).await;
    }
    begun.elapsed()
}

/// Tonic, with a message that is there already, and an answer that is read to its end.
async fn echo(client: &mut tonic::client::Grpc<tonic::transport::Channel>) {
    client.ready().await.unwrap();
    let codec: tonic_prost::ProstCodec<Order, Order> = tonic_prost::ProstCodec::default();
    let path = http::uri::PathAndQuery::from_static(PATH);
    let mut request = tonic::Request::new(order());
    request.set_timeout(Duration::from_secs(20));
    let answer = client.unary(request, path, codec).await.unwrap();
    assert_eq!(answer.into_inner().lines.len(), 20);
}

/// The connector, from JSON to JSON.
async fn call(service: &Arc<dyn Connector>, tool: &str, arguments: &Map<String, Value>) {
    let cx = Context::new(
        TenantId::default_tenant(),
        Arc::new(Caller::local()),
        Door::Local,
        Duration::from_secs(20),
    );
    let call = Call::new(tool, arguments.clone().into());
    let Outcome::Done(output) = service.call(&cx, call).await.unwrap() else { panic!("it is not done") };
    assert!(output.data().unwrap().contains("9007199254740993"));
}

fn arguments() -> Map<String, Value> {
    let Order { id, customer, lines, total, paid } = order();
    let lines: Vec<_> = lines
        .iter()
        .map(|line| json!({ "article": line.article, "count": line.count, "price": line.price }))
        .collect();
    let arguments =
        json!({ "id": id.to_string(), "customer": customer, "lines": lines, "total": total, "paid": paid });
    arguments.as_object().unwrap().clone()
}

fn open(address: SocketAddr) -> Arc<dyn Connector> {
    let settings = json!({
        "protocol": "grpc", "discovery": { "type": "static", "endpoints": [address.to_string()] },
        "allow_private_network": true, "schema": { "protos": { "bench.proto": PROTO } }
    });
    connectors::find("svc").unwrap().open(settings, &Env::default()).unwrap()
}

async fn connect(address: SocketAddr) -> tonic::client::Grpc<tonic::transport::Channel> {
    let endpoint = tonic::transport::Endpoint::try_from(format!("http://{address}")).unwrap();
    tonic::client::Grpc::new(endpoint.tcp_nodelay(true).connect().await.unwrap())
}

/// The server of both: tonic's own, with types of its own.
async fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let incoming = tonic::transport::server::TcpIncoming::from(listener).with_nodelay(Some(true));
    tokio::spawn(tonic::transport::Server::builder().serve_with_incoming(Echo, incoming));
    address
}

/// Gives back what it gets.
#[derive(Clone)]
struct Echo;

impl tonic::server::NamedService for Echo {
    const NAME: &'static str = "bench.v1.Bench";
}

impl tonic::server::UnaryService<Order> for Echo {
    type Response = Order;
    type Future = BoxFuture<tonic::Response<Order>, tonic::Status>;

    fn call(&mut self, request: tonic::Request<Order>) -> Self::Future {
        Box::pin(async move { Ok(tonic::Response::new(request.into_inner())) })
    }
}

impl Service<http::Request<tonic::body::Body>> for Echo {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        Box::pin(async move {
            let codec: tonic_prost::ProstCodec<Order, Order> = tonic_prost::ProstCodec::default();
            Ok(tonic::server::Grpc::new(codec).unary(Echo, request).await)
        })
    }
}
