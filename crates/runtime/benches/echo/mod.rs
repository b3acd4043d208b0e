//! A tool that answers at once.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use tool::{Call, Connector, Context, Env, Kind, Outcome, Output, Result, Settings, Tool};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Echo {}

impl Settings for Echo {
    const SCHEME: &'static str = "bench";
    const TITLE: &'static str = "Benchmark";
    fn open(self, _: &Env) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(self))
    }
}

#[async_trait]
impl Connector for Echo {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        Ok(vec![Tool::new("echo", "Says it again.", &json!({ "type": "object" }))?])
    }

    async fn call(&self, _: &Context, call: Call) -> Result<Outcome> {
        Ok(Outcome::Done(Output::json(call.arguments.to_raw())))
    }

    async fn health(&self, _: &Context) -> Result<()> {
        Ok(())
    }
}

/// The only type of service.
pub(crate) static KINDS: [Kind; 1] = [Kind::of::<Echo>()];
