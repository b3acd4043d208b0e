//! `api://`: any HTTP API as tools, configured instead of coded.

mod client;
mod endpoint;
mod error_template;
mod form;
mod inline;
pub(crate) mod openapi;
mod parameter_settings;
mod parameters;
mod places;
mod plain_schema;
mod redirect;
mod request;
mod response;
mod settings;
#[cfg(test)]
mod tests;
mod tools;
mod value_schema;

pub(crate) use settings::Settings;

use async_trait::async_trait;
use client::Client;
use serde_json::Value;
use std::collections::BTreeMap;
use tool::{Call, Connector, Context, Error, Outcome, Result, Tool};
use tools::Definition;

/// One API: its client, and its tools by name.
struct Api {
    client: Client,
    tools: BTreeMap<String, Definition>,
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
        let output = self.client.call(cx, definition, &call).await?;
        Ok(Outcome::Done(output))
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        self.client.probe(cx).await
    }
}

/// A value as it stands in a path, a query string or a header. A whole number is one there, even if a model has
/// written it as `5.0` or `1e3`.
fn text_of(value: &Value) -> String {
    /// Up to here every whole number is exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float.fract() == 0.0 && float.abs() <= EXACT => format!("{:.0}", float + 0.0),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}
