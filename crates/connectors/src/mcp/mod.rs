//! `mcp://`: the tools of another MCP server, relayed untouched.

mod auth;
mod client;
mod connection;
mod eras;
mod failure;
mod library;
mod listen;
mod oauth;
mod pages;
mod questions;
mod session;
mod settings;
mod state;
mod target;
#[cfg(test)]
mod tests;
mod tools;
mod watched;
mod web;
mod words;

pub use oauth::login::Login;
pub(crate) use settings::Settings;

use ::mcp::client::About;
use async_trait::async_trait;
use client::Repeat;
use eras::ServerClients;
use questions::{Params, as_question, converse};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, broadcast, watch};
use tokio_util::sync::DropGuard;
use tool::{
    Call, Connector, Context, Error, InputRequest, Library, LogEntry, Outcome, Output, Pinning, Result, Tool,
};
use tools::Tools;

/// One MCP server: its connection, and what it offers.
struct Mcp {
    clients: ServerClients,
    tools: Arc<Tools>,
    /// Its name stands before the names of its tools and prompts.
    is_prefixed: bool,
    permits: Option<Semaphore>,
    /// Of one call.
    timeout: Duration,
    pinning: Pinning,
    /// Ends the connection with us.
    _closing: DropGuard,
}

#[async_trait]
impl Connector for Mcp {
    async fn tools(&self, cx: &Context) -> Result<Vec<Tool>> {
        let known = self.tools.get(&self.within(cx, None), &self.clients.main).await?;
        Ok(known.values().map(|known| known.tool.clone()).collect())
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let cx = &self.within(cx, call.options.attempt_timeout());
        let _permit = self.admit(cx).await?;
        let known = self.tools.get(cx, &self.clients.main).await?;
        let Some(known) = known.get(&call.tool) else {
            return Err(Error::not_found(format!(
                "the MCP server '{}' has no tool '{}'",
                self.clients.main.name(),
                call.tool
            )));
        };
        let headers = match known.header_params.is_empty() {
            true => Vec::new(),
            false => known.header_params.values(call.arguments.as_value()?),
        };
        let about = About { name: Some(&call.tool), params: &headers };
        let params = Params::new(call.extras).with_meta(cx).with_text("name", &call.tool);
        let params = params.with("arguments", call.arguments.to_raw());
        let client = self.clients.suiting(cx).await;
        let result = converse(cx, client, "tools/call", about, params, Repeat::Unsent).await?;
        match as_question(&result) {
            Some(request) => Ok(Outcome::NeedsInput(InputRequest { original: Some(result), ..request })),
            None => Ok(Outcome::Done(Output::relayed(result).map_err(|error| client.blamed(&error))?)),
        }
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        let cx = &self.within(cx, None);
        self.clients.main.ping(cx).await
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.tools.changes())
    }

    fn library(&self) -> Option<&dyn Library> {
        Some(self)
    }

    fn logs(&self) -> Option<broadcast::Receiver<LogEntry>> {
        Some(self.clients.main.watched().logs())
    }

    fn is_prefixed(&self) -> bool {
        self.is_prefixed
    }

    fn pinning(&self) -> Pinning {
        self.pinning
    }
}

impl Mcp {
    /// The caller's context, for no longer than the service's time-out.
    fn within(&self, cx: &Context, wanted: Option<Duration>) -> Context {
        let time = wanted.map_or(self.timeout, |wanted| wanted.min(self.timeout));
        cx.for_at_most(time)
    }

    async fn admit(&self, cx: &Context) -> Result<Option<tokio::sync::SemaphorePermit<'_>>> {
        let Some(permits) = &self.permits else { return Ok(None) };
        let permit = self.clients.main.within(cx, permits.acquire()).await?;
        permit.map(Some).map_err(|_| Error::internal("no permits"))
    }
}
