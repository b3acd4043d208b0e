//! Addresses of our own network, in every spelling and at every place that takes one: nothing is ever sent there.

use reqwest::Url;
use serde_json::{Value, json};
use testkit::http::Server;
use testkit::{Backend, Reply, TestApp};

/// Hosts as somebody might write them who is not to get there.
const HOSTS: [&str; 76] = [
    // Loopback, whole and short, decimal, octal, hexadecimal, with dots and digits of other scripts.
    "127.0.0.1",
    "127.8.9.10",
    "127.1",
    "127.0.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0x7F.0x0.0x0.0x1",
    "0177.0.0.1",
    "0177.0.0.01",
    "017700000001",
    "127.0.0.1.",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    // Names.
    "localhost",
    "LOCALHOST",
    "localhost.",
    // This host on this network.
    "0.0.0.0",
    "0",
    "0x0",
    "00.0.0.0",
    "0.0.0.1",
    // Private.
    "10.0.0.1",
    "012.0.0.1",
    "167772161",
    "10.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "192.168.257",
    "0xc0a80101",
    "3232235777",
    // Link-local, and the metadata of clouds.
    "169.254.169.254",
    "169.254.169.254.",
    "0xa9fea9fe",
    "2852039166",
    "0251.0376.0251.0376",
    "169.254.43518",
    "100.100.100.200",
    "192.0.0.192",
    // Carriers', tests', documentation's, multicast, broadcast.
    "100.64.0.1",
    "100.127.255.255",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    // IPv6: itself, IPv4 within it, and its own networks.
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:a9fe:a9fe]",
    "[::ffff:0:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::a00:1]",
    "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]",
    "[2001:0:1234::1]",
    "[2001:db8::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[fe80::1%25lo]",
    "[fec0::1]",
    "[ff02::1]",
    "[100::1]",
    // A name and a password in front of it.
    "example.com@127.0.0.1",
];

/// A server that knows no private network, and a canary on loopback that nobody may reach.
struct Cage {
    app: TestApp,
    canary: Server,
}

impl Cage {
    async fn new() -> Self {
        let app =
            TestApp::start_with(Backend::Sqlite, |settings| settings.allow_private_network = false).await;
        Self { app, canary: Server::start().await }
    }

    fn urls(&self, scheme: &str, path: &str) -> Vec<String> {
        let port = self.canary.address().port();
        HOSTS.iter().map(|host| format!("{scheme}://{host}:{port}{path}")).collect()
    }

    /// Makes a service, asks it, and deletes it. One that is not made is refused already.
    async fn ask(&self, service: Value, ask: Option<&str>) -> Reply {
        let path =
            format!("services/{}/{}", service["type"].as_str().unwrap(), service["id"].as_str().unwrap());
        let made = self.app.post("services", service).await;
        if made.status != 201 {
            return made;
        }
        let reply = match ask {
            Some(uri) => self.app.call(uri, json!({})).await,
            None => self.app.post(&format!("{path}/test"), json!({})).await,
        };
        self.app.delete(&format!("{path}?force=true")).await.is(204);
        reply
    }

    #[track_caller]
    fn was_not_reached(&self) {
        assert_eq!((self.canary.connections(), self.canary.requests().len()), (0, 0));
    }
}

