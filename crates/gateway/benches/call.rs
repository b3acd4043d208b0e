//! What the pipeline costs: `Gateway::call` with a connector in this process and the audit on.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails by panicking")]

use async_trait::async_trait;
use gateway::audit::{Audit, Entry, Sink};
use gateway::{Gateway, Options, ServiceDefinition, TenantDefinition};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool::{
    Arguments, Call, Caller, Connector, Context, Door, Env, Extras, Kind, Limits, Outcome, Output, Request,
    Result, Settings, Target, TenantId, Tool,
};

/// A service with this many tools that answer at once.
#[derive(Deserialize, JsonSchema)]
struct InProcess {
    tools: usize,
}

impl Settings for InProcess {
    const SCHEME: &'static str = "bench";
    const TITLE: &'static str = "Benchmark";
    fn open(self, _: &Env) -> Result<Arc<dyn Connector>> {
        Ok(Arc::new(self))
    }
}

#[async_trait]
impl Connector for InProcess {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What to look for.", "minLength": 1 },
                "limit": { "type": "integer", "minimum": 1, "maximum": 100 }
            },
            "required": ["query"],
            "additionalProperties": false
        });
        (0..self.tools).map(|n| Tool::new(format!("tool_{n}"), "Looks for something.", &schema)).collect()
    }

    async fn call(&self, _: &Context, call: Call) -> Result<Outcome> {
        Ok(Outcome::Done(Output::json(call.arguments.to_raw())))
    }

    async fn health(&self, _: &Context) -> Result<()> {
        Ok(())
    }
}

static KINDS: [Kind; 1] = [Kind::of::<InProcess>()];

struct Nowhere;

#[async_trait]
impl Sink for Nowhere {
    async fn write(&self, batch: &[Entry]) -> Result<()> {
        black_box(batch);
        Ok(())
    }
}

async fn gateway(services: usize, tools: usize, kept: usize) -> (Arc<Gateway>, Context) {
    let audit = Audit::keeping(Arc::new(Nowhere), kept);
    let gateway = Gateway::new(&KINDS, Env::default(), audit, Options::default());
    let id: TenantId = "bench".parse().unwrap();
    let services = (0..services).map(|n| ServiceDefinition {
        scheme: "bench".into(),
        id: format!("service{n}"),
        name: String::new(),
        settings: json!({ "tools": tools }),
        is_enabled: true,
        is_trusted: false,
        variables: Vec::new(),
        problem: None,
        built_in: None,
        version: 1,
        made_at_ms: None,
    });
    let services = services.collect();
    gateway
        .load(TenantDefinition {
            id: id.clone(),
            limits: Limits::default(),
            may_use_private_network: true,
            services,
            tools: Vec::new(),
            instances: Vec::new(),
            tool_search: None,
        })
        .await;
    let cx = Context::new(id, Arc::new(Caller::local()), Door::Local, Duration::from_secs(3600));
    (gateway, cx)
}

/// The median of many calls, each to another tool.
async fn median_call(gateway: &Gateway, cx: &Context) -> Duration {
    let names: Vec<_> = gateway.list(cx).iter().map(|route| route.name.clone()).collect();
    let arguments = RawValue::from_string(r#"{"query":"what is this","limit":20}"#.into()).unwrap();
    let mut times = Vec::with_capacity(40_000);
    for n in 0..44_000 {
        let target = Target::Name(names[n * 7919 % names.len()].clone());
        let arguments = Arguments::from_raw(arguments.clone()).unwrap();
        let request = Request { target, arguments, extras: Extras::default() };
        let begun = Instant::now();
        black_box(gateway.call(cx, request).await.unwrap());
        if n >= 4_000 {
            times.push(begun.elapsed());
        }
    }
    times.sort_unstable();
    times[times.len() / 2]
}

/// The time to list everything, up to pieces that are ready to be sent.
fn median_list(gateway: &Gateway, cx: &Context) -> (usize, Duration) {
    let mut times: Vec<_> = (0..200)
        .map(|_| {
            let begun = Instant::now();
            let pieces: Vec<_> = gateway.list(cx).iter().map(|route| route.listed.clone()).collect();
            black_box(&pieces);
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    (gateway.list(cx).len(), times[times.len() / 2])
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    println!("| services × tools | call p50 | × smallest | goal | list all | per tool |");
    println!("|---|---|---|---|---|---|");
    let mut smallest = None;
    for (services, tools) in [(1, 10), (10, 10), (100, 100), (1000, 10)] {
        let (gateway, cx) = gateway(services, tools, 0).await;
        let call = median_call(&gateway, &cx).await;
        let (count, list) = median_list(&gateway, &cx);
        let ratio = call.as_secs_f64() / smallest.get_or_insert(call).as_secs_f64();
        let per_tool = list / u32::try_from(count).unwrap();
        println!("| {services} × {tools} | {call:?} | {ratio:.2} | ≤ 10 µs | {list:?} | {per_tool:?} |");
        gateway.close(Duration::from_secs(5)).await;
    }
    println!("\n| what calls exchange is | call p50 |\n|---|---|");
    for (kept, name) in [(0, "not kept"), (200, "kept"), (0, "not kept"), (200, "kept")] {
        let (gateway, cx) = gateway(10, 10, kept).await;
        println!("| {name} | {:?} |", median_call(&gateway, &cx).await);
        gateway.close(Duration::from_secs(5)).await;
    }
}
