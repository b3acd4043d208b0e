//! Every endpoint of the OpenAPI document with every kind of caller, in its own tenant and in another.

use crate::roles_rows::{Access, ROWS, Row, Subject};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::client::{send, send_json};
use testkit::model::{Model, Reply as ModelReply};
use testkit::{Backend, Client, Reply, TestApp, eventually, http};

/// Somebody who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Who {
    Nobody,
    WrongKey,
    InstanceKey,
    Admin,
    Manager,
    Caller,
    Viewer,
    /// A manager whose key may only read.
    Reader,
    /// A manager whose key may only call.
    Dialler,
    /// The manager of another tenant.
    Foreigner,
}

const ALL: [Who; 10] = [
    Who::Nobody,
    Who::WrongKey,
    Who::InstanceKey,
    Who::Admin,
    Who::Manager,
    Who::Caller,
    Who::Viewer,
    Who::Reader,
    Who::Dialler,
    Who::Foreigner,
];

/// What is in the names of everything that the tenant has.
const MARK: &str = "acmething";

/// What must come of it, said once more than the program says it.
fn expected(row: &Row, who: Who) -> u16 {
    use Who::{Admin, Caller, Dialler, Foreigner, InstanceKey, Manager, Nobody, Reader, Viewer, WrongKey};
    let may = match row.access {
        Access::Everybody => return row.ok,
        Access::SignedIn => !matches!(who, Nobody | WrongKey | InstanceKey),
        Access::Read => matches!(who, Admin | Manager | Caller | Viewer | Reader | Foreigner),
        Access::Look => matches!(who, Admin | Manager | Viewer | Reader | Foreigner),
        Access::Call => matches!(who, Admin | Manager | Caller | Dialler | Foreigner),
        Access::Own => matches!(who, Admin | Manager | Caller | Foreigner),
        Access::Manage => matches!(who, Admin | Manager | Foreigner),
        Access::Administer => who == Admin,
    };
    match who {
        Nobody | WrongKey | InstanceKey => 401,
        // What belongs to another tenant is not there, never forbidden.
        Foreigner if row.subject != Subject::None => 404,
        _ if row.subject == Subject::Tenant && who != Admin => 404,
        // Calls of others, and what they say, are for those who manage.
        Viewer | Reader if matches!(row.subject, Subject::Called | Subject::Conversation) => 404,
        _ if may => row.ok,
        _ => 403,
    }
}

struct World {
    app: TestApp,
    clients: HashMap<Who, Client>,
    upstream: http::Server,
    model: Model,
    count: AtomicUsize,
}

impl World {
    async fn new() -> Self {
        let app = TestApp::start(Backend::Sqlite).await;
        let upstream = http::Server::start().await;
        let manager = app.with_tenant("acme").await;
        let key = |name: &str, more: Value| {
            let mut key = json!({ "name": format!("{MARK} {name}"), "tenant": "acme" });
            key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            app.with_key(key)
        };
        let instance = manager.post("mcp", json!({ "name": MARK })).await.is(201).string("api_key");
        let clients = HashMap::from([
            (Who::Nobody, app.as_nobody()),
            (Who::WrongKey, app.as_key("mk_wrong")),
            (Who::InstanceKey, app.as_key(instance)),
            (Who::Admin, Client::clone(&app)),
            (Who::Caller, key("caller", json!({ "role": "caller" })).await),
            (Who::Viewer, key("viewer", json!({ "role": "viewer" })).await),
            (Who::Reader, key("reader", json!({ "role": "manager", "scopes": ["read"] })).await),
            (Who::Dialler, key("dialler", json!({ "role": "manager", "scopes": ["call"] })).await),
            (Who::Foreigner, app.with_tenant("umbrella").await),
            (Who::Manager, manager),
        ]);
        let model = Model::replies(vec![ModelReply::says("yes")]).await;
        let world = Self { app, clients, upstream, model, count: AtomicUsize::new(0) };
        world.client(Who::Manager).post("services", world.service("call")).await.is(201);
        world
    }

