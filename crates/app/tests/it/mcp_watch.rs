//! A resource of a service changes, and the clients that watch it hear so, in the words of their own era.

use crate::binary::serve;
use crate::mcp_older::Events;
use crate::setup::example;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::client::send_json;
use testkit::process::Server;
use testkit::{Backend, Client, Database};

const ACCEPT: &str = "application/json, text/event-stream";
const WATCHED: &str = "test://watched-resource";

struct World {
    admin: Client,
    _server: Server,
    _database: Database,
}

impl World {
    /// The gateway with the conformance fixture as a service of one era.
    async fn start(era: &str, version: &str) -> Self {
        let database = Database::create(Backend::Sqlite).await;
        std::fs::create_dir_all(database.data_dir()).unwrap();
        let config = database.data_dir().join("mcp.json");
        let service = json!({ "command": example("conformance_server"), "args": ["stdio", era], "protocolVersion": version });
        std::fs::write(&config, json!({ "mcpServers": { "fixture": service } }).to_string()).unwrap();
        let mut command = serve(&database);
        command.arg("--mcp-config").arg(&config);
        let server = Server::start(command);
        Self { admin: server.admin(), _server: server, _database: database }
    }

    fn post(&self) -> reqwest::RequestBuilder {
        self.admin.request(Method::POST, "/mcp").header("accept", ACCEPT)
    }

    async fn trigger(&self) {
        let call = json!({ "name": "fixture__test_trigger_resource_update", "arguments": {} });
        self.admin.post("mcp/tools/call", call).await.is(200);
    }
}

/// A client of the older kind with its session.
struct Older<'a> {
    world: &'a World,
    session: String,
}

impl<'a> Older<'a> {
    async fn begin(world: &'a World) -> Self {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let session =
            send_json(world.post(), &hello).await.is(200).header("mcp-session-id").unwrap().to_owned();
        Self { world, session }
    }

    async fn ask(&self, method: &str, uri: &str) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 2, "method": method, "params": { "uri": uri } });
        send_json(self.world.post().header("mcp-session-id", &self.session), &message).await.is(200).body
    }

    async fn events(&self) -> Events {
        let stream = self.world.admin.request(Method::GET, "/mcp").header("accept", "text/event-stream");
        Events::of(stream.header("mcp-session-id", &self.session)).await
    }
}

fn is_told(told: &Value) {
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], WATCHED);
}

async fn an_older_client_hears_of_it(world: &World) {
    let client = Older::begin(world).await;
    let read = client.ask("resources/read", WATCHED).await;
    assert_eq!(read["result"]["contents"][0]["text"], "Watched.", "{read}");
    let missing = client.ask("resources/read", "test://nothing").await;
    assert!(missing["error"].is_object(), "{missing}");
    let mut events = client.events().await;
    assert_eq!(client.ask("resources/subscribe", WATCHED).await["result"], json!({}));
    world.trigger().await;
    is_told(&events.message().await);
    assert_eq!(client.ask("resources/unsubscribe", WATCHED).await["result"], json!({}));
}

async fn a_newer_client_hears_of_it(world: &World) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params =
        json!({ "_meta": meta, "notifications": { "resourceSubscriptions": [WATCHED, "test://nothing"] } });
    let listen = json!({ "jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen", "params": params });
    let request = world.post().header("mcp-protocol-version", "2026-07-28");
    let mut events = Events::of(request.header("mcp-method", "subscriptions/listen").json(&listen)).await;
    let first = events.message().await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let watched = &first["params"]["notifications"]["resourceSubscriptions"];
    assert!(watched.as_array().is_some_and(|uris| uris.contains(&Value::from(WATCHED))), "{first}");
    world.trigger().await;
    let told = events.message().await;
    is_told(&told);
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_hear_of_a_resource_of_an_older_server() {
    let world = World::start("legacy", "2025-11-25").await;
    an_older_client_hears_of_it(&world).await;
    a_newer_client_hears_of_it(&world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_hear_of_a_resource_of_a_newer_server() {
    let world = World::start("modern", "2026-07-28").await;
    a_newer_client_hears_of_it(&world).await;
}

/// The service must not hear the end of the first watch after the beginning of the second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resource_that_is_watched_again_at_once_is_heard_of() {
    let world = World::start("legacy", "2025-11-25").await;
    let client = Older::begin(&world).await;
    let mut events = client.events().await;
    client.ask("resources/subscribe", WATCHED).await;
    for _ in 0..50 {
        client.ask("resources/unsubscribe", WATCHED).await;
        client.ask("resources/subscribe", WATCHED).await;
        world.trigger().await;
        is_told(&events.message().await);
    }
}
