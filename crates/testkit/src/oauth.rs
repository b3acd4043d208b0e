//! An authorization server in the process, whose tokens live as briefly as a test wants.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How an authorization server behaves.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// The secret of the client `us`.
    pub secret: String,
    /// Of a token.
    pub life: Duration,
    /// Answers every request for a token with 503.
    pub is_down: bool,
    /// Takes no refresh token any more.
    pub has_forgotten: bool,
    /// Gives no more than this scope, whatever is asked for.
    pub most: Option<String>,
    /// Who is said to hand out the tokens, if it is somebody else.
    pub other: Option<String>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            secret: "right-secret".into(),
            life: Duration::from_secs(3600),
            is_down: false,
            has_forgotten: false,
            most: None,
            other: None,
        }
    }
}

/// A running authorization server; it stops when dropped.
#[derive(Debug)]
pub struct Provider {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    behaviour: Behaviour,
    tokens: HashMap<String, (Instant, String)>,
    refresh: Option<(String, String)>,
    next: usize,
    granted: Vec<String>,
}

/// What stands before a server that wants tokens of a provider.
#[derive(Debug, Clone)]
pub struct Guard {
    provider: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Guard {
    /// Lets a request in, or says what is missing: `read` for everything, `write` for the tool `raw`.
    ///
    /// # Errors
    /// The status and the challenge.
    pub fn check(
        &self,
        host: Option<&str>,
        authorization: Option<&str>,
        message: &Value,
    ) -> Result<(), (StatusCode, String)> {
        let (provider, host) = (self.provider, host.unwrap_or_default());
        let metadata = format!(r#"resource_metadata="http://{provider}/resource/{host}""#);
        let token = authorization.and_then(|text| text.strip_prefix("Bearer ")).unwrap_or_default();
        let state = lock(&self.state);
        let known = state.tokens.get(token).filter(|(end, _)| *end > Instant::now());
        let Some((_, scope)) = known else {
            let challenge = format!(r#"Bearer error="invalid_token", scope="read", {metadata}"#);
            return Err((StatusCode::UNAUTHORIZED, challenge));
        };
        let wanted = if message["params"]["name"] == "raw" { "write" } else { "read" };
        if scope.split(' ').any(|word| word == wanted) {
            return Ok(());
        }
        let challenge = format!(r#"Bearer error="insufficient_scope", scope="{wanted}", {metadata}"#);
        Err((StatusCode::FORBIDDEN, challenge))
    }
}

impl Provider {
    /// Starts on a free port.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(Mutex::new(State { behaviour, ..State::default() }));
        let task = tokio::spawn(accept(listener, address, state.clone()));
        Self { address, state, task }
    }

    /// Behaves differently from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        lock(&self.state).behaviour = behaviour;
    }

    /// For a server that wants this provider's tokens.
    #[must_use]
    pub fn guard(&self) -> Guard {
        Guard { provider: self.address, state: self.state.clone() }
    }

    /// Who it is, by its own words.
    #[must_use]
    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked for at the token endpoint and registered: the grant and the scope of each request.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        lock(&self.state).granted.clone()
    }

    /// No token is worth anything any more.
    pub fn forget_tokens(&self) {
        lock(&self.state).tokens.clear();
    }

    /// Every secret that was handed out and still counts.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let state = lock(&self.state);
        state.tokens.keys().cloned().chain(state.refresh.iter().map(|(token, _)| token.clone())).collect()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, address: SocketAddr, state: Arc<Mutex<State>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request| serve(request, address, state.clone()));
            // A client that goes away is none of our business.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

type Answer = Response<Full<Bytes>>;

async fn serve(
    request: Request<Incoming>,
    address: SocketAddr,
    state: Arc<Mutex<State>>,
) -> Result<Answer, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let form = pairs(&String::from_utf8_lossy(&body));
    let path = head.uri.path();
    let mut state = lock(&state);
    let issuer = format!("http://{address}");
    if let Some(host) = path.strip_prefix("/resource/") {
        let authority = state.behaviour.other.clone().unwrap_or(issuer);
        let resource = format!("http://{host}/mcp");
        return Ok(answer(200, &json!({ "resource": resource, "authorization_servers": [authority] })));
    }
    let basic = head.headers.get("authorization").and_then(|value| value.to_str().ok());
    Ok(match path {
        "/.well-known/oauth-authorization-server" => answer(
            200,
            &json!({
                "issuer": issuer, "token_endpoint": format!("{issuer}/token"),
                "authorization_endpoint": format!("{issuer}/authorize"),
                "registration_endpoint": format!("{issuer}/register"),
                "token_endpoint_auth_methods_supported": ["client_secret_post", "none"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": true
            }),
        ),
        "/register" => {
            state.granted.push("register".into());
            answer(201, &json!({ "client_id": "new-client", "token_endpoint_auth_method": "none" }))
        }
        "/authorize" => authorize(&pairs(head.uri.query().unwrap_or_default()), &issuer),
        "/token" if basic.is_some() => answer(400, &json!({ "error": "invalid_request" })),
        "/token" => state.token(&form),
        _ => answer(404, &json!({})),
    })
}

/// Somebody who says yes at once. The code is the scope that was asked for.
fn authorize(query: &HashMap<String, String>, issuer: &str) -> Answer {
    let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let find = |name: &str| query.get(name).map_or("", String::as_str);
    let (redirect, code, state) = (find("redirect_uri"), find("scope"), find("state"));
    let (code, state, issuer) = (encoded(&format!("code {code}")), encoded(state), encoded(issuer));
    let mut response = answer(302, &json!({}));
    let location = format!("{redirect}?code={code}&state={state}&iss={issuer}");
    response.headers_mut().insert("location", location.parse().expect("a header value"));
    response
}

impl State {
    fn token(&mut self, form: &HashMap<String, String>) -> Answer {
        let find = |name: &str| form.get(name).map_or("", String::as_str);
        let (grant, mut scope) = (find("grant_type"), find("scope").to_owned());
        if let Some(asked) = find("code").strip_prefix("code ") {
            asked.clone_into(&mut scope);
        }
        self.granted.push(format!("{grant} {scope}").trim_end().to_owned());
        let refuse =
            |error: &str, why: &str| answer(400, &json!({ "error": error, "error_description": why }));
        if self.behaviour.is_down {
            return answer(503, &json!({}));
        }
        if !find("resource").starts_with("http://127.0.0.1:") {
            return refuse("invalid_target", "no resource");
        }
        match grant {
            "client_credentials" if find("client_secret") != self.behaviour.secret => {
                // Some are so kind as to quote what was wrong.
                return refuse("invalid_client", &format!("not {}", find("client_secret")));
            }
            "refresh_token" => {
                let known = self.refresh.take().filter(|(token, _)| token == find("refresh_token"));
                let Some((_, granted)) = known.filter(|_| !self.behaviour.has_forgotten) else {
                    return refuse("invalid_grant", "that is over");
                };
                scope = granted;
            }
            "authorization_code" if find("code_verifier").len() < 43 => {
                return refuse("invalid_grant", "no verifier");
            }
            "client_credentials" | "authorization_code" => {}
            _ => return refuse("unsupported_grant_type", ""),
        }
        let scope = self.behaviour.most.clone().unwrap_or(scope);
        self.next += 1;
        let (access, refresh) =
            (format!("access-token-{}", self.next), format!("refresh-token-{}", self.next));
        self.tokens.insert(access.clone(), (Instant::now() + self.behaviour.life, scope.clone()));
        self.refresh = Some((refresh.clone(), scope));
        let life = self.behaviour.life.as_secs();
        let mut given = json!({ "access_token": access, "token_type": "bearer", "expires_in": life });
        if grant != "client_credentials" {
            given["refresh_token"] = refresh.into();
        }
        answer(200, &given)
    }
}

fn pairs(text: &str) -> HashMap<String, String> {
    let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    text.split('&').filter_map(|pair| pair.split_once('=')).map(|(k, v)| (decoded(k), decoded(v))).collect()
}

fn answer(status: u16, body: &Value) -> Answer {
    let mut response = Response::new(Full::new(body.to_string().into()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}