/// Refused with a reason: the setting is none, or the address is not public.
#[track_caller]
fn is_refused(reply: &Reply, url: &str) {
    // Not every resolver knows this spelling.
    if url.contains("//localhost.:") && reply.text.contains("UNAVAILABLE") {
        return;
    }
    let is_failure = reply.body["isError"] == true || reply.body["ok"] == false || reply.status == 403;
    let is_told = reply.text.contains("is not public and was refused");
    assert!(reply.status == 422 || is_failure && is_told, "{url}: {} {}", reply.status, reply.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_service_and_no_tool_reaches_our_own_network() {
    let cage = Cage::new().await;
    for url in cage.urls("http", "") {
        let service = json!({ "type": "api", "id": "s", "config": { "base_url": url, "retry": { "max_attempts": 1 } },
            "tools": [{ "id": "t", "endpoint": "/x" }] });
        is_refused(&cage.ask(service.clone(), Some("api://s/t")).await, &url);
        is_refused(&cage.ask(service, None).await, &url);
        let tool = json!({ "name": "t", "type": "http", "config": { "HTTP": { "endpoint": format!("{url}/x"), "retry_count": 0 } } });
        let made = cage.app.post("tools", tool).await;
        if made.status == 201 {
            is_refused(&cage.app.call_name("t", json!({})).await, &url);
            let path = format!("tools/{}", made.string("id"));
            let tried = cage.app.post(&format!("{path}/test"), json!({})).await;
            let result = Reply { body: tried.body["result"].clone(), ..tried.clone() };
            is_refused(if tried.status == 200 { &result } else { &tried }, &url);
            cage.app.delete(&path).await.is(204);
        } else {
            is_refused(&made, &url);
        }
    }
    cage.was_not_reached();
}

/// Where documents and tokens are fetched from.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_document_and_no_token_is_fetched_from_our_own_network() {
    let cage = Cage::new().await;
    for url in cage.urls("http", "/openapi.json") {
        is_refused(&cage.app.post("services/api/import", json!({ "url": url })).await, &url);
        let auth = json!({ "token_url": url, "client_id": "me", "client_secret": "hush" });
        let config = json!({ "base_url": "http://93.184.216.34", "auth_type": "oauth2", "auth_config": auth,
            "retry": { "max_attempts": 1 } });
        let service =
            json!({ "type": "api", "id": "s", "config": config, "tools": [{ "id": "t", "endpoint": "/x" }] });
        is_refused(&cage.ask(service, Some("api://s/t")).await, &url);
    }
    cage.was_not_reached();
}

/// Where an answer leads to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_redirect_leads_into_our_own_network() {
    let cage = Cage::new().await;
    let outside = Server::start().await;
    // It plays the part of the internet; nothing else of the network is open.
    let config = json!({ "base_url": outside.url(), "redirects": "any", "allow_private_network": ["127.0.0.1/32"],
        "retry": { "max_attempts": 1 } });
    let tools = json!([{ "id": "go", "endpoint": "/redirect",
        "parameters": [{ "name": "to", "required": true, "position": "query" }] }]);
    cage.app.service(json!({ "type": "api", "id": "r", "config": config, "tools": tools })).await;
    let mut sent = 0;
    for url in cage.urls("http", "/stolen") {
        // Spellings of the one address that is open here.
        let is_open = Url::parse(&url).is_ok_and(|url| {
            matches!(
                url.host_str(),
                Some("127.0.0.1" | "127.0.0.1." | "localhost" | "localhost." | "[::ffff:7f00:1]")
            ) || url.host_str().is_some_and(|host| host.contains("7f00:1"))
        });
        if is_open {
            continue;
        }
        sent += 1;
        let reply = cage.app.call("api://r/go", json!({ "to": url })).await;
        let is_no_address = reply.text.contains("something that is no address");
        assert!(
            is_no_address || reply.text.contains("is not public and was refused"),
            "{url}: {}",
            reply.text
        );
    }
    assert!(sent > 50, "{sent} of {}", HOSTS.len());
    cage.was_not_reached();
}

/// Servers of MCP, over each transport.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_mcp_server_is_looked_for_in_our_own_network() {
    let cage = Cage::new().await;
    for (transport, scheme) in [("http", "http"), ("sse", "http"), ("ws", "ws")] {
        for url in cage.urls(scheme, "/mcp") {
            let config = json!({ "type": transport, "url": url, "start_timeout": 10_000 });
            is_refused(&cage.ask(json!({ "type": "mcp", "id": "m", "config": config }), None).await, &url);
        }
    }
    cage.was_not_reached();
}
