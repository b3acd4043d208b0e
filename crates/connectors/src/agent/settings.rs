//! The settings of an agent: what may be written, and what is wrong with what was.

use super::Agent;
use super::approval::{Approval, ApprovalBy};
use super::binding::{HandoffSettings, ToolSettings, check_handoffs, check_tools};
use super::guardrails::{GuardrailSettings, Guardrails};
use super::limits::{ConversationSettings, LimitSettings, PriceSettings, RetryOfModels};
use super::model::{Client, Model, Parameters, Sampling};
use super::names::check_names;
use super::output_check::OutputCheck;
use super::provider::{FallbackSettings, Provider, check_endpoint};
use crate::shared::headers::check_headers;
use crate::shared::network::{AllowPrivateNetwork, Policy, Resolver, allow_private_network_schema};
use fetch::Tls;
use gotemplate::{Missing, Template};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tool::connector::invalid_settings;
use tool::secret::names::headers_schema;
use tool::{
    Caller, CallerHeaders, Connector, Context, Env, Pattern, Problem, Result, Role, RunKind, Secret, Use,
};

/// The most tools and patterns of tools, as the schema says.
const MAX_TOOLS: usize = 128;
const MAX_FALLBACKS: usize = 3;

/// A model with instructions and the tools that it may call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// What the agent is for: callers read it.
    #[serde(default)]
    pub(super) description: Option<String>,
    /// Who runs the model: `openai` and all that speak its language, `anthropic`, `gemini`, `ollama` on this machine, or
    /// `client`, the model of the MCP client that calls.
    #[schemars(extend("x-address" = true))]
    pub(super) provider: Provider,
    /// Where the model is, e.g. `https://api.openai.com/v1`; the version at its end may be left out. The provider's own
    /// address unless given.
    #[serde(default)]
    #[schemars(extend("x-address" = true))]
    pub(super) base_url: Option<String>,
    /// The provider's key.
    #[serde(default)]
    pub(super) api_key: Option<Secret>,
    /// Headers that every request to the model carries; those of `fallback` get none of them.
    #[serde(default)]
    #[schemars(schema_with = "headers_schema")]
    pub(super) headers: BTreeMap<String, String>,
    /// Private, loopback and link-local addresses are refused unless this is `true` or lists their ranges, e.g.
    /// `["127.0.0.1/32"]`.
    #[serde(default)]
    #[schemars(schema_with = "allow_private_network_schema")]
    pub(super) allow_private_network: Option<AllowPrivateNetwork>,
    /// The provider's name for the model.
    #[serde(default)]
    pub(super) model: Option<String>,
    /// How freely the model writes; the model's own unless given.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2))]
    pub(super) temperature: Option<f64>,
    /// The most tokens of one answer.
    #[serde(default = "default_output_tokens")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub(super) max_output_tokens: u32,
    /// Fields that are merged into every request to the model, not to those of `fallback`; `null` takes one out.
    #[serde(default)]
    #[schemars(schema_with = "any_fields")]
    pub(super) extra: Map<String, Value>,
    /// How long one attempt at a model call may take, in milliseconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 600_000))]
    pub(super) timeout_ms: u64,
    /// What happens when a model call fails in a way that may pass.
    #[serde(default)]
    pub(super) retry: RetryOfModels,
    /// Other models that are asked, one after another, when the first is down.
    #[serde(default)]
    #[schemars(length(max = 3))]
    pub(super) fallback: Vec<FallbackSettings>,
    /// What the model is told to do: a Go template with `.tenant`, `.agent`, `.now`, `.caller`, `.context` and `.tools`.
    #[serde(default)]
    pub(super) instructions: String,
    /// What the model may call: addresses, patterns with `*`, or objects with `uri` and more.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub(super) tools: Vec<ToolSettings>,
    /// Agents that this one may hand over to.
    #[serde(default)]
    #[schemars(length(max = 32))]
    pub(super) handoffs: Vec<HandoffSettings>,
    /// JSON Schema of the answer, which then is JSON.
    #[serde(default)]
    #[schemars(schema_with = "any_fields_or_null")]
    pub(super) output_schema: Option<Value>,
    /// How often the model may correct an answer that does not fit.
    #[serde(default = "default_output_retries")]
    #[schemars(range(min = 0, max = 10))]
    pub(super) output_retries: u32,
    /// How many calls of one answer run at once.
    #[serde(default = "default_parallel")]
    #[schemars(range(min = 1, max = 16))]
    pub(super) parallel: usize,
    /// Which calls need somebody's approval: `destructive` (tools that say so, HTTP DELETE), `never`, `writes` (all but
    /// those that only read), `after_untrusted` (all, once a result was read that is not trusted) or `always`.
    #[serde(default)]
    pub(super) approval: Approval,
    /// Who approves: the `caller`, whose client is asked or who decides while the run waits; or a `manager`, who is never
    /// the caller.
    #[serde(default)]
    pub(super) approval_by: ApprovalBy,
    /// How long a run waits for approval, in seconds; what nobody has approved by then is not done.
    #[serde(default = "default_approval_ttl")]
    #[schemars(range(min = 1, max = 2_592_000))]
    pub(super) approval_ttl_s: u64,
    /// What the model costs, in USD per million tokens.
    #[serde(default)]
    pub(super) price: Option<PriceSettings>,
    /// On whose strength tools are called: of the `caller`, or of whoever saved the `agent`.
    #[serde(default)]
    pub(super) run_as: RunAs,
    /// Rules that prompts, arguments, results and answers must keep.
    #[serde(default)]
    pub(super) guardrails: GuardrailSettings,
    /// What one run may use, handoffs and agents inside included.
    #[serde(default)]
    pub(super) limits: LimitSettings,
    /// How long and how much is kept of what is said in conversations.
    #[serde(default)]
    pub(super) conversations: ConversationSettings,
}

