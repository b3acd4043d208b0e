//! A REST client with few words: relative paths are below `/api/v1/`, answers are read to their end.

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use std::net::SocketAddr;

/// Someone who talks to a server.
#[derive(Debug, Clone)]
pub struct Client {
    address: SocketAddr,
    key: Option<String>,
    http: reqwest::Client,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body as JSON; null when it is none.
    pub body: Value,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as text.
    pub text: String,
}

impl Client {
    /// Nobody yet.
    ///
    /// # Panics
    /// When no HTTP client can be made.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        Self { address, key: None, http }
    }

    /// The same server, as the holder of this key or token.
    #[must_use]
    pub fn as_key(&self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self.clone() }
    }

    /// The same server, without credentials.
    #[must_use]
    pub fn as_nobody(&self) -> Self {
        Self { key: None, ..self.clone() }
    }

    /// The same someone at another server.
    #[must_use]
    pub fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
    }

    /// The key or token, if there is one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path: `keys` is below `/api/v1/`, `/healthz` at the root.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        let base = if path.starts_with('/') { "" } else { "/api/v1/" };
        format!("http://{}{base}{path}", self.address)
    }

    /// A request to be finished by the caller.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, self.url(path));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Gets.
    pub async fn get(&self, path: &str) -> Reply {
        send(self.request(Method::GET, path)).await
    }

    /// Posts JSON.
    pub async fn post(&self, path: &str, body: Value) -> Reply {
        send_json(self.request(Method::POST, path), &body).await
    }

    /// Patches with JSON.
    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        send_json(self.request(Method::PATCH, path), &body).await
    }

    /// Deletes.
    pub async fn delete(&self, path: &str) -> Reply {
        send(self.request(Method::DELETE, path)).await
    }

    /// Calls a tool by its URI.
    pub async fn call(&self, uri: &str, arguments: Value) -> Reply {
        self.post("call", serde_json::json!({ "uri": uri, "arguments": arguments })).await
    }

    /// Calls a tool by its name.
    pub async fn call_name(&self, name: &str, arguments: Value) -> Reply {
        self.post("mcp/tools/call", serde_json::json!({ "name": name, "arguments": arguments })).await
    }

    /// The names of the tools in the list, in its order.
    pub async fn tool_names(&self) -> Vec<String> {
        let reply = self.get("mcp/tools?limit=1000").await.is(200);
        let tools = reply.body["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// Sends JSON and reads the answer.
///
/// # Panics
/// When there is none.
pub async fn send_json(request: RequestBuilder, body: &Value) -> Reply {
    send(request.header("content-type", "application/json").body(body.to_string())).await
}

/// Sends and reads the answer.
///
/// # Panics
/// When there is none.
pub async fn send(request: RequestBuilder) -> Reply {
    let response = request.send().await.expect("the server answers");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.expect("the answer has an end");
    Reply { status, body: serde_json::from_str(&text).unwrap_or_default(), headers, text }
}

impl Reply {
    /// The reply, if it has this status.
    ///
    /// # Panics
    /// When it has another.
    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// The reply, if it is a problem as RFC 9457 has it, with this status and code.
    ///
    /// # Panics
    /// When it is not.
    #[track_caller]
    pub fn is_problem(self, status: u16, code: &str) -> Self {
        let reply = self.is(status);
        let body = &reply.body;
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{}", reply.text);
        assert_eq!(body["code"], code, "{}", reply.text);
        assert_eq!(body["status"], status, "{}", reply.text);
        for field in ["title", "detail", "request_id"] {
            assert!(body[field].as_str().is_some_and(|text| !text.is_empty()), "{field} in {}", reply.text);
        }
        assert_eq!(body["request_id"].as_str(), reply.header("x-request-id"));
        assert!(body["errors"].is_array(), "{}", reply.text);
        reply
    }

    /// A header's value; `name` in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// A text field of the body.
    ///
    /// # Panics
    /// When there is no such field or it is no text.
    #[must_use]
    #[track_caller]
    pub fn string(&self, field: &str) -> String {
        let value = self.body[field].as_str();
        value.unwrap_or_else(|| panic!("no text in the field '{field}' of {}", self.text)).to_owned()
    }

    /// The `items` of a list.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    #[track_caller]
    pub fn items(&self) -> Vec<Value> {
        self.body["items"].as_array().unwrap_or_else(|| panic!("no list: {}", self.text)).clone()
    }

    /// Path and code of each entry of a problem's `errors`.
    #[must_use]
    pub fn errors(&self) -> Vec<(&str, &str)> {
        let errors = self.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        errors.iter().map(|error| (word(&error["path"]), word(&error["code"]))).collect()
    }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
