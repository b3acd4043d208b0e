//! Where a server is, and how a connection to it is made.

use super::oauth::OAuth;
use super::web::Web;
use fetch::Url;
use fetch::http::HeaderMap;
use mcp::client::transport::http::Address;
use mcp::client::transport::stdio::Command;
use mcp::client::{Client, Failure, Notification, Options, Target as Endpoint};
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc;
use tool::{Context, Secret};
use tracing::warn;

/// A connection, and where it comes out what the server says unasked.
pub(super) type Connected = (Client, mpsc::Receiver<Notification>);

/// Where a service leads.
pub(super) struct Target {
    /// The service's id, where it has one.
    pub(super) service: Option<String>,
    pub(super) server: Server,
}

/// A server, as its settings name it.
pub(super) enum Server {
    Local(Command),
    Remote(Box<Remote>),
}

/// How a URL is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Http,
    Sse,
    Ws,
    /// Found out with the first connection: Streamable HTTP, else SSE.
    Unknown,
}

/// A server at a URL.
pub(super) struct Remote {
    url: Url,
    headers: HeaderMap,
    secrets: Vec<Secret>,
    route: Route,
    web: Arc<Web>,
    oauth: Option<Arc<OAuth>>,
    /// What an unknown route has turned out to be.
    found: OnceLock<Route>,
}

impl Remote {
    pub(super) fn new(
        url: Url,
        headers: HeaderMap,
        secrets: Vec<Secret>,
        route: Route,
        web: Arc<Web>,
        oauth: Option<Arc<OAuth>>,
    ) -> Self {
        Self { url, headers, secrets, route, web, oauth, found: OnceLock::new() }
    }
}

impl Target {
    /// The server in an error: the service, or else its program or its host, and nothing that may be secret.
    pub(super) fn name(&self) -> &str {
        if let Some(service) = &self.service {
            return service;
        }
        match &self.server {
            Server::Local(command) => command.program.rsplit('/').next().unwrap_or(&command.program),
            Server::Remote(remote) => remote.url.host_str().unwrap_or_default(),
        }
    }

    /// Each request stands for itself there, so that a server may take those of both eras side by side.
    pub(super) fn may_speak_both(&self) -> bool {
        match &self.server {
            Server::Local(_) => false,
            Server::Remote(remote) => matches!(remote.route, Route::Http | Route::Unknown),
        }
    }

    /// Texts that must not show, whatever the server says.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &str> {
        let (env, headers) = match &self.server {
            Server::Local(command) => (&command.env[..], &[][..]),
            Server::Remote(remote) => (&[][..], &remote.secrets[..]),
        };
        env.iter().map(|(_, value)| value).chain(headers).map(Secret::expose)
    }

    /// The sign-in that fetches its tokens, where there is one.
    pub(super) fn oauth(&self) -> Option<&Arc<OAuth>> {
        match &self.server {
            Server::Local(_) => None,
            Server::Remote(remote) => remote.oauth.as_ref(),
        }
    }

    /// Does something at the server, signed in as it demands.
    pub(super) async fn signed<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        cx: &Context,
        attempt: impl Fn() -> F,
    ) -> Result<T, Failure> {
        match self.oauth() {
            // Boxed, as what is rare must not make the future of every call large.
            Some(oauth) => Box::pin(oauth.signed(cx, attempt)).await,
            None => attempt().await,
        }
    }

    /// What to look at when the server does not let us in.
    pub(super) fn auth_advice(&self) -> String {
        match &self.server {
            Server::Local(command) => {
                let empty = command.env.iter().filter(|(_, value)| value.expose().trim().is_empty());
                let names: Vec<_> = empty.map(|(name, _)| name.as_str()).collect();
                match names.is_empty() {
                    true => "check the keys in 'env'".to_owned(),
                    false => format!("these variables in 'env' are empty: {}", names.join(", ")),
                }
            }
            Server::Remote(remote) if remote.oauth.is_some() => {
                "the token that it was shown is not enough for that".to_owned()
            }
            Server::Remote(remote) => {
                let names: Vec<_> = remote.headers.keys().map(|name| name.as_str()).collect();
                match names.is_empty() {
                    true => "no key is sent; set 'api_key' or 'headers'".to_owned(),
                    false => format!("check the value of the header {}", names.join(", ")),
                }
            }
        }
    }

    pub(super) async fn connect(&self, cx: &Context, options: &Options) -> Result<Connected, Failure> {
        self.signed(cx, || self.connect_as_is(cx, options)).await
    }

    async fn connect_as_is(&self, cx: &Context, options: &Options) -> Result<Connected, Failure> {
        let connect = async |endpoint: Endpoint| Client::connect(cx, &endpoint, options).await;
        let remote = match &self.server {
            Server::Local(command) => return connect(Endpoint::Stdio(command.clone())).await,
            Server::Remote(remote) => remote,
        };
        remote.web.check(&remote.url)?;
        let route = remote.found.get().copied().unwrap_or(remote.route);
        match route {
            Route::Ws => connect(Endpoint::Ws(remote.address())).await,
            Route::Http => connect(Endpoint::Http(remote.address())).await,
            Route::Sse => connect(Endpoint::Sse(remote.address())).await,
            Route::Unknown => {
                let address = remote.address();
                let (client, found) = match connect(Endpoint::Http(address.clone())).await {
                    Ok(client) => (client, Route::Http),
                    // Whoever does not take a POST there may be of the older kind.
                    Err(first @ Failure::Status { status: 400..=499, .. }) => {
                        (connect(Endpoint::Sse(address)).await.map_err(|_| first)?, Route::Sse)
                    }
                    Err(failure) => return Err(failure),
                };
                let kind = if found == Route::Sse { "sse" } else { "http" };
                warn!(
                    server = self.name(),
                    kind, "an MCP server's type was found by trying; write it down as 'type'"
                );
                let _ = remote.found.set(found);
                Ok(client)
            }
        }
    }
}

impl Remote {
    fn address(&self) -> Address {
        let (url, headers, client) = (self.url.clone(), self.headers.clone(), self.web.client().clone());
        Address { url, headers, authorization: self.oauth.as_ref().map(|oauth| oauth.header()), client }
    }
}
