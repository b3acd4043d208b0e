//! `mcp://`: the tools of another MCP server, relayed untouched.

mod auth;
mod client;
mod failure;
mod session;
mod settings;
mod target;
#[cfg(test)]
mod tests;
mod tools;

pub(crate) use settings::Settings;

use async_trait::async_trait;
use client::{Link, Repeat};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::DropGuard;
use tool::{Call, Connector, Context, Error, Outcome, Output, Pinning, Result, Tool};
use tools::Tools;

/// One MCP server: its connection, and what it offers.
struct Mcp {
    link: Arc<Link>,
    tools: Arc<Tools>,
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
        Ok(self.tools.get(&self.within(cx, None), &self.link).await?.values().cloned().collect())
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let cx = &self.within(cx, call.options.timeout);
        let _permit = self.admit(cx).await?;
        if !self.tools.get(cx, &self.link).await?.contains_key(&call.tool) {
            return Err(Error::not_found(format!("the service has no tool '{}'", call.tool)));
        }
        let params = params(&call)?;
        let result =
            self.link.request(cx, "tools/call", Some(&call.tool), Some(&params), Repeat::Unsent).await?;
        Ok(Outcome::Done(Output::relayed(result)?))
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        let cx = &self.within(cx, None);
        self.link.ping(cx).await
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.tools.changes())
    }

    fn pinning(&self) -> Pinning {
        self.pinning
    }
}

impl Mcp {
    /// The caller's context, for no longer than the service's time-out.
    fn within(&self, cx: &Context, wanted: Option<Duration>) -> Context {
        let time = wanted.unwrap_or(self.timeout);
        Context { deadline: cx.deadline.min(Instant::now() + time), ..cx.clone() }
    }

    async fn admit(&self, cx: &Context) -> Result<Option<tokio::sync::SemaphorePermit<'_>>> {
        let Some(permits) = &self.permits else { return Ok(None) };
        let permit = self.link.within(cx, permits.acquire()).await?;
        permit.map(Some).map_err(|_| Error::internal("no permits"))
    }
}

/// The params of `tools/call`, with the arguments as they came.
fn params(call: &Call) -> Result<Box<RawValue>> {
    let name = Value::from(call.tool.as_str());
    let arguments = call.arguments.to_raw();
    let text = format!("{{\"name\":{name},\"arguments\":{}}}", arguments.get());
    RawValue::from_string(text)
        .map_err(|error| Error::internal("the params cannot be written").caused_by(error))
}
