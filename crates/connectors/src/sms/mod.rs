//! `sms://`: short messages to telephones, through the gateway of a vendor or into a file.

mod cause;
mod file;
mod gateway;
mod hidden;
mod number;
mod send;
mod settings;
mod sign;
#[cfg(test)]
mod tests;
mod tools;
mod vendors;
mod wording;
mod words;

pub(crate) use settings::Settings;

use crate::shared::attempts::Backoff;
use crate::shared::bounds::Bounds;
use crate::shared::sending::Pace;
use crate::shared::sending::once::Keys;
use async_trait::async_trait;
use gateway::Gateway;
use settings::Provider;
use std::sync::Arc;
use tool::{Call, Connector, Context, Error, Outcome, Result, Tool};
use tools::SmsTool;

/// One gateway, and the tools over it.
struct Sms {
    gateway: Arc<dyn Gateway>,
    bounds: Bounds,
    provider: Provider,
    tools: Vec<SmsTool>,
    country_code: String,
    max_recipients: usize,
    /// How often a request is made that surely sent nothing.
    attempts: u32,
    backoff: Backoff,
    pace: Option<Pace>,
    /// Its own id, for keys.
    service: Option<String>,
    keys: Keys,
}

#[async_trait]
impl Connector for Sms {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        self.tools.iter().map(|tool| tool.definition(self.provider, self.max_recipients)).collect()
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let tool = self.tools.iter().find(|tool| tool.id == call.tool);
        let tool =
            tool.ok_or_else(|| Error::not_found(format!("the service has no tool '{}'", call.tool)))?;
        self.send(cx, tool, &call).await.map(Outcome::Done)
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        let work = self.gateway.probe();
        self.bounds.within(cx, &Default::default(), "the SMS gateway did not answer in time", work).await
    }
}