/// On whose strength an agent calls tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum RunAs {
    /// Of whoever calls it.
    #[default]
    Caller,
    /// Of whoever saved it.
    Agent,
}

/// The context of a call that an agent makes on the strength of whoever saved it: it reaches these, and nothing else.
pub(super) fn with_rights_to(nested: Context, allow: Vec<Pattern>) -> Context {
    let caller = Caller { role: Role::Caller, scopes: Vec::new(), allow, ..Caller::clone(&nested.caller) };
    Context { caller: Arc::new(caller), headers: CallerHeaders::default(), ..nested }
}

impl tool::Settings for Settings {
    const SCHEME: &'static str = RunKind::Agent.scheme();
    const TITLE: &'static str = "Agent";
    const FIXED_TOOLS: &'static [&'static str] = &["ask"];
    const WORDS: &'static [&'static [tool::words::Word]] =
        &[super::words::WORDS, crate::shared::words::SHARED];

    fn uses(settings: &Value) -> Vec<Use> {
        super::uses::of(settings)
    }

    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        let mut problems = Vec::new();
        let model = self.check_model(env, &mut problems);
        let instructions = check_template("instructions", &self.instructions, Missing::Error, &mut problems);
        let bindings = check_tools(&self.tools, &mut problems);
        let handoffs = check_handoffs(&self.handoffs, env.service.as_deref(), &mut problems);
        check_names(&bindings, &handoffs, &mut problems);
        let guardrails = Guardrails::check(&self.guardrails, self.run_as, &mut problems);
        let schema = self.output_schema.as_ref();
        let output = schema.map(|schema| OutputCheck::new(schema, self.output_retries, &mut problems));
        if self.limits.cost_usd.is_some() && self.price.is_none() {
            let message = "a limit of cost needs to know what the model costs; give 'price'";
            problems.push(Problem::new("limits.cost_usd", "PriceMissing", message));
        }
        let (Some(model), Some(instructions)) = (model, instructions) else {
            return Err(invalid_settings(Self::SCHEME, problems));
        };
        if !problems.is_empty() {
            return Err(invalid_settings(Self::SCHEME, problems));
        }
        Ok(Arc::new(Agent {
            id: env.service.clone().unwrap_or_else(|| "agent".to_owned()),
            description: self.description,
            model: Arc::new(model),
            parameters: Parameters {
                temperature: self.temperature,
                max_output_tokens: self.max_output_tokens,
            },
            instructions,
            bindings,
            handoffs,
            output: output.flatten(),
            parallel: self.parallel,
            approval: self.approval,
            approval_by: self.approval_by,
            approval_ttl_s: self.approval_ttl_s,
            price: self.price,
            run_as: self.run_as,
            guardrails: Arc::new(guardrails),
            limits: self.limits,
            conversations: self.conversations,
            tools: env.tools.clone(),
            runs: env.runs.clone(),
        }))
    }
}