    fn client(&self, who: Who) -> &Client {
        &self.clients[&who]
    }

    fn number(&self) -> usize {
        self.count.fetch_add(1, Ordering::Relaxed)
    }

    fn service(&self, id: &str) -> Value {
        json!({ "type": "api", "id": format!("{MARK}-{id}"), "config": { "base_url": self.upstream.url() },
            "tools": [{ "id": "ping", "endpoint": "/ping" }] })
    }

    /// The path with the ids of things that are made for it. Tools, tables and instances are their owner's.
    async fn path(&self, row: &Row, owner: Who) -> String {
        let manager = self.client(Who::Manager);
        let owner = self.client(owner);
        let number = self.number();
        let name = format!("{MARK}{number}");
        let mut path = row.path.trim_start_matches('/').to_owned();
        let mut put = |hole: &str, value: &str| path = path.replace(hole, value);
        match row.subject {
            Subject::None | Subject::Named => put("{type}", "api"),
            Subject::Tenant => {
                self.app.post("tenants", json!({ "id": format!("t{number}") })).await.is(201);
                put("{id}", &format!("t{number}"));
            }
            Subject::OwnTenant => put("{id}", "acme"),
            Subject::User => {
                let user = json!({ "username": name, "password": "correct horse" });
                put("{id}", &manager.post("users", user).await.is(201).string("id"));
            }
            Subject::Key => {
                put("{id}", &manager.post("keys", json!({ "name": name })).await.is(201).string("id"));
            }
            Subject::Service => {
                manager.post("services", self.service(&number.to_string())).await.is(201);
                put("{type}", "api");
                put("{id}", &format!("{MARK}-{number}"));
                put("{tool}", "ping");
            }
            Subject::Agent => put("{id}", &self.agent(&name).await),
            Subject::Conversation => put("{id}", &self.conversation(owner, &name).await),
            Subject::Flow => self.flow(&name).await.iter().for_each(|(hole, value)| put(hole, value)),
            Subject::Run | Subject::FailedRun => {
                self.run(owner, &name, row.subject).await.iter().for_each(|(hole, value)| put(hole, value));
            }
            Subject::Called => put("{id}", &audited_call(owner).await),
            Subject::Tool => put("{id}", &self.tool(owner, &name).await),
            Subject::SearchTool => put("{id}", &search_tool(owner, &name).await),
            Subject::Table => {
                let data = json!({ "a": 1, "b": [] });
                let table = owner.post("tables", json!({ "name": name, "data": data })).await.is(201);
                put("{id}", &table.string("id"));
                put("{table_id}", &table.string("id"));
            }
            Subject::Instance => {
                let made = owner.post("mcp", json!({ "name": name })).await.is(201);
                put("{mcp_id}", &made.string("id"));
                put("{api_key}", &made.string("api_key"));
            }
            Subject::Binding => {
                let made = owner.post("mcp", json!({ "name": name })).await.is(201);
                let tool = self.tool(owner, &name).await;
                let bindings = format!("mcp/id/{}/bindings", made.string("id"));
                owner.post(&bindings, json!({ "bindings": [{ "tool_id": tool }] })).await.is(201);
                put("{mcp_id}", &made.string("id"));
                put("{tool_id}", &tool);
            }
        }
        assert!(!path.contains('{'), "nothing makes the subject of {}", row.path);
        path
    }

    /// Saves an agent.
    async fn agent(&self, name: &str) -> String {
        let config = json!({ "provider": "openai", "base_url": self.model.url(), "model": "m" });
        let agent = json!({ "type": "agent", "id": name, "config": config });
        self.client(Who::Manager).post("services", agent).await.is(201);
        name.to_owned()
    }

