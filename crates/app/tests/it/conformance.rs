//! The official conformance suite is the referee: it runs through the gateway, and against our client role.

mod both_eras;
mod suite;

use crate::binary::{BINARY, serve};
use crate::setup::example;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use suite::Suite;
use testkit::process::Server;
use testkit::{Backend, Database, KeyProxy};

/// The fixture as a server on a port.
struct Fixture {
    child: Child,
    url: String,
}

impl Fixture {
    fn start(era: &str) -> Self {
        Self::spawn(Self::command(era))
    }

    fn command(era: &str) -> Command {
        let mut command = testkit::process::sheltered(example("conformance_server"));
        command.args(["0", era]);
        command
    }

    /// Runs a program that says its URL first.
    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The gateway with the fixture as its only service, whose tools keep their names.
struct Gateway {
    server: Server,
    // The suite sends no key, and the door wants one.
    proxy: KeyProxy,
    _database: Database,
}

impl Gateway {
    async fn start(mut service: Value) -> Self {
        service["expose"] = json!({ "prefix": false });
        let database = Database::create(Backend::Sqlite).await;
        std::fs::create_dir_all(database.data_dir()).unwrap();
        let config = database.data_dir().join("mcp.json");
        std::fs::write(&config, json!({ "mcpServers": { "fixture": service } }).to_string()).unwrap();
        let mut command = serve(&database);
        command.arg("--mcp-config").arg(&config);
        let server = Server::start(command);
        let proxy = KeyProxy::start(server.address(), server.admin_key().unwrap()).await;
        Self { server, proxy, _database: database }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.proxy.address())
    }

    async fn passes(&self, suite: &Suite) {
        if let Err(failures) = suite.run_server(&self.url()).await {
            panic!("{failures}\nThe gateway's log:\n{}", suite::last_lines(&self.server.stderr(), 30));
        }
    }
}

fn stdio(era: &str) -> Value {
    json!({ "command": example("conformance_server"), "args": ["stdio", era] })
}

/// What fails here is the fixture's or the suite's, not ours.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fixture_passes_without_us() {
    let fixture = Fixture::start("both");
    for version in ["2025-11-25", "2026-07-28"] {
        if let Err(failures) = Suite::without_exceptions(version).run_server(&fixture.url).await {
            panic!("{failures}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_2025_11_25_over_http_conform_through_us() {
    let fixture = Fixture::start("legacy");
    Gateway::start(json!({ "type": "http", "url": fixture.url }))
        .await
        .passes(&Suite::new("2025-11-25"))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_2025_11_25_on_stdio_conform_through_us() {
    Gateway::start(stdio("legacy")).await.passes(&Suite::new("2025-11-25")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_2026_07_28_over_http_conform_through_us() {
    let fixture = Fixture::start("modern");
    Gateway::start(json!({ "type": "http", "url": fixture.url }))
        .await
        .passes(&Suite::new("2026-07-28"))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_2026_07_28_on_stdio_conform_through_us() {
    // On stdio a server that speaks both is begun with a handshake unless told otherwise.
    let mut service = stdio("modern");
    service["protocolVersion"] = json!("2026-07-28");
    Gateway::start(service).await.passes(&Suite::new("2026-07-28")).await;
}

/// A client with a handshake, a server without: what is lost on that bridge is written down.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modern_servers_conform_for_legacy_clients() {
    let suite = Suite::with_exceptions("2025-11-25", "2025-11-25-from-modern");
    Gateway::start(stdio("modern")).await.passes(&suite).await;
}

/// The other way round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn legacy_servers_conform_for_modern_clients() {
    let suite = Suite::with_exceptions("2026-07-28", "2026-07-28-from-legacy");
    Gateway::start(stdio("legacy")).await.passes(&suite).await;
}

/// The gateway is the client under test, driven by a client of its own at its stdio door.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_client_role_conforms_to_2025_11_25() {
    our_client_role_conforms_to("2025-11-25").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_client_role_conforms_to_2026_07_28() {
    our_client_role_conforms_to("2026-07-28").await;
}

async fn our_client_role_conforms_to(version: &str) {
    if let Err(failures) = Suite::new(version).run_client(&client()).await {
        panic!("{failures}");
    }
}

/// The client in between does what `doctor` and the errors advise: it runs `login`, and is the browser.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_sign_in_conforms_to_2025_11_25() {
    if let Err(failures) = Suite::new("2025-11-25").run_sign_in(&client()).await {
        panic!("{failures}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_sign_in_conforms_to_2026_07_28() {
    if let Err(failures) = Suite::new("2026-07-28").run_sign_in(&client()).await {
        panic!("{failures}");
    }
}

/// What we do not do of the extensions is written down.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_sign_in_conforms_to_extensions() {
    let suite = Suite::with_exceptions("2026-07-28", "sign-in-extensions");
    if let Err(failures) = suite.run_sign_in_extensions(&client()).await {
        panic!("{failures}");
    }
}

fn client() -> String {
    format!("{} {BINARY}", example("conformance_client").display())
}
