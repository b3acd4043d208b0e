//! Nacos' HTTP API for clients, with answers as `rnacos` and the documentation of each version have them.

use super::{Answer, Listening, Question, json, lock, pairs, plain};
use hyper::StatusCode;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// A running server; it stops when dropped.
#[derive(Debug)]
pub struct Nacos {
    state: Arc<State>,
    listening: Listening,
}

/// The newest API that a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NacosVersion {
    /// The first.
    V1,
    /// With codes around its answers.
    V2,
    /// With paths for clients.
    V3,
}

#[derive(Debug)]
struct State {
    version: NacosVersion,
    login: Option<(String, String)>,
    hosts: Mutex<Vec<Value>>,
    /// How many logins there were; a token is good until the next.
    logins: Mutex<usize>,
    paths: Mutex<Vec<String>>,
}

impl Nacos {
    /// Starts a server of a version that lets everybody ask, or only a user with a password.
    pub async fn start(version: NacosVersion, login: Option<(&str, &str)>) -> Self {
        let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
        let state = Arc::new(State {
            version,
            login,
            hosts: Mutex::default(),
            logins: Mutex::default(),
            paths: Mutex::default(),
        });
        let shared = state.clone();
        let handler = move |question| {
            let state = shared.clone();
            Box::pin(async move { state.answer(&question) }) as _
        };
        Self { state, listening: Listening::start(Arc::new(handler)).await }
    }

    /// `http://127.0.0.1:port`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.listening.address)
    }

    /// The instances of the service `loyalty`, each with `ip`, `port` and what else it has.
    pub fn set(&self, hosts: Vec<Value>) {
        *lock(&self.state.hosts) = hosts;
    }

    /// Forgets the tokens that it has given.
    pub fn forget_tokens(&self) {
        *lock(&self.state.logins) += 1;
    }

    /// The paths that were asked for.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        lock(&self.state.paths).clone()
    }
}

impl State {
    fn answer(&self, question: &Question) -> Answer {
        lock(&self.paths).push(format!("/{}", question.path.join("/")));
        let path = question.path();
        let has = |version| self.version >= version;
        match (question.method.as_str(), path.as_slice()) {
            ("POST", ["nacos", "v3", "auth", "user", "login"]) if has(NacosVersion::V3) => {
                self.log_in(question)
            }
            ("POST", ["nacos", "v1", "auth", "login" | "users"]) if !has(NacosVersion::V3) => {
                self.log_in(question)
            }
            ("GET", ["nacos", rest @ ..]) => {
                let version = match rest {
                    ["v3", "client", "ns", "instance", "list"] => NacosVersion::V3,
                    ["v2", "ns", "instance", "list"] => NacosVersion::V2,
                    ["v1", "ns", "instance", "list"] => NacosVersion::V1,
                    _ => return not_found(question),
                };
                match (has(version), self.is_known(question)) {
                    (false, _) => not_found(question),
                    (true, false) => forbidden(question),
                    (true, true) => self.list(version, question),
                }
            }
            _ => not_found(question),
        }
    }

    fn token(&self) -> String {
        format!("token-{}", lock(&self.logins))
    }

    fn log_in(&self, question: &Question) -> Answer {
        let form = pairs(&String::from_utf8_lossy(&question.body));
        let given = (form.get("username").cloned(), form.get("password").cloned());
        let is_right =
            |(user, password): &(String, String)| given == (Some(user.clone()), Some(password.clone()));
        if !self.login.as_ref().is_none_or(is_right) {
            return plain(StatusCode::FORBIDDEN, "unknown user!");
        }
        *lock(&self.logins) += 1;
        let granted = json!({ "accessToken": self.token(), "tokenTtl": 18000, "globalAdmin": false });
        json(StatusCode::OK, &granted)
    }

    fn is_known(&self, question: &Question) -> bool {
        let bearer = question.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
        let token = bearer.or(question.header("accesstoken")).or(question.query("accessToken"));
        self.login.is_none() || token == Some(self.token().as_str())
    }

    fn list(&self, version: NacosVersion, question: &Question) -> Answer {
        let place =
            ["serviceName", "groupName", "namespaceId"].map(|name| question.query(name).unwrap_or_default());
        let is_ours = place == ["loyalty", "DEFAULT_GROUP", "public"];
        let hosts = if is_ours { lock(&self.hosts).clone() } else { Vec::new() };
        let service = json!({
            "name": format!("DEFAULT_GROUP@@{}", place[0]), "groupName": place[1], "clusters": "", "cacheMillis": 10000,
            "hosts": hosts, "lastRefTime": 1_700_000_000_000_u64, "checksum": "", "allIPs": false,
            "reachProtectionThreshold": false, "valid": true
        });
        let answer = match version {
            NacosVersion::V1 => service,
            NacosVersion::V2 => json!({ "code": 0, "message": "success", "data": service }),
            NacosVersion::V3 => json!({ "code": 0, "message": "success", "data": hosts }),
        };
        json(StatusCode::OK, &answer)
    }
}

fn failed(status: StatusCode, message: &str, question: &Question) -> Answer {
    let path = format!("/{}", question.path.join("/"));
    let error = status.canonical_reason().unwrap_or_default();
    json(
        status,
        &json!({ "timestamp": "2026-01-01T00:00:00.000+00:00", "status": status.as_u16(), "error": error, "message": message, "path": path }),
    )
}

fn not_found(question: &Question) -> Answer {
    failed(StatusCode::NOT_FOUND, "", question)
}

fn forbidden(question: &Question) -> Answer {
    failed(StatusCode::FORBIDDEN, "unknown user!", question)
}