    /// Says something to a new agent.
    async fn conversation(&self, owner: &Client, name: &str) -> String {
        let path = format!("agents/{}/runs", self.agent(name).await);
        let said = owner.post(&path, json!({ "prompt": "hello", "conversation": "new" })).await.is(200);
        said.body["structuredContent"]["conversation"].as_str().unwrap().to_owned()
    }

    /// Publishes a flow with a webhook.
    async fn flow<'n>(&self, name: &'n str) -> [(&'static str, &'n str); 3] {
        let source = "nodes: {a: {with: 1}}\ntriggers: [{type: webhook, name: in}]";
        let manager = self.client(Who::Manager);
        manager.post("flows", json!({ "id": name, "source": source })).await.is(201);
        manager.post(&format!("flows/{name}/publish"), json!({})).await.is(200);
        [("{id}", name), ("{name}", "in"), ("{version}", "1")]
    }

    /// A run of a new flow, as far as it comes by itself.
    async fn run(&self, owner: &Client, name: &str, subject: Subject) -> [(&'static str, String); 3] {
        let source = match subject {
            Subject::FailedRun => "nodes: {a: {throw: {code: NO, message: it may not}}}",
            _ => "nodes: {a: {approval: {title: May it?}}}",
        };
        let manager = self.client(Who::Manager);
        manager.post("flows", json!({ "id": name, "source": source })).await.is(201);
        manager.post(&format!("flows/{name}/publish"), json!({})).await.is(200);
        let id = owner.post(&format!("flows/{name}/runs"), json!({})).await.is(202).string("id");
        let path = format!("runs/{id}?tenant_id=acme");
        let mut run = Value::Null;
        eventually("the run rests", Duration::from_secs(30), async || {
            run = self.app.get(&path).await.is(200).body;
            run["state"] == "failed" || run["state"] == "waiting"
        })
        .await;
        let approval = run["waiting_for"][0]["approval_id"].as_str().unwrap_or_default();
        [("{run_id}", id), ("{name}", "go".to_owned()), ("{approval_id}", approval.to_owned())]
    }

    async fn tool(&self, owner: &Client, name: &str) -> String {
        let config = json!({ "HTTP": { "endpoint": format!("{}/x", self.upstream.url()) } });
        let tool = json!({ "name": name, "type": "http", "config": config });
        owner.post("tools", tool).await.is(201).string("id")
    }

    /// What makes the request right, where it needs something.
    async fn body(&self, row: &Row, owner: Who) -> Option<Value> {
        let text = row.body.replace("{n}", &format!("{MARK}{}", self.number()));
        if text.contains("{new_tool}") {
            let name = format!("{MARK}{}", self.number());
            let tool = self.tool(self.client(owner), &name).await;
            return serde_json::from_str(&text.replace("{new_tool}", &tool)).ok();
        }
        if text.contains("{table}") {
            let made = self.client(owner).post("tables", json!({ "name": MARK })).await.is(201);
            return serde_json::from_str(&text.replace("{table}", &made.string("id"))).ok();
        }
        if text.is_empty() { None } else { Some(serde_json::from_str(&text).unwrap()) }
    }

    async fn ask(&self, row: &Row, who: Who, owner: Who, query: &str) -> Reply {
        let path = self.path(row, owner).await;
        self.ask_at(&path, row, who, owner, query).await
    }

    async fn ask_at(&self, path: &str, row: &Row, who: Who, owner: Who, query: &str) -> Reply {
        let more = [row.query, query, if who == Who::Admin { "tenant_id=acme" } else { "" }];
        let more: Vec<_> = more.into_iter().filter(|part| !part.is_empty()).collect();
        let method = Method::from_bytes(row.method.as_bytes()).unwrap();
        let request = self.client(who).request(method, &format!("{path}?{}", more.join("&")));
        match self.body(row, owner).await {
            Some(body) => send_json(request, &body).await,
            None => send(request).await,
        }
    }
}