impl Settings {
    fn check_model(&self, env: &Env, problems: &mut Vec<Problem>) -> Option<Model> {
        if self.tools.len() > MAX_TOOLS || self.fallback.len() > MAX_FALLBACKS {
            // The schema has said so.
            return None;
        }
        let policy = Arc::new(Policy::new(self.allow_private_network.as_ref(), env, problems));
        let headers = check_headers(&self.headers, "headers", problems);
        let backoff = self.retry.check(problems);
        if self.provider == Provider::Client {
            self.check_nothing_of_http(problems);
            return Some(Model::Calling(Sampling));
        }
        let first = self.as_endpoint();
        let first = check_endpoint(&first, "", problems)?.with(headers, self.extra.clone());
        let mut endpoints = vec![first];
        for (at, fallback) in self.fallback.iter().enumerate() {
            endpoints.extend(check_endpoint(fallback, &format!("fallback[{at}]."), problems));
        }
        let http = fetch::Client::new(Arc::new(Resolver(policy.clone())), Tls::default());
        Some(Model::Http(Client {
            http,
            policy,
            endpoints,
            attempts: self.retry.max_attempts,
            backoff,
            timeout: Duration::from_millis(self.timeout_ms),
        }))
    }

    fn as_endpoint(&self) -> FallbackSettings {
        FallbackSettings {
            provider: self.provider,
            base_url: self.base_url.clone(),
            api_key: self.api_key.clone(),
            model: self.model.clone(),
        }
    }

    fn check_nothing_of_http(&self, problems: &mut Vec<Problem>) {
        for (name, is_given) in [
            ("base_url", self.base_url.is_some()),
            ("api_key", self.api_key.is_some()),
            ("headers", !self.headers.is_empty()),
            ("fallback", !self.fallback.is_empty()),
            ("extra", !self.extra.is_empty()),
        ] {
            if is_given {
                let message = format!("the provider 'client' is the caller's own model; leave {name} out");
                problems.push(Problem::new(name, "NotAllowed", message));
            }
        }
    }
}

/// A template that settings hold, compiled.
pub(super) fn check_template(
    path: &str,
    source: &str,
    missing: Missing,
    problems: &mut Vec<Problem>,
) -> Option<Template> {
    let options = gotemplate::Options { missing, ..Default::default() };
    match Template::compile(path, source, &options) {
        Ok(template) => Some(template),
        Err(error) => {
            let message = format!("'{path}' is no template: {error}");
            let problem = Problem::new(path, "InvalidTemplate", message);
            problems.push(problem.at(error.line(), error.column()));
            None
        }
    }
}

fn any_fields(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": {} })
}

fn any_fields_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"], "additionalProperties": {} })
}

fn default_output_tokens() -> u32 {
    4096
}

fn default_timeout() -> u64 {
    60_000
}

pub(super) fn default_output_retries() -> u32 {
    2
}

fn default_approval_ttl() -> u64 {
    3600
}

fn default_parallel() -> usize {
    4
}
