//! `agent://`: a model with instructions and the tools that it may call, itself a tool.

mod approval;
mod asking;
mod background;
mod binding;
mod guardrails;
mod in_place;
mod limits;
mod model;
mod names;
mod output_check;
mod provider;
mod run;
mod settings;
#[cfg(test)]
mod tests;
mod uses;
mod words;

pub(crate) use settings::Settings;

use approval::{Approval, ApprovalBy};
use async_trait::async_trait;
use binding::{Binding, Handoff};
use gotemplate::Template;
use guardrails::Guardrails;
use limits::{ConversationSettings, LimitSettings, PriceSettings};
use model::{Model, Parameters};
use output_check::OutputCheck;
use serde_json::{Map, json};
use settings::RunAs;
use std::sync::{Arc, Weak};
use tool::definition::object_schema;
use tool::{
    Call, CallTools, Client, Connector, Context, Error, Outcome, Pattern, Result, RunKind, Runs, Tool,
};

/// The one tool of every agent.
const ASK: &str = "ask";

/// One agent.
#[derive(Debug)]
struct Agent {
    id: String,
    description: Option<String>,
    model: Arc<Model>,
    parameters: Parameters,
    instructions: Template,
    bindings: Vec<Binding>,
    handoffs: Vec<Handoff>,
    output: Option<OutputCheck>,
    parallel: usize,
    approval: Approval,
    approval_by: ApprovalBy,
    approval_ttl_s: u64,
    price: Option<PriceSettings>,
    run_as: RunAs,
    guardrails: Arc<Guardrails>,
    limits: LimitSettings,
    conversations: ConversationSettings,
    tools: Weak<dyn CallTools>,
    runs: Option<Arc<dyn Runs>>,
}

impl Agent {
    /// A run of it can wait for somebody, and go on without its caller. The caller's own model is there as long as the
    /// call, unless its program takes questions as the outcome and comes back with the answers.
    fn can_wait(&self, cx: &Context) -> bool {
        let samples = || cx.client.as_deref().is_some_and(Client::samples_as_outcome);
        self.runs.is_some() && (matches!(*self.model, Model::Http(_)) || samples())
    }
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
            (
                "conversation".to_owned(),
                json!({
                    "type": "string",
                    "description": "Keeps what is said: \"new\", or the id of a conversation to go on with."
                }),
            ),
            (
                "run".to_owned(),
                json!({ "type": "string", "description": "Instead of a prompt: the id of a run to wait for." }),
            ),
        ]);
        let schema = object_schema(properties, Vec::new());
        Ok(vec![Tool::new(ASK, description, &schema)?])
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        if call.tool != ASK {
            return Err(Error::not_found(format!("the agent has no tool '{}'; it has '{ASK}'", call.tool)));
        }
        match in_place::given(cx) {
            Some(given) => self.in_place(&given)?.answer(cx, &call).await,
            None => self.answer(cx, &call).await,
        }
    }

    fn uses(&self) -> Vec<Pattern> {
        let handoffs = self.handoffs.iter().map(|handoff| Pattern(handoff.to.to_string()));
        self.bindings.iter().map(Binding::pattern).chain(handoffs).collect()
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        match &*self.model {
            Model::Http(client) => client.probe(cx).await,
            // Whether its client has a model is known when it calls.
            Model::Calling(_) => Ok(()),
        }
    }

    fn run_kind(&self) -> Option<RunKind> {
        Some(RunKind::Agent)
    }
}

impl Agent {
    /// What comes of a call of its tool.
    async fn answer(&self, cx: &Context, call: &Call) -> Result<Outcome> {
        let arguments = call.arguments.as_map()?;
        if let Some(state) = call.extras.get(asking::STATE) {
            return background::go_on(self, cx, arguments, state, &call.extras).await;
        }
        if arguments.contains_key("run") {
            return background::wait_for(self, cx, arguments).await;
        }
        let is_async = call.options.is_async == Some(true);
        let is_said = arguments.get("conversation").is_some_and(|id| !id.is_null());
        // A flow that is taken up again calls with the same key, and has to find the run that it began.
        let is_of_flow = background::is_of_flow(cx) && self.can_wait(cx);
        if (is_async || is_said || is_of_flow) && !background::is_kept(cx) {
            return background::start(self, cx, arguments, is_async).await;
        }
        run::ask(self, cx, arguments).await
    }
}
