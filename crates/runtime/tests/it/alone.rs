//! A flow without a server, for as long as it takes.

use async_trait::async_trait;
use flow::engine::{Decision, Ending, Record};
use gateway::audit::{Audit, Entry, Sink};
use gateway::{Gateway, Options, ServiceDefinition, TenantDefinition};
use runtime::flows::{Alone, Watcher};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tool::{
    Call, Caller, Connector, Context, Door, Env, Kind, Limits, Outcome, Output, Result, Settings, TenantId,
    Tool,
};

/// A tool that answers at once.
#[derive(Deserialize, JsonSchema)]
struct Echo {}

impl Settings for Echo {
    const SCHEME: &'static str = "echo";
    const TITLE: &'static str = "Echo";
    fn open(self, _: &Env) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(self))
    }
}

#[async_trait]
impl Connector for Echo {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        Ok(vec![Tool::new("echo", "Says it again.", &json!({ "type": "object" }))?])
    }

    async fn call(&self, cx: &Context, _: Call) -> Result<Outcome> {
        let left = u64::try_from(cx.remaining().as_millis()).unwrap_or(u64::MAX);
        Ok(Outcome::Done(Output::json(serde_json::value::to_raw_value(&left).unwrap())))
    }

    async fn health(&self, _: &Context) -> Result<()> {
        Ok(())
    }
}

static KINDS: [Kind; 1] = [Kind::of::<Echo>()];

struct Nowhere;

#[async_trait]
impl Sink for Nowhere {
    async fn write(&self, _: &[Entry]) -> Result<()> {
        Ok(())
    }
}

struct Nobody;

impl Watcher for Nobody {
    fn see(&self, _: &Record) {}

    fn decide(&self, _: &str, _: &Value, _: Option<&Value>) -> Option<Decision> {
        None
    }
}

async fn echo() -> Arc<Gateway> {
    let gateway = Gateway::new(&KINDS, Env::default(), Audit::start(Arc::new(Nowhere)), Options::default());
    let service = ServiceDefinition {
        scheme: "echo".into(),
        id: "one".into(),
        name: String::new(),
        settings: json!({}),
        is_enabled: true,
        is_trusted: false,
        variables: Vec::new(),
        problem: None,
        built_in: None,
        version: 1,
        made_at_ms: None,
    };
    let mut discovery = gateway
        .load(TenantDefinition {
            tool_search: None,
            id: TenantId::default_tenant(),
            limits: Limits::default(),
            may_use_private_network: true,
            services: vec![service],
            tools: Vec::new(),
            instances: Vec::new(),
        })
        .await;
    discovery.ended().await;
    gateway
}

/// FL-1: each call has all the time that a call may take, however long the run has been under way.
#[tokio::test]
async fn a_call_late_in_a_long_run_has_its_time() {
    const CALL_TIME: Duration = Duration::from_millis(1500);
    let text = "nodes: {w: {wait: 2000, next: late}, late: {exec: 'echo://one/echo'}}";
    let alone = Alone {
        flow: Arc::new(flow::read(text).flow.unwrap()),
        bound: Vec::new(),
        inputs: Map::new(),
        gateway: echo().await,
        cx: Context::new(TenantId::default_tenant(), Arc::new(Caller::local()), Door::Local, CALL_TIME),
        code_of: |_| "FAILED",
    };
    let ended = alone.run(&Nobody).await.unwrap();
    let Ending::Succeeded { output } = ended else { panic!("{ended:?}") };
    assert!((1..=1500).contains(&output.as_u64().unwrap()), "{output} ms were left");
}
