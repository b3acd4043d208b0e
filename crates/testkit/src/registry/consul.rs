//! Consul's agent: registering services, their checks, and blocking queries on those that pass.

use super::{Answer, Listening, Question, json, lock, plain};
use hyper::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// How long a query blocks unless it says so.
const DEFAULT_WAIT: Duration = Duration::from_secs(300);
const DATACENTER: &str = "dc1";

/// A running agent; it stops when dropped.
#[derive(Debug)]
pub struct Consul {
    state: Arc<State>,
    listening: Listening,
}

/// A service as it is registered.
#[derive(Debug, Clone)]
pub struct ConsulService {
    /// Names it at its agent.
    pub id: String,
    /// Names it for those who look for it.
    pub name: String,
    /// Empty for that of its node.
    pub address: String,
    /// Where it listens.
    pub port: u16,
    /// What it is also called.
    pub tags: Vec<String>,
    /// Its share of the work while it passes.
    pub weight: u32,
}

impl ConsulService {
    /// A service like all others.
    #[must_use]
    pub fn new(id: &str, name: &str, address: std::net::SocketAddr) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            address: address.ip().to_string(),
            port: address.port(),
            tags: Vec::new(),
            weight: 1,
        }
    }
}

#[derive(Debug)]
struct State {
    services: Mutex<BTreeMap<String, Registered>>,
    token: Mutex<Option<String>>,
    queries: Mutex<Vec<String>>,
    /// The count of changes, which queries wait for.
    index: watch::Sender<u64>,
}

#[derive(Debug)]
struct Registered {
    service: ConsulService,
    status: &'static str,
}

impl Consul {
    /// Starts an agent that knows nobody.
    pub async fn start() -> Self {
        let state = Arc::new(State {
            services: Mutex::default(),
            token: Mutex::default(),
            queries: Mutex::default(),
            index: watch::channel(10).0,
        });
        let shared = state.clone();
        let handler = move |question| {
            let state = shared.clone();
            Box::pin(async move { state.answer(&question).await }) as _
        };
        Self { state, listening: Listening::start(Arc::new(handler)).await }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> std::net::SocketAddr {
        self.listening.address
    }

    /// `http://127.0.0.1:port`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Registers a service whose checks pass.
    pub fn register(&self, service: ConsulService) {
        self.state.register(service);
    }

    /// Takes a service out.
    pub fn deregister(&self, id: &str) {
        lock(&self.state.services).remove(id);
        self.state.changed();
    }

    /// Says what came of a service's check: `passing`, `warning` or `critical`.
    pub fn set_status(&self, id: &str, status: &'static str) {
        self.state.set_status(id, status);
    }

    /// Only whoever has this token may ask.
    pub fn require_token(&self, token: &str) {
        *lock(&self.state.token) = Some(token.to_owned());
    }

    /// Counts from somewhere else, as a cluster that was restored does.
    pub fn set_index(&self, index: u64) {
        self.state.index.send_replace(index);
    }

    /// The queries on health so far, each as `index`, or nothing where it had none.
    #[must_use]
    pub fn indexes(&self) -> Vec<String> {
        lock(&self.state.queries).clone()
    }
}

impl State {
    fn changed(&self) {
        self.index.send_modify(|index| *index += 1);
    }

    fn register(&self, service: ConsulService) {
        let registered = Registered { status: "passing", service };
        lock(&self.services).insert(registered.service.id.clone(), registered);
        self.changed();
    }

    fn set_status(&self, id: &str, status: &'static str) -> bool {
        let mut services = lock(&self.services);
        let Some(registered) = services.get_mut(id) else { return false };
        registered.status = status;
        drop(services);
        self.changed();
        true
    }

