//! A gateway with agents and one HTTP API, and an audit in memory.

use async_trait::async_trait;
use gateway::audit::{Audit, Entry, Sink};
use gateway::{Gateway, Options, ServiceDefinition, TenantDefinition};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::http::Server;
use testkit::model::Model;
use tool::{
    Ability, Arguments, Caller, Client, Context, Door, Env, EventReceiver, Events, Identity, KeyId, Outcome,
    Pattern, Question, QuestionMode, Request, Result, Role, Target, TenantId,
};

#[derive(Debug, Default)]
struct Records(Mutex<Vec<Entry>>);

#[async_trait]
impl Sink for Records {
    async fn write(&self, batch: &[Entry]) -> Result<()> {
        self.0.lock().unwrap().extend_from_slice(batch);
        Ok(())
    }
}

pub struct World {
    pub gateway: Arc<Gateway>,
    pub api: Server,
    records: Arc<Records>,
}

impl World {
    /// A world with these agents, by id, and `api://crm`.
    pub async fn with(agents: Vec<(&str, Value)>) -> Self {
        Self::with_services(agents.into_iter().map(|(id, settings)| ("agent", id, settings)).collect()).await
    }

    /// A world with these services, by type and id, and `api://crm`.
    pub async fn with_services(more: Vec<(&str, &str, Value)>) -> Self {
        let (api, records) = (Server::start().await, Arc::new(Records::default()));
        let gateway = Gateway::new(
            connectors::REGISTRY,
            Env::default(),
            Audit::start(records.clone()),
            Options::default(),
        );
        let mut services = vec![service("api", "crm", crm(&api))];
        services.extend(more.into_iter().map(|(scheme, id, settings)| service(scheme, id, settings)));
        let definition = TenantDefinition {
            tool_search: None,
            id: TenantId::default_tenant(),
            limits: Default::default(),
            may_use_private_network: true,
            services,
            tools: Vec::new(),
            instances: Vec::new(),
        };
        gateway.load(definition).await.ended().await;
        Self { gateway, api, records }
    }

    /// Asks as the owner of the machine.
    pub async fn ask(&self, agent: &str, arguments: Value) -> Result<Value> {
        self.ask_as(&context(Caller::local()), agent, arguments).await
    }

    /// The result as clients get it.
    pub async fn ask_as(&self, cx: &Context, agent: &str, arguments: Value) -> Result<Value> {
        let target = Target::Uri(format!("agent://{agent}").parse().unwrap());
        let arguments = Arguments::from(arguments.as_object().cloned().unwrap());
        match self.gateway.call(cx, Request::new(target, arguments)).await? {
            Outcome::Done(output) => Ok(serde_json::from_str(&output.to_complete_result()).unwrap()),
            other => panic!("agents answer at once, not {other:?}"),
        }
    }

    /// Asks, and gives the reason why the run failed.
    pub async fn reason(&self, agent: &str, arguments: Value) -> String {
        match self.ask(agent, arguments).await {
            Err(error) => error.reason().and_then(tool::Reason::code).unwrap_or_default().to_owned(),
            Ok(result) => {
                assert_eq!(result["isError"], true, "{result}");
                result["structuredContent"]["error"]["reason"].as_str().unwrap_or_default().to_owned()
            }
        }
    }

    /// How a run failed, as clients are told.
    pub async fn failure(&self, cx: &Context, agent: &str, arguments: Value) -> Value {
        let result = self.ask_as(cx, agent, arguments).await.unwrap();
        assert_eq!(result["isError"], true, "{result}");
        result["structuredContent"]["error"].clone()
    }

    /// What the audit has.
    pub async fn records(&self) -> Vec<Entry> {
        self.gateway.audit().flush(Duration::from_secs(5)).await;
        self.records.0.lock().unwrap().clone()
    }
}

fn service(scheme: &str, id: &str, settings: Value) -> ServiceDefinition {
    ServiceDefinition {
        scheme: scheme.to_owned(),
        id: id.to_owned(),
        name: id.to_owned(),
        settings,
        is_enabled: true,
        is_trusted: false,
        variables: Vec::new(),
        problem: None,
        built_in: None,
        version: 1,
        made_at_ms: Some(1),
    }
}

