//! Calls through `Gateway::call` whose records go into a new database, for `bench/audit.sh`, which counts their instructions.
//!
//! `CALLS` (20,000); `SINK` is `store`, or `none` where nobody reads records and none are made; `KEEP` is how many calls
//! are kept for the inspector (0). `MCP_TEST_POSTGRES_URL` names another database than SQLite.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails by panicking")]

mod echo;

use async_trait::async_trait;
use echo::KINDS;
use gateway::audit::{Audit, Entry, Sink};
use gateway::{Gateway, Options, ServiceDefinition, TenantDefinition};
use runtime::AuditSink;
use serde_json::json;
use serde_json::value::RawValue;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Filter, PageRequest, Store, Vault};
use tool::{Arguments, Caller, Context, Door, Env, Extras, Limits, Request, Result, Target, TenantId};

/// Where no records go, so that none are made.
struct Unread;

#[async_trait]
impl Sink for Unread {
    async fn write(&self, _: &[Entry]) -> Result<()> {
        Ok(())
    }

    fn is_read(&self) -> bool {
        false
    }
}

fn number(name: &str, unless: usize) -> usize {
    std::env::var(name).map_or(unless, |text| text.parse().unwrap())
}

async fn open(folder: &Path) -> Store {
    let database = format!("sqlite:{}", folder.join("data.db").display());
    let url = std::env::var("MCP_TEST_POSTGRES_URL").unwrap_or(database);
    Store::open(&store::Options::new(url), Vault::load(folder, None).unwrap()).await.unwrap()
}

async fn gateway(audit: Audit, tenant: &TenantId) -> Arc<Gateway> {
    let gateway = Gateway::new(&KINDS, Env::default(), audit, Options::default());
    let service = ServiceDefinition {
        scheme: "bench".into(),
        id: "service".into(),
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
    let tenant = TenantDefinition {
        id: tenant.clone(),
        limits: Limits::default(),
        may_use_private_network: true,
        services: vec![service],
        tools: Vec::new(),
        instances: Vec::new(),
        tool_search: None,
    };
    gateway.load(tenant).await;
    gateway
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let (calls, kept) = (number("CALLS", 20_000), number("KEEP", 0));
    let is_stored = std::env::var("SINK").is_ok_and(|sink| sink == "store");
    let (folder, tenant) = (tempfile::tempdir().unwrap(), TenantId::default_tenant());
    let store = open(folder.path()).await;
    let spill = folder.path().join("audit-spill.jsonl");
    let sink: Arc<dyn Sink> = match is_stored {
        true => Arc::new(AuditSink::new(store.clone(), spill, Duration::from_secs(60), |_| "CODE")),
        false => Arc::new(Unread),
    };
    let gateway = gateway(Audit::keeping(sink, kept), &tenant).await;
    let caller = Arc::new(Caller::local());
    let arguments = RawValue::from_string(r#"{"text":"what is this"}"#.into()).unwrap();
    let begun = Instant::now();
    for _ in 0..calls {
        // Each call with an id of its own, as at the doors.
        let cx = Context::new(tenant.clone(), caller.clone(), Door::Mcp, Duration::from_secs(3600));
        let target = Target::Name("service__echo".into());
        let arguments = Arguments::from_raw(arguments.clone()).unwrap();
        let request = Request { target, arguments, extras: Extras::default() };
        gateway.call(&cx, request).await.unwrap();
    }
    gateway.audit().flush(Duration::from_secs(600)).await;
    let each = begun.elapsed() / u32::try_from(calls.max(1)).unwrap();
    let page = PageRequest { page: 1, limit: 1 };
    let found = store.audit().query(&tenant, &Filter::default(), page).await.unwrap();
    assert_eq!(found.items.len(), usize::from(is_stored && calls > 0), "records are kept, or not");
    println!("{calls} calls, {each:?} each");
}
