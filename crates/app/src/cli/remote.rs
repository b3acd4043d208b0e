//! A running server, as the command line sees it.

use crate::Failure;
use clap::Args;
use fetch::SseEvents;
use http::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;
use tool::Secret;

/// Which server to ask, and as whom.
#[derive(Args)]
pub(super) struct Remote {
    /// The server to ask [default: http://127.0.0.1:3095]
    #[arg(long, env = "MCP_ALL_IN_ONE_SERVER", value_name = "URL")]
    server: Option<String>,
    /// A key or token to sign in with
    #[arg(long, env = "MCP_ALL_IN_ONE_TOKEN", hide_env_values = true, value_name = "TOKEN", value_parser = super::secret)]
    token: Option<Secret>,
}

/// The most bytes of one event.
const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// Where `serve` listens unless told otherwise.
const DEFAULT: &str = "http://127.0.0.1:3095";

impl Remote {
    pub(super) fn at(server: String, token: Option<Secret>) -> Self {
        Self { server: Some(server), token }
    }

    /// Whether somebody means a server: none answers without a key.
    pub(super) fn is_meant(&self) -> bool {
        self.server.is_some() || self.token.is_some()
    }

    /// Where it is.
    pub(super) fn server(&self) -> &str {
        self.server.as_deref().unwrap_or(DEFAULT)
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.send(self.client()?.get(self.url(path))).await
    }

    pub(super) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Value, Failure> {
        self.send(self.client()?.post(self.url(path)).json(body)).await
    }

    /// Posts and hands over events as they come, by name, until the last one, `end`, which is the result.
    pub(super) async fn follow(
        &self,
        path: &str,
        body: &Value,
        mut heard: impl FnMut(&str, &Value),
    ) -> Result<Value, Failure> {
        let request = self.client()?.post(self.url(path)).header(ACCEPT, "text/event-stream").json(body);
        let mut response = self.ask(request).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return self.read(response).await;
        }
        let cut = || {
            Failure::new("the server's answer was cut off").advice("look at the audit for what became of it")
        };
        let mut events = SseEvents::new(MAX_EVENT_BYTES);
        while let Some(chunk) = response.chunk().await.map_err(|error| cut().because(error.without_url()))? {
            events.push(&chunk);
            while let Some(event) = events.take().map_err(|_| cut())? {
                let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
                if event.name == "end" {
                    // What is refused in the midst of a stream is a problem there, and no result.
                    let is_refused = data["content"].is_null() && data["error"].is_object();
                    return if is_refused { Err(failure_of(&data["error"])) } else { Ok(data) };
                }
                heard(&event.name, &data);
            }
        }
        Err(cut())
    }

    pub(super) async fn put(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        self.send(self.client()?.put(self.url(path)).json(body)).await
    }

    /// What is there, or nothing.
    pub(super) async fn find(&self, path: &str) -> Result<Option<Value>, Failure> {
        let response = self.ask(self.client()?.get(self.url(path))).await?;
        match response.status() {
            http::StatusCode::NOT_FOUND => Ok(None),
            _ => self.read(response).await.map(Some),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}/api/v1{path}", self.server().trim_end_matches('/'))
    }

    fn client(&self) -> Result<Client, Failure> {
        // Calls end by their own deadline; this one is for a server that hangs.
        let client =
            Client::builder().connect_timeout(Duration::from_secs(10)).timeout(Duration::from_secs(3700));
        client.build().map_err(|error| Failure::new("no HTTP client can be made").because(error))
    }

    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failure> {
        let response = self.ask(request).await?;
        self.read(response).await
    }

    async fn ask(&self, mut request: RequestBuilder) -> Result<Response, Failure> {
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        request.send().await.map_err(|error| {
            Failure::new(format!("the server at {} cannot be reached", self.server()))
                .because(error.without_url())
                .advice("start one with 'mcp-all-in-one serve', or name another with --server")
        })
    }

    async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, Failure> {
        let status = response.status();
        let no_json = || Failure::new(format!("{} answered {status}, but no JSON", self.server()));
        let advice = "is that an mcp-all-in-one server?";
        let body = response.bytes().await;
        let body = body.map_err(|error| no_json().because(error.without_url()).advice(advice))?;
        let wrong = |error: serde_json::Error| no_json().because(error).advice(advice);
        if status.is_success() {
            return serde_json::from_slice(&body).map_err(wrong);
        }
        let body: Value = serde_json::from_slice(&body).map_err(wrong)?;
        let failure = failure_of(&body);
        if status == http::StatusCode::UNAUTHORIZED {
            return Err(failure.advice("sign in with --token or MCP_ALL_IN_ONE_TOKEN"));
        }
        Err(failure)
    }
}

/// What a problem says.
fn failure_of(problem: &Value) -> Failure {
    let detail = problem["detail"].as_str().unwrap_or("no reason given");
    let code = problem["code"].as_str().unwrap_or("unknown");
    Failure::new(format!("{detail} ({code})"))
}
