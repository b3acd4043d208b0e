//! `api://`: any HTTP API as tools, configured instead of coded.

mod direct;
mod inline;
pub(crate) mod openapi;
mod redirect;
mod settings;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use settings::Settings;

use crate::shared::breaker::Breaker;
use crate::shared::http_tools::{Client, Definition};
use crate::shared::sign_in::Standing;
use async_trait::async_trait;
use direct::Direct;
use std::collections::BTreeMap;
use tool::{Call, Connector, Context, Error, Outcome, Result, Tool};

/// One API: its client, and its tools by name.
struct Api {
    client: Client<Direct>,
    breaker: Breaker,
    tools: BTreeMap<String, Definition>,
    standing: Standing,
}

#[async_trait]
impl Connector for Api {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        self.tools.values().map(Definition::to_tool).collect()
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let Some(definition) = self.tools.get(&call.tool) else {
            return Err(Error::not_found(format!("the service has no tool '{}'", call.tool)));
        };
        let prepared = self.client.prepare(cx, definition, &call)?;
        let pass = self.breaker.admit()?;
        let result = self.client.run(cx, &prepared).await;
        pass.judge(&result, prepared.time_set_by);
        Ok(Outcome::Done(self.standing.note_answer(result)?))
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        direct::probe(cx, &self.client).await?;
        self.standing.check()
    }

    fn trouble(&self) -> Option<String> {
        self.standing.trouble()
    }
}
