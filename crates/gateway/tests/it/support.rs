//! A connector in this process, an audit in memory, and a gateway around them.

use async_trait::async_trait;
use gateway::audit::{Audit, Entry, Sink};
use gateway::{Gateway, Options, ServiceDefinition, TenantDefinition, ToolDefinition};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tool::{
    Arguments, Call, Caller, Connector, Context, Door, Env, Error, Inline, InlineTool, Kind, Limits,
    OptionalKind, Outcome, Output, Problem, Registry, Request, Result, Settings, Shape, Target, TenantId,
    Tool,
};

/// How often a connector was opened, all tests together.
pub static OPENED: AtomicUsize = AtomicUsize::new(0);

/// Lets one service that waits for it say what it offers.
pub static HEARD: Semaphore = Semaphore::const_new(0);

/// A service that answers from memory.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySettings {
    /// What `say` answers.
    #[serde(default)]
    greeting: String,
    /// Extra tools that echo.
    #[serde(default)]
    echoes: Vec<String>,
    /// What to pick from the answer of `data`.
    #[serde(default)]
    select: Option<String>,
    /// How to tell the answer of `data`.
    #[serde(default)]
    template: Option<String>,
    /// Why it cannot say what it offers.
    #[serde(default)]
    broken: Option<String>,
    /// It says what it offers when `HEARD` lets it; until then it is known to have `say`.
    #[serde(default)]
    waits: bool,
    /// How a test of it fails.
    #[serde(default)]
    test: String,
}

impl Settings for MemorySettings {
    const SCHEME: &'static str = "memory";
    const TITLE: &'static str = "Memory";
    const INLINE: Option<Inline> =
        Some(Inline {
            tool_types: &["memo"],
            part: Some("MEMO"),
            schema: || &Value::Null,
            complete: |_| {},
            needs_manager: |_| false,
            open: |tool, _| {
                OPENED.fetch_add(1, Ordering::SeqCst);
                match tool.config.get("bad") {
                    Some(_) => Err(Error::invalid_config("bad")
                        .with_problems(vec![Problem::new("MEMO.bad", "Bad", "bad")])),
                    None => Ok(Arc::new(Memo(tool))),
                }
            },
        });
    fn open(self, _: &Env) -> Result<Arc<dyn Connector>> {
        OPENED.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(Memory(self, AtomicBool::default())))
    }
}

/// The same under another type, for names that collide.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct OtherSettings(MemorySettings);

impl Settings for OtherSettings {
    const SCHEME: &'static str = "other";
    const TITLE: &'static str = "Other";
    fn open(self, env: &Env) -> Result<Arc<dyn Connector>> {
        self.0.open(env)
    }
}

pub(crate) const KINDS: &[Kind] = &[Kind::of::<MemorySettings>(), Kind::of::<OtherSettings>()];

/// One type is there, as every type of a full build is; the other was left out.
const OPTIONAL: &[OptionalKind] = &[
    OptionalKind { scheme: "memory", tool_types: &["memo"], feature: "memory" },
    OptionalKind { scheme: "carrier", tool_types: &["letter"], feature: "pigeon" },
];

/// With whether it is in trouble, as somebody told it.
struct Memory(MemorySettings, AtomicBool);

#[async_trait]
impl Connector for Memory {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        if let Some(why) = &self.0.broken {
            return Err(Error::unavailable(why.clone()));
        }
        if self.0.waits {
            HEARD.acquire().await.unwrap().forget();
        }
        let query = json!({ "type": "object", "properties": { "query": { "type": "string" } }, "required": ["query"], "additionalProperties": false });
        let any = json!({ "type": "object" });
        let mut tools = vec![
            Tool::new("say", "Greets.", &any)?,
            Tool::new("find", "Finds.", &query)?,
            Tool::new("sleep", "Never ends.", &any)?,
            Tool::new("stubborn", "Ignores being told to stop.", &any)?,
            Tool::new("panic", "Panics.", &any)?,
            Tool::new("down", "Is not there.", &any)?,
            Tool::new("data", "Answers data.", &any)?.shaped(Shape {
                select: self.0.select.clone(),
                template: self.0.template.clone(),
                max_bytes: None,
            }),
        ];
        for name in &self.0.echoes {
            tools.push(Tool::new(name, "Echoes.", &any)?);
        }
        Ok(tools)
    }

    fn named_tools(&self) -> Vec<Tool> {
        let say = || Tool::new("say", "Greets.", &json!({ "type": "object" })).unwrap();
        self.0.waits.then(say).into_iter().collect()
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        match call.tool.as_str() {
            "say" => Ok(Outcome::Done(Output::text(&self.0.greeting))),
            "data" => Ok(Outcome::Done(Output::json(raw(&json!({ "items": [{ "n": 1 }, { "n": 2 }] }))))),
            "sleep" => {
                tokio::select! {
                    () = cx.cancel.cancelled() => Err(Error::cancelled("told to stop")),
                    () = tokio::time::sleep_until(cx.deadline.into()) => Err(Error::timeout("too late")),
                }
            }
            "stubborn" => std::future::pending().await,
            "panic" => panic!("on purpose"),
            "room" => Ok(Outcome::Done(Output::json(raw(&json!({ "room": call.max_answer_bytes }))))),
            "trouble" => {
                self.1.store(call.arguments.as_value()?["is"] == true, Ordering::SeqCst);
                Err(Error::upstream("as it was told"))
            }
            "down" => Err(Error::unavailable("nobody is there").retryable()),
            _ => Ok(Outcome::Done(Output::json(call.arguments.to_raw()))),
        }
    }

    async fn health(&self, _: &Context) -> Result<()> {
        match self.0.test.as_str() {
            "timeout" => Err(Error::timeout("nobody answers")),
            "denied" => Err(Error::denied("nobody may")),
            "upstream" => Err(Error::upstream("somebody says no")),
            _ => Ok(()),
        }
    }

    fn trouble(&self) -> Option<String> {
        self.1.load(Ordering::SeqCst).then(|| "it is left alone".to_owned())
    }
}