    async fn answer(&self, question: &Question) -> Answer {
        let token = lock(&self.token).clone();
        if token.is_some() && question.header("x-consul-token") != token.as_deref() {
            return plain(
                StatusCode::FORBIDDEN,
                "Permission denied: anonymous token lacks permission 'service:read'",
            );
        }
        match (question.method.as_str(), question.path().as_slice()) {
            ("GET", ["v1", "health", "service", name]) => self.health(question, name).await,
            ("PUT", ["v1", "agent", "service", "register"]) => {
                self.register(read(&question.json()));
                plain(StatusCode::OK, "")
            }
            ("PUT", ["v1", "agent", "service", "deregister", id]) => {
                lock(&self.services).remove(*id);
                self.changed();
                plain(StatusCode::OK, "")
            }
            ("PUT", ["v1", "agent", "check", verdict @ ("pass" | "warn" | "fail"), check]) => {
                let status = match *verdict {
                    "pass" => "passing",
                    "warn" => "warning",
                    _ => "critical",
                };
                match self.set_status(check.trim_start_matches("service:"), status) {
                    true => plain(StatusCode::OK, ""),
                    false => plain(StatusCode::NOT_FOUND, "Unknown check ID"),
                }
            }
            _ => plain(StatusCode::NOT_FOUND, "Invalid URL path: not a recognized HTTP API endpoint"),
        }
    }

    /// Waits until the count is higher than what the client has seen, or its time is over.
    async fn health(&self, question: &Question, name: &str) -> Answer {
        if question.query("dc").is_some_and(|wanted| wanted != DATACENTER) {
            return plain(StatusCode::INTERNAL_SERVER_ERROR, "No path to datacenter");
        }
        let seen = question.query("index").unwrap_or_default().to_owned();
        lock(&self.queries).push(seen.clone());
        let mut index = self.index.subscribe();
        if let Ok(seen @ 1..) = seen.parse::<u64>() {
            let wait = question.query("wait").and_then(duration).unwrap_or(DEFAULT_WAIT);
            // A count that went back is told at once.
            let is_news = |now: &u64| *now != seen;
            let _ = tokio::time::timeout(wait + wait / 16, index.wait_for(is_news)).await;
        }
        let now = *index.borrow();
        let services = lock(&self.services);
        let is_wanted = |registered: &&Registered| {
            let tag = question.query("tag");
            registered.service.name == name
                && tag.is_none_or(|tag| registered.service.tags.iter().any(|own| own == tag))
                && (question.query("passing").is_none() || registered.status == "passing")
        };
        let entries: Vec<_> = services.values().filter(is_wanted).map(entry).collect();
        let mut answer = json(StatusCode::OK, &entries.into());
        for (header, value) in [
            ("x-consul-index", now.to_string()),
            ("x-consul-knownleader", "true".to_owned()),
            ("x-consul-lastcontact", "0".to_owned()),
        ] {
            answer.headers_mut().insert(header, value.parse().expect("a legal header"));
        }
        answer
    }
}

fn read(body: &Value) -> ConsulService {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let tags = body["Tags"].as_array().into_iter().flatten();
    ConsulService {
        id: body["ID"].as_str().map_or_else(|| text("Name"), ToOwned::to_owned),
        name: text("Name"),
        address: text("Address"),
        port: body["Port"].as_u64().and_then(|port| port.try_into().ok()).unwrap_or_default(),
        tags: tags.filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
        weight: body["Weights"]["Passing"].as_u64().and_then(|weight| weight.try_into().ok()).unwrap_or(1),
    }
}

fn entry(registered: &Registered) -> Value {
    let Registered { service, status } = registered;
    json!({
        "Node": { "ID": "40e4a748-2192-161a-0510-9bf59fe950b5", "Node": "agent", "Address": "127.0.0.1",
                  "Datacenter": DATACENTER, "TaggedAddresses": {}, "Meta": {} },
        "Service": { "ID": service.id, "Service": service.name, "Tags": service.tags, "Address": service.address,
                     "Port": service.port, "Meta": {}, "EnableTagOverride": false,
                     "Weights": { "Passing": service.weight, "Warning": 1 } },
        "Checks": [{ "Node": "agent", "CheckID": format!("service:{}", service.id), "Status": status,
                     "ServiceID": service.id, "ServiceName": service.name, "Output": "", "Notes": "" }]
    })
}

/// Durations as Go writes them, of one unit.
fn duration(text: &str) -> Option<Duration> {
    let at = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(at);
    let number = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number * 60)),
        _ => None,
    }
}