/// The owner of what somebody asks for: callers have things of their own, the others look at a manager's.
fn owner_for(who: Who) -> Who {
    if who == Who::Caller { Who::Caller } else { Who::Manager }
}

#[test]
fn every_endpoint_has_a_row() {
    let document: Value = serde_json::from_str(&server::openapi_document()).unwrap();
    let mut documented = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys().filter(|method| method.len() <= 6) {
            documented.insert(format!("{} {}", method.to_uppercase(), path.trim_start_matches("/api/v1")));
        }
    }
    let rows: BTreeSet<_> = ROWS.iter().map(|row| format!("{} {}", row.method, row.path)).collect();
    assert_eq!(documented, rows, "an endpoint needs a row that says who may use it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_endpoint_lets_in_whom_it_should_and_nobody_else() {
    let world = World::new().await;
    let mut wrong = Vec::new();
    for row in ROWS {
        // Whoever is refused changes nothing, and one thing does for them all.
        let shared = world.path(row, Who::Manager).await;
        for who in ALL {
            let expected = expected(row, who);
            let reply = match expected == row.ok && row.method != "GET" || who == Who::Caller {
                true => world.ask(row, who, owner_for(who), "").await,
                false => world.ask_at(&shared, row, who, Who::Manager, "").await,
            };
            if reply.status != expected {
                let text: String = reply.text.chars().take(200).collect();
                wrong.push(format!(
                    "{} {} as {who:?}: {} not {expected}: {text}",
                    row.method, row.path, reply.status
                ));
            }
            // The overview tells the foreigner what it has asked for itself.
            if who == Who::Foreigner
                && row.path != "/overview"
                && row.subject == Subject::None
                && reply.text.contains(MARK)
                && row.method == "GET"
            {
                wrong.push(format!("{} {} shows a foreigner {MARK}: {}", row.method, row.path, reply.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_names_another_tenant_and_callers_find_nothing_of_others() {
    let world = World::new().await;
    let mut wrong = Vec::new();
    for row in ROWS.iter().filter(|row| row.access != Access::Everybody) {
        let path = world.path(row, Who::Manager).await;
        for who in [Who::Foreigner, Who::Manager, Who::Viewer] {
            let tenant = if who == Who::Foreigner { "tenant_id=acme" } else { "tenant_id=umbrella" };
            let reply = world.ask_at(&path, row, who, Who::Manager, tenant).await;
            if reply.status != 404 {
                wrong.push(format!("{} {} as {who:?} with {tenant}: {}", row.method, row.path, reply.status));
            }
        }
        if row.subject.has_owner() {
            let reply = world.ask_at(&path, row, Who::Caller, Who::Manager, "").await;
            if reply.status != 404 {
                wrong
                    .push(format!("{} {} of another: {} {}", row.method, row.path, reply.status, reply.text));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_but_an_admin_changes_a_tenant() {
    let world = World::new().await;
    for who in [Who::Manager, Who::Caller, Who::Viewer, Who::Reader, Who::Dialler] {
        let client = world.client(who);
        client.patch("tenants/acme", json!({ "name": "mine" })).await.is_problem(403, "FORBIDDEN");
        client.delete("tenants/acme").await.is_problem(403, "FORBIDDEN");
    }
}

/// A tool that searches a table of its own.
async fn search_tool(owner: &Client, name: &str) -> String {
    let table = owner.post("tables", json!({ "name": name })).await.is(201).string("id");
    let tool = json!({ "name": name, "type": "search", "table_id": table, "json_path": "" });
    owner.post("tools/search", tool).await.is(201).string("id")
}

/// The id of a call in the audit.
async fn audited_call(owner: &Client) -> String {
    let called = json!({ "uri": format!("api://{MARK}-call/ping") });
    let called = owner.post("call?inspect=true", called).await.is(200);
    called.body["inspection"]["audit_id"].as_str().unwrap().to_owned()
}
