//! The seed's scenarios of `svc`, through a real MCP client: gRPC from a registry, HTTP with a minted token, the breaker.

use crate::svc_services::{call_by_client, door_with};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use testkit::certificates::Authority;
use testkit::http::Server;
use testkit::process::sheltered;
use testkit::registry::{Consul, ConsulService};
use testkit::{Backend, TestApp};

/// A service that believes tokens of `gateway` alone, signed with the key of the certificate that it is given.
const LOYALTY: &str = r#"
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import jwt
from cryptography import x509
KEY = x509.load_pem_x509_certificate(sys.argv[1].encode()).public_key()
USED = set()

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        scheme, _, token = (self.headers.get("authorization") or "").partition(" ")
        try:
            claims = jwt.decode(token, KEY, algorithms=["ES256"], audience="loyalty", issuer="gateway",
                                options={"require": ["exp", "iat", "jti"]})
            status, told = 201, {"customer": json.loads(body), "scheme": scheme, "claims": claims}
        except Exception as error:
            status, told = 401, {"error": type(error).__name__}
        told = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

fn python() -> std::process::Command {
    sheltered(crate::setup::servers().join("venv/bin/python"))
}

/// What each of the calls came to.
async fn results(url: &str, calls: &Value) -> Vec<Value> {
    call_by_client(url, calls).await.results
}

/// The service that checks tokens; it stops when dropped.
struct Loyalty(Child, u16);

impl Loyalty {
    fn start(certificate: &str) -> Self {
        let mut child =
            python().arg("-c").arg(LOYALTY).arg(certificate).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Self(child, port)
    }
}

impl Drop for Loyalty {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn facts(result: &Value) -> &Value {
    &result["_meta"]["mcp-all-in-one/error"]
}

/// SV-1: `svc://loyalty/customers_list {}` over gRPC, its instances from Consul.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_client_lists_customers_over_grpc_from_a_registry() {
    let server = std::env::var("MCP_TEST_GRPC_PYTHON_URL")
        .expect("MCP_TEST_GRPC_PYTHON_URL is not set; run the tests with scripts/servers run -- CMD");
    let consul = Consul::start().await;
    consul.register(ConsulService::new("one", "loyalty", server.parse().unwrap()));
    let app = TestApp::start(Backend::Sqlite).await;
    let discovery = json!({ "type": "consul", "address": consul.url(), "service_name": "loyalty" });
    let config = json!({ "protocol": "grpc", "discovery": discovery, "allow_private_network": true });
    app.service(json!({ "type": "svc", "id": "loyalty", "config": config })).await;
    let tools = [("customers", "customers_list"), ("customer", "customers_get")];
    let url = door_with(&app, &tools).await;
    let calls = json!([["customers", {}], ["customer", { "id": "5" }]]);
    let told = results(&url, &calls).await;
    let second = &told[0]["structuredContent"]["customers"][1];
    assert_eq!((&second["id"], &second["displayName"]), (&json!("9007199254740993"), &json!("Zoë")));
    assert_eq!(told[1]["isError"], true);
    let expected = json!({
        "code": "NOT_FOUND", "service": "loyalty", "service_code": "NOT_FOUND", "grpc_status": "NOT_FOUND"
    });
    assert_eq!(facts(&told[1]), &expected, "{told:?}");
    let over_rest = app.call("svc://loyalty/customers_get", json!({ "id": "5" })).await.is(200);
    assert_eq!(over_rest.body["error"], expected, "the same at every door");
}

/// SV-2, SV-4: `svc://loyalty/customers_create {…}` over HTTP with a minted token that the service verifies; when the service
/// is gone the client hears that, and then gets the fallback, marked as such.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_client_creates_a_customer_with_a_minted_token_until_the_fallback_answers() {
    let identity = Authority::new().identity("gateway");
    let server = Loyalty::start(&identity.certificate);
    let app = TestApp::start(Backend::Sqlite).await;
    let mut auth = json!({
        "type": "jwt", "algorithm": "ES256", "key": identity.key, "issuer": "gateway", "audience": "loyalty",
        "caller_claims": true,
    });
    let service = |auth: &Value| {
        json!({
            "type": "svc", "id": "loyalty",
            "config": {
                "discovery": { "type": "static", "endpoints": [format!("127.0.0.1:{}", server.1)] }, "auth": auth,
                "allow_private_network": true, "circuit_breaker": { "failures": 2, "open_ms": 600_000 },
                "fallback": { "queued": true },
            },
            "tools": [{ "id": "customers_create", "endpoint": "/customers", "method": "POST",
                        "parameters": [{ "name": "name", "required": true }] }],
        })
    };
    app.service(service(&auth)).await;
    let url = door_with(&app, &[("create", "customers_create")]).await;
    let create = json!(["create", { "name": "Ada" }]);
    let told = &results(&url, &json!([create])).await[0];
    let answer = &told["structuredContent"];
    assert_eq!(
        (&answer["customer"], &answer["scheme"]),
        (&json!({ "name": "Ada" }), &json!("Bearer")),
        "{told}"
    );
    assert_eq!(answer["claims"]["iss"], "gateway", "{told}");
    assert!(answer["claims"]["caller"].is_string() && answer["claims"]["tenant_id"].is_string(), "{told}");

    // A token that somebody else has signed is refused by the very same service.
    auth["key"] = Authority::new().identity("gateway").key.into();
    app.patch("services/svc/loyalty", json!({ "config": service(&auth)["config"] })).await.is(200);
    let refused = app.call("svc://loyalty/customers_create", json!({ "name": "Eve" })).await.is(200);
    assert_eq!(refused.body["error"]["status"], 401, "{}", refused.text);
    auth["key"] = identity.key.into();
    app.patch("services/svc/loyalty", json!({ "config": service(&auth)["config"] })).await.is(200);

    drop(server);
    let told = results(&url, &json!([create, create, create])).await;
    for lost in &told[..2] {
        assert_eq!(
            (&lost["isError"], &facts(lost)["code"]),
            (&json!(true), &json!("UNAVAILABLE")),
            "{told:?}"
        );
    }
    assert_eq!(
        (&told[2]["isError"], &told[2]["structuredContent"]),
        (&json!(false), &json!({ "queued": true }))
    );
    let remark = told[2]["content"][1]["text"].as_str().unwrap();
    assert!(remark.starts_with("fallback: the service failed 2 times in a row"), "{told:?}");
}

/// SV-1, AP-8: programs read when to come back, at either door.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_throttled_call_says_when_to_come_back() {
    let server = Server::start().await;
    let app = TestApp::start(Backend::Sqlite).await;
    let discovery = json!({ "type": "static", "endpoints": [server.address().to_string()] });
    let config =
        json!({ "discovery": discovery, "allow_private_network": true, "retry": { "max_attempts": 1 } });
    let tools = json!([{ "id": "busy", "endpoint": "/status/429?retry-after=7" }]);
    app.service(json!({ "type": "svc", "id": "loyalty", "config": config, "tools": tools })).await;
    let expected =
        json!({ "code": "UPSTREAM_ERROR", "status": 429, "service": "loyalty", "retry_after_ms": 7000 });
    let called = app.call("svc://loyalty/busy", json!({})).await.is(200);
    assert_eq!(called.body["error"], expected);
    let url = door_with(&app, &[("busy", "busy")]).await;
    let told = results(&url, &json!([["busy", {}]])).await;
    assert_eq!(facts(&told[0]), &expected, "{told:?}");
}