/// A tool that stands on its own and answers what it was given.
struct Memo(InlineTool);

#[async_trait]
impl Connector for Memo {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        let template = self.0.config["MEMO"]["response_template"].as_str().map(str::to_owned);
        let tool = Tool::new(&self.0.name, &self.0.description, &json!({ "type": "object" }))?;
        Ok(vec![tool.shaped(Shape { template, ..Shape::default() })])
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        cx.inspection.note(|seen| seen.request = Some(json!({ "tool": call.tool })));
        Ok(Outcome::Done(Output::json(call.arguments.to_raw())))
    }

    async fn health(&self, _: &Context) -> Result<()> {
        Ok(())
    }
}

pub fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap()
}

/// An audit in memory that can be told to fail.
#[derive(Default)]
pub struct MemorySink {
    pub entries: Mutex<Vec<Entry>>,
    pub is_down: AtomicBool,
}

#[async_trait]
impl Sink for MemorySink {
    async fn write(&self, batch: &[Entry]) -> Result<()> {
        if self.is_down.load(Ordering::SeqCst) {
            return Err(Error::unavailable("the audit is down"));
        }
        self.entries.lock().unwrap().extend_from_slice(batch);
        Ok(())
    }
}

pub struct World {
    pub gateway: Arc<Gateway>,
    pub sink: Arc<MemorySink>,
}

impl World {
    pub fn new() -> Self {
        let sink = Arc::new(MemorySink::default());
        let audit = Audit::start(sink.clone());
        let options = Options { result_budget_bytes: Some(10_000), ..Options::default() };
        Self { gateway: Gateway::new(Self::registry(), Env::default(), audit, options), sink }
    }

    pub fn registry() -> Registry {
        Registry { kinds: KINDS, optional: OPTIONAL }
    }

    pub async fn with(services: Vec<ServiceDefinition>) -> Self {
        let world = Self::new();
        world.load("acme", services).await;
        world
    }

    pub async fn load_all(&self, services: Vec<ServiceDefinition>, tools: Vec<ToolDefinition>) {
        self.gateway.load(definition("acme", services, tools)).await;
    }

    pub async fn load(&self, tenant: &str, services: Vec<ServiceDefinition>) {
        self.gateway.load(definition(tenant, services, Vec::new())).await;
    }

    pub async fn call(&self, target: &str, arguments: Value) -> Result<String> {
        self.call_as(&context(), target, arguments).await
    }

    pub async fn call_as(&self, cx: &Context, target: &str, arguments: Value) -> Result<String> {
        let request = request(target, &arguments);
        match self.gateway.call(cx, request).await? {
            Outcome::Done(output) => Ok(output.to_result()),
            other => panic!("{other:?}"),
        }
    }

    /// Everything audited so far, after a clean end.
    pub async fn audited(&self) -> Vec<Entry> {
        self.gateway.close(Duration::from_secs(2)).await;
        self.sink.entries.lock().unwrap().clone()
    }
}

fn definition(
    tenant: &str,
    services: Vec<ServiceDefinition>,
    tools: Vec<ToolDefinition>,
) -> TenantDefinition {
    TenantDefinition {
        id: tenant.parse().unwrap(),
        limits: Limits::default(),
        may_use_private_network: true,
        services,
        tools,
        instances: Vec::new(),
        tool_search: None,
    }
}

pub fn request(target: &str, arguments: &Value) -> Request {
    let target = match target.parse() {
        Ok(uri) => Target::Uri(uri),
        Err(_) => Target::Name(target.to_owned()),
    };
    Request { target, arguments: Arguments::from_raw(raw(arguments)).unwrap(), extras: Default::default() }
}

pub fn context() -> Context {
    context_of(Caller::local())
}

pub fn context_of(caller: Caller) -> Context {
    let tenant: TenantId = "acme".parse().unwrap();
    Context::new(tenant, Arc::new(caller), Door::Local, Duration::from_secs(30))
}

pub fn service(id: &str, settings: Value) -> ServiceDefinition {
    ServiceDefinition {
        scheme: "memory".into(),
        id: id.into(),
        name: id.into(),
        settings,
        is_enabled: true,
        is_trusted: false,
        variables: Vec::new(),
        problem: None,
        built_in: None,
        version: 1,
        made_at_ms: None,
    }
}
