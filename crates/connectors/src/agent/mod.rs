//! `agent://`: a model with instructions and the tools that it may call, itself a tool.

mod approval;
mod binding;
mod guardrails;
mod limits;
mod model;
mod output_check;
mod provider;
mod run;
mod settings;
#[cfg(test)]
mod tests;
mod uses;
mod words;

pub(crate) use settings::Settings;

use approval::Approval;
use async_trait::async_trait;
use binding::{Binding, Handoff};
use gotemplate::Template;
use guardrails::Guardrails;
use limits::{LimitSettings, PriceSettings};
use model::{Model, Parameters};
use output_check::OutputCheck;
use serde_json::{Map, json};
use settings::RunAs;
use std::sync::{Arc, Weak};
use tool::definition::object_schema;
use tool::{Call, CallTools, Connector, Context, Error, Outcome, Result, Tool};

/// The one tool of every agent.
const ASK: &str = "ask";

/// One agent.
#[derive(Debug)]
struct Agent {
    id: String,
    description: Option<String>,
    model: Model,
    parameters: Parameters,
    instructions: Template,
    bindings: Vec<Binding>,
    handoffs: Vec<Handoff>,
    output: Option<OutputCheck>,
    parallel: usize,
    approval: Approval,
    price: Option<PriceSettings>,
    run_as: RunAs,
    guardrails: Arc<Guardrails>,
    limits: LimitSettings,
    tools: Weak<dyn CallTools>,
}

#[async_trait]
impl Connector for Agent {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        let description = self.description.as_deref().filter(|text| !text.trim().is_empty());
        let description = description.map_or_else(|| format!("Asks the agent '{}'", self.id), str::to_owned);
        let properties = Map::from_iter([
            (
                "prompt".to_owned(),
                json!({ "type": "string", "minLength": 1, "description": "What is asked." }),
            ),
            (
                "context".to_owned(),
                json!({ "description": "What the agent should know beside the prompt: any JSON, given to it as data." }),
            ),
        ]);
        let schema = object_schema(properties, vec!["prompt".to_owned()]);
        Ok(vec![Tool::new(ASK, description, &schema)?])
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        if call.tool != ASK {
            return Err(Error::not_found(format!("the agent has no tool '{}'; it has '{ASK}'", call.tool)));
        }
        if call.options.is_async == Some(true) {
            let message = "agents answer while they are waited for; leave the option 'async' out";
            return Err(Error::unsupported(message));
        }
        run::ask(self, cx, call.arguments.as_map()?).await.map(Outcome::Done)
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        match &self.model {
            Model::Http(client) => client.probe(cx).await,
            // Whether its client has a model is known when it calls.
            Model::Calling(_) => Ok(()),
        }
    }
}
