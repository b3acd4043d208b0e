//! What an agent itself costs: the CPU time of a step whose model and tool take none, and the memory of asks that wait for
//! a slow model. The model is another process, so that only our own part is counted.
//!
//! `cargo bench -p connectors --bench agent`

#![expect(clippy::unwrap_used, reason = "a bench that cannot go on stops and says so")]
#![expect(clippy::print_stdout, reason = "a bench prints")]

use async_trait::async_trait;
use gateway::audit::{Audit, Entry, Sink};
use gateway::{BuiltIn, Gateway, Options, ServiceDefinition, TenantDefinition};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use testkit::proc::{open_files, resident_kib};
use tool::{
    Arguments, Call, Caller, Connector, Context, Door, Env, Outcome, Output, Request, Result, Target,
    TenantId, Tool,
};

/// Set in the process that is the model.
const IS_MODEL: &str = "AGENT_BENCH_MODEL";
const ROUNDS: usize = 40;
/// Tool calls of one run; the last step has none.
const TOOL_CALLS: usize = 10;
const STEPS: usize = TOOL_CALLS + 1;
/// What a step may cost.
const LIMIT_US: f64 = 150.0;
const WAITING: usize = 1_000;
/// What an ask that waits may hold.
const LIMIT_KIB: f64 = 64.0;
/// A prompt that the model takes its time for.
const WAIT: &str = "please wait";

fn main() {
    if std::env::var_os(IS_MODEL).is_some() {
        return serve();
    }
    let mut model = Model::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let gateway = runtime.block_on(gateway(&model.url));
    let step_us = runtime.block_on(steps(&gateway));
    println!("{:<34} {:>9} {:>9}", "what", "measured", "limit");
    println!("{:<34} {step_us:>6.1} µs {LIMIT_US:>6.0} µs", "CPU of a step, own part");
    let ask_kib = runtime.block_on(waiting(&gateway));
    println!(
        "{:<34} {ask_kib:>5.1} KiB {LIMIT_KIB:>5.0} KiB",
        format!("memory of each of {WAITING} waiting asks")
    );
    model.end();
    assert!(step_us <= LIMIT_US, "a step costs {step_us:.1} µs");
    assert!(ask_kib <= LIMIT_KIB, "an ask that waits holds {ask_kib:.1} KiB");
}

/// The CPU time of one step, the median of the rounds: model call, tool call, audit and all.
async fn steps(gateway: &Arc<Gateway>) -> f64 {
    for _ in 0..ROUNDS / 4 {
        ask(gateway, "count").await.unwrap();
    }
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begun = cpu();
        ask(gateway, "count").await.unwrap();
        rounds.push((cpu() - begun).as_secs_f64() * 1e6 / STEPS as f64);
    }
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// What each of many asks holds while the model thinks, in KiB.
async fn waiting(gateway: &Arc<Gateway>) -> f64 {
    let process = std::process::id();
    let (before, files) = (resident_kib(process), open_files(process));
    let asks: Vec<_> = (0..WAITING)
        .map(|_| {
            let gateway = gateway.clone();
            tokio::spawn(async move { ask(&gateway, WAIT).await })
        })
        .collect();
    let deadline = Instant::now() + Duration::from_secs(25);
    while open_files(process) < files + WAITING {
        assert!(Instant::now() < deadline, "not all asks have reached the model");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // What is written once the connection is there is small, and soon written.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let after = resident_kib(process);
    let begun = Instant::now();
    call(gateway, "bench://tools/echo", json!({ "n": 1 })).await.unwrap();
    println!("another call meanwhile takes {} µs", begun.elapsed().as_micros());
    asks.iter().for_each(tokio::task::JoinHandle::abort);
    after.saturating_sub(before) as f64 / WAITING as f64
}

async fn ask(gateway: &Gateway, prompt: &str) -> Result<Outcome> {
    call(gateway, "agent://clerk", json!({ "prompt": prompt })).await
}

async fn call(gateway: &Gateway, uri: &str, arguments: Value) -> Result<Outcome> {
    let (tenant, caller) = (TenantId::default_tenant(), Arc::new(Caller::local()));
    let cx = Context::new(tenant, caller, Door::Local, Duration::from_secs(60));
    let arguments = Arguments::from(arguments.as_object().cloned().unwrap());
    gateway.call(&cx, Request::new(Target::Uri(uri.parse().unwrap()), arguments)).await
}

/// The CPU time of this thread, which does everything here.
fn cpu() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(told.split(' ').next().unwrap().parse().unwrap())
}

async fn gateway(model: &str) -> Arc<Gateway> {
    let gateway = Gateway::new(
        connectors::REGISTRY,
        Env::default(),
        Audit::start(Arc::new(Nowhere)),
        Options::default(),
    );
    let settings = json!({
        "provider": "openai", "base_url": model, "model": "m-1", "allow_private_network": true,
        "instructions": "You help {{ .caller.name }} of {{ .tenant }}.", "tools": ["bench://tools/*"],
    });
    let tools = Some(BuiltIn::for_everyone(Arc::new(Echo)));
    let definition = TenantDefinition {
        tool_search: None,
        id: TenantId::default_tenant(),
        limits: Default::default(),
        may_use_private_network: true,
        services: vec![
            service("bench", "tools", json!({}), tools),
            service("agent", "clerk", settings, None),
        ],
        tools: Vec::new(),
        instances: Vec::new(),
    };
    let _ = gateway.load(definition).await;
    gateway
}

fn service(scheme: &str, id: &str, settings: Value, built_in: Option<BuiltIn>) -> ServiceDefinition {
    ServiceDefinition {
        scheme: scheme.to_owned(),
        id: id.to_owned(),
        name: id.to_owned(),
        settings,
        is_enabled: true,
        is_trusted: false,
        variables: Vec::new(),
        problem: None,
        built_in,
        version: 1,
        made_at_ms: Some(1),
    }
}

/// A tool that answers at once.
struct Echo;

#[async_trait]
impl Connector for Echo {
    async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
        Ok(vec![Tool::new("echo", "Says back.", &schema)?])
    }

    async fn call(&self, _: &Context, call: Call) -> Result<Outcome> {
        Ok(Outcome::Done(Output::json(call.arguments.to_raw())))
    }

    async fn health(&self, _: &Context) -> Result<()> {
        Ok(())
    }
}

struct Nowhere;

#[async_trait]
impl Sink for Nowhere {
    async fn write(&self, _: &[Entry]) -> Result<()> {
        Ok(())
    }
}

/// The model's process.
struct Model {
    child: Child,
    url: String,
}

impl Model {
    fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(IS_MODEL, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }

    fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Asks for so many tool calls, each with arguments of its own, and then answers.
fn serve() {
    // However this bench ends, the model ends with it.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    std::io::stdout().flush().unwrap();
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || converse(stream));
    }
}

fn converse(stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut size = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                size = value.trim().parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; size];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        if body.contains(WAIT) {
            std::thread::sleep(Duration::from_secs(30));
        }
        let answer = answer(body.matches(r#""role":"tool""#).count()).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        reader.get_mut().write_all((head + &answer).as_bytes()).ok()?;
    }
}

fn answer(made: usize) -> Value {
    let message = match made < TOOL_CALLS {
        true => {
            json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": format!("c{made}"), "type": "function",
            "function": { "name": "tools__echo", "arguments": json!({ "n": made }).to_string() } }] })
        }
        false => json!({ "role": "assistant", "content": "Done." }),
    };
    json!({ "choices": [{ "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5 } })
}
