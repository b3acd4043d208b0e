//! HTTP services: the requests of tools, each to the instance whose turn it is.

use super::fleet::{Fleet, Picked, Unreached};
use super::instance::Instance;
use crate::shared::breaker::TimeSetBy;
use crate::shared::http_tools::{Client, Definition, Transport, Turn};
use crate::shared::network::{self, DialError, Policy};
use crate::shared::unreachable::explain;
use fetch::http::HeaderValue;
use fetch::http::header::HOST;
use fetch::{Request, Response, Url};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tool::{Call, Context, Error, Output, Result, Tool};

/// The tools of an HTTP service.
#[derive(Debug)]
pub(super) struct Http {
    pub(super) client: Client<Balanced>,
    pub(super) tools: BTreeMap<String, Definition>,
}

impl Http {
    pub(super) fn tools(&self) -> Result<Vec<Tool>> {
        self.tools.values().map(Definition::to_annotated_tool).collect()
    }

    /// Runs a tool, and says who set the time that it had.
    pub(super) async fn call(&self, cx: &Context, call: &Call) -> (Result<Output>, TimeSetBy) {
        let Some(definition) = self.tools.get(&call.tool) else {
            let message = format!("the service has no tool '{}'", call.tool);
            return (Err(Error::not_found(message)), TimeSetBy::Caller);
        };
        match self.client.prepare(cx, definition, call) {
            Ok(prepared) => (self.client.run(cx, &prepared).await, prepared.time_set_by),
            Err(error) => (Err(error), TimeSetBy::Caller),
        }
    }

    pub(super) fn fleet(&self) -> &Fleet {
        &self.client.way().fleet
    }

    /// Whether one instance takes connections.
    pub(super) async fn health(&self, cx: &Context) -> Result<()> {
        self.client.way().connect(cx).await
    }
}

/// The way to whichever instance serves next.
#[derive(Debug)]
pub(super) struct Balanced {
    pub(super) fleet: Fleet,
    pub(super) http: fetch::Client,
    pub(super) policy: Arc<Policy>,
    /// What instances are called, where they are known by their addresses.
    pub(super) server_name: Option<HeaderValue>,
}

impl Balanced {
    async fn send_to(&self, instance: &Instance, request: &Request) -> Result<Response, Unreached> {
        let mut request = request.clone();
        turn_to(&mut request.url, instance).map_err(Unreached::Broken)?;
        if let Some(name) = &self.server_name {
            request.headers.insert(HOST, name.clone());
        }
        self.policy.check(&request.url).map_err(Unreached::NotConnected)?;
        self.http.send(request).await.map_err(|error| {
            let is_unsent = error.is_connect() || error.is_resolve();
            match is_unsent {
                true => Unreached::NotConnected(about(instance, explain(error))),
                false => Unreached::Broken(about(instance, explain(error))),
            }
        })
    }

    async fn connect(&self, cx: &Context) -> Result<()> {
        self.fleet.health(cx).await?;
        let policy = &self.policy;
        let connected = self.fleet.reach(cx, None, |instance| async move {
            network::dial(&instance.host, instance.port, policy).await.map_err(|error| {
                let unavailable = |message: &str| {
                    Unreached::NotConnected(about(&instance, Error::unavailable(message).retryable()))
                };
                match error {
                    DialError::Refused(refused) => Unreached::NotConnected(about(&instance, refused)),
                    DialError::Unresolved(_) => unavailable("the instance's name cannot be resolved"),
                    DialError::Unconnected(_) => unavailable("the instance cannot be connected to"),
                }
            })
        });
        let connected = cx.within(connected).await;
        let late = "the service's instances did not take a connection in time";
        let (_stream, picked) = connected.unwrap_or_else(|ended| Err(ended.error(late)))?;
        picked.judge(None);
        Ok(())
    }
}

impl Transport for Balanced {
    type Turn = Picked;

    const CREDENTIALS: &'static str = "'auth'";

    async fn send(
        &self,
        cx: &Context,
        request: &Request,
        patience: Option<Duration>,
    ) -> Result<(Response, Picked)> {
        let send = |instance: Arc<Instance>| async move { self.send_to(&instance, request).await };
        self.fleet.reach(cx, patience, send).await
    }
}

impl Turn for Picked {
    fn end(self, error: Option<&Error>) {
        self.judge(error);
    }
}

/// Writes the instance into the address of a request.
fn turn_to(url: &mut Url, instance: &Instance) -> Result<()> {
    let is_set = match instance.host.parse::<IpAddr>() {
        Ok(address) => url.set_ip_host(address).is_ok(),
        Err(_) => url.set_host(Some(&instance.host)).is_ok(),
    };
    match is_set && url.set_port(Some(instance.port)).is_ok() {
        true => Ok(()),
        false => Err(Error::unavailable(format!("'{instance}' is no address that can be asked"))),
    }
}

/// Says which instance it was.
fn about(instance: &Instance, error: Error) -> Error {
    error.with("instance", instance)
}