fn crm(api: &Server) -> Value {
    let parameter =
        |name: &str, required: bool| json!({ "name": name, "required": required, "position": "query" });
    json!({
        "base_url": api.url(),
        "allow_private_network": true,
        "tools": [
            { "id": "echo", "description": "Says back.", "endpoint": "/echo", "method": "GET",
                "parameters": [parameter("text", false), parameter("customer", false)] },
            { "id": "count", "description": "Takes a number.", "endpoint": "/count", "method": "GET",
                "parameters": [{ "name": "n", "parameter_type": "Number", "position": "query" },
                    parameter("text", false)] },
            { "id": "must", "description": "Needs a text.", "endpoint": "/must", "method": "GET",
                "parameters": [parameter("text", true)] },
            { "id": "remove", "description": "Removes.", "endpoint": "/remove", "method": "DELETE", "parameters": [] },
            { "id": "send", "description": "Sends.", "endpoint": "/send", "method": "POST",
                "parameters": [parameter("text", false)] },
            { "id": "slow", "description": "Takes 300 ms.", "endpoint": "/slow/300", "method": "GET",
                "parameters": [parameter("n", false)] },
            { "id": "hang", "description": "Takes a minute.", "endpoint": "/slow/60000", "method": "GET", "parameters": [] },
            { "id": "raw", "description": "Bytes.", "endpoint": "/raw", "method": "GET",
                "parameters": [parameter("base64", true), parameter("type", true)] },
        ]
    })
}

/// Settings of an agent with this model and these more.
pub fn agent(model: &Model, more: Value) -> Value {
    let mut settings = json!({
        "provider": "openai", "base_url": model.url(), "api_key": "sk-hunter2hunter2", "model": "m-1",
        "allow_private_network": true,
        "retry": { "initial_delay_ms": 1, "max_delay_ms": 5 },
    });
    let Value::Object(more) = more else { panic!("{more} is no object") };
    more.into_iter().for_each(|(name, value)| settings[name] = value);
    settings
}

pub fn context(caller: Caller) -> Context {
    Context::new(TenantId::default_tenant(), Arc::new(caller), Door::Mcp, Duration::from_secs(30))
}

/// A key that may call these.
pub fn key(allow: &[&str]) -> Caller {
    Caller {
        identity: Identity::Key(KeyId::generate()),
        name: "ci".into(),
        role: Role::Caller,
        allow: allow.iter().map(|pattern| Pattern((*pattern).to_owned())).collect(),
        ..Caller::local()
    }
}

/// The same context with somebody who listens.
pub fn heard(mut cx: Context) -> (Context, EventReceiver) {
    let (events, rx) = Events::channel(1000);
    cx.events = events;
    (cx, rx)
}

/// A client that answers everything in the same way, and remembers what it was asked.
#[derive(Debug)]
pub struct Answering {
    capabilities: Box<RawValue>,
    answers: Mutex<Vec<Box<RawValue>>>,
    pub asked: Mutex<Vec<Value>>,
}

impl Answering {
    /// One that declares these abilities and gives these answers, one after another.
    pub fn new(capabilities: &Value, answers: Vec<Value>) -> Arc<Self> {
        Self::in_words(
            capabilities,
            answers.into_iter().map(|answer| to_raw_value(&answer).unwrap()).collect(),
        )
    }

    /// The same with answers as they are written.
    pub fn in_words(capabilities: &Value, answers: Vec<Box<RawValue>>) -> Arc<Self> {
        let capabilities = to_raw_value(capabilities).unwrap();
        Arc::new(Self { capabilities, answers: Mutex::new(answers), asked: Mutex::default() })
    }
}

#[async_trait]
impl Client for Answering {
    fn capabilities(&self) -> &RawValue {
        &self.capabilities
    }

    fn session(&self) -> &str {
        "s"
    }

    fn can(&self, ability: Ability) -> bool {
        let declared: Value = serde_json::from_str(self.capabilities.get()).unwrap();
        declared.get(ability.as_str()).is_some()
    }

    fn question_mode(&self) -> QuestionMode {
        QuestionMode::DuringCall
    }

    async fn ask(&self, _: &Context, question: Question) -> Result<Box<RawValue>> {
        self.asked.lock().unwrap().push(serde_json::from_str(question.params.unwrap().get()).unwrap());
        Ok(self.answers.lock().unwrap().remove(0))
    }
}
