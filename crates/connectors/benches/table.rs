//! Operations on a table of 50,000 objects in 10 MB, on SQLite, as a tool calls them.
//!
//! Prints the median of each; `bench/tables.sh` compares the query with Python's `jmespath`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on stops and says so"
)]

use document::Node;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::{Documents, NewTable, NewTenant, Options, Store, Vault};
use tool::{Call, Caller, Connector, Context, Door, Env, Limits, TenantId, Uri};

const ROWS: usize = 50_000;
const ROUNDS: usize = 200;

fn document() -> Value {
    let status = ["open", "closed", "paid", "sent"];
    let row = |n: usize| {
        json!({
            "id": format!("order-{n:06}"), "customer": format!("customer {}", n % 977), "status": status[n % 4],
            "total": n as f64 * 1.25, "quantity": n % 13, "note": "x".repeat(70),
            "lines": [{ "sku": format!("sku-{}", n % 311), "count": n % 7 }]
        })
    };
    json!({ "orders": (0..ROWS).map(row).collect::<Vec<_>>() })
}

async fn call(connector: &dyn Connector, id: &str, operation: &str, arguments: Value) -> String {
    let cx = Context::new(
        TenantId::default_tenant(),
        Arc::new(Caller::local()),
        Door::Local,
        Duration::from_secs(60),
    );
    let uri: Uri = format!("table://{id}/{operation}?path=/orders").parse().unwrap();
    let arguments = arguments.as_object().cloned().unwrap().into();
    let call = Call {
        tool: operation.to_owned(),
        arguments,
        options: uri.options().clone(),
        extras: Default::default(),
        max_answer_bytes: usize::MAX,
    };
    match connector.call(&cx, call).await.unwrap() {
        tool::Outcome::Done(output) => output.to_result(),
        other => panic!("{other:?}"),
    }
}

async fn measure(connector: &dyn Connector, id: &str, name: &str, operation: &str, arguments: Value) {
    let mut times = Vec::with_capacity(ROUNDS);
    let mut size = 0;
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        size = call(connector, id, operation, arguments.clone()).await.len();
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    let (p50, p99) = (times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
    println!("table/{name:<22} p50 {:>9.3} ms   p99 {:>9.3} ms   {size} bytes", ms(p50), ms(p99));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

async fn open(folder: &std::path::Path, document: &Value) -> (Arc<dyn Connector>, String) {
    let url = format!("sqlite:{}", folder.join("data.db").display());
    let store = Store::open(&Options::new(url), Vault::load(folder, None).unwrap()).await.unwrap();
    let tenant = TenantId::default_tenant();
    store
        .tenants()
        .create(NewTenant {
            id: tenant.clone(),
            name: "default".into(),
            limits: Limits::default(),
            allow_private_network: None,
            table_quota_bytes: None,
        })
        .await
        .unwrap();
    let documents = Documents::new(store, Duration::from_secs(60));
    let begun = Instant::now();
    let new = NewTable {
        name: "orders".into(),
        description: None,
        owner: "bench".into(),
        document: Node::from(document),
    };
    let table = documents.create(&tenant, new).await.unwrap();
    println!("table/made of {} bytes in {:.1} ms", table.size_bytes, ms(begun.elapsed()));
    let env = Env { tables: Some(Arc::new(documents)), ..Env::default() };
    let ambient = connectors::find("table").unwrap().ambient.unwrap();
    ((ambient.open)(table.id.as_str(), &env).unwrap(), table.id.to_string())
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let document = document();
        if let Some(path) = std::env::var_os("TABLE_DOCUMENT") {
            std::fs::write(path, document.to_string()).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let (connector, id) = open(folder.path(), &document).await;
        let filter = json!({ "query": "[?status=='paid' && quantity > `11`].{id: id, total: total}" });
        for (name, operation, arguments) in [
            ("query_data filter", "query_data", filter),
            ("query_data sum", "query_data", json!({ "query": "sum([].total)" })),
            ("select", "select", json!({ "field": "customer", "keys": ["customer 7", "customer 8"] })),
            ("preview 1 MB page", "preview", json!({})),
            ("preview 50", "preview", json!({ "limit": 50 })),
            ("get_data_schema", "get_data_schema", json!({})),
            ("create", "create", json!({ "elements": [{ "content": { "id": "new", "status": "open", "quantity": 1, "total": 1 } }] })),
            ("update", "update", json!({ "updates": [{ "key": "25000", "content": { "id": "other" } }] })),
        ] {
            measure(&*connector, &id, name, operation, arguments).await;
        }
    });
}
