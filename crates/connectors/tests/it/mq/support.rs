//! Services over a broker, with a database of our own beside it.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use store::{NewTenant, OnceResults, Options, Queues, Store, Vault};
use testkit::conformance::{bind_and_call, call, context};
use testkit::tcp_proxy::TcpProxy;
use tool::{Arguments, Call, Connector, Context, Env, ErrorKind, Outcome, TenantId};

const TIMEOUT: Duration = Duration::from_secs(10);

/// A database, and what services are opened with.
pub(crate) struct Home {
    _folder: tempfile::TempDir,
    pub(crate) env: Env,
    pub(crate) queues: Queues,
}

impl Home {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("data.db").display());
        let store = Store::open(&Options::new(url), Vault::load(folder.path(), None).unwrap()).await.unwrap();
        let (id, name) = (TenantId::default_tenant(), "default".to_owned());
        let (limits, allow_private_network, table_quota_bytes) = Default::default();
        let tenant = NewTenant { id, name, limits, allow_private_network, table_quota_bytes };
        store.tenants().create(tenant).await.unwrap();
        let queues = Queues::new(store.clone(), TIMEOUT);
        let env = Env {
            service: Some("orders".to_owned()),
            queue: Some(Arc::new(queues.clone())),
            once: Some(Arc::new(OnceResults::new(store, TIMEOUT))),
            ..Env::default()
        };
        Self { _folder: folder, env, queues }
    }

    /// A service that may go to loopback.
    pub(crate) fn service(&self, broker: &str, url: &str, tools: &Value) -> Arc<dyn Connector> {
        self.open(json!({
            "broker": broker, "connection_string": url, "allow_private_network": true, "tools": tools,
            "retry": { "max_attempts": 2, "initial_delay_ms": 10 }, "circuit_breaker": { "failures": 0 },
        }))
    }

    pub(crate) fn open(&self, settings: Value) -> Arc<dyn Connector> {
        connectors::find("mq").unwrap().open(settings, &self.env).unwrap()
    }
}

pub(crate) fn needed(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: use `make test` or `scripts/servers run -- cargo nextest run`")
    })
}

/// A name that no other test has.
pub(crate) fn name(what: &str) -> String {
    format!("{what}-{}", tool::new_id::<String>())
}

pub(crate) fn cx() -> Context {
    context(Duration::from_secs(60))
}

pub(crate) async fn run(connector: &Arc<dyn Connector>, tool: &str, arguments: Value) -> tool::Result<Value> {
    run_within(connector, &cx(), tool, arguments).await
}

/// The same where an answer has no more room than that.
pub(crate) async fn run_with_room(
    connector: &Arc<dyn Connector>,
    max_answer_bytes: usize,
    tool: &str,
    arguments: Value,
) -> tool::Result<Value> {
    let call = Call { max_answer_bytes, ..call(tool, arguments.as_object().cloned().unwrap()) };
    match bind_and_call(&**connector, &cx(), call).await? {
        Outcome::Done(output) => Ok(serde_json::from_str(&output.data().unwrap()).unwrap()),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn run_within(
    connector: &Arc<dyn Connector>,
    cx: &Context,
    tool: &str,
    arguments: Value,
) -> tool::Result<Value> {
    let arguments = arguments.as_object().cloned().unwrap();
    match bind_and_call(&**connector, cx, call(tool, arguments)).await? {
        Outcome::Done(output) => Ok(serde_json::from_str(&output.data().unwrap()).unwrap()),
        other => panic!("{other:?}"),
    }
}

/// A connection that stalls leaves doubt, one that is cut is noticed, and then made anew.
pub(crate) async fn assert_breaks_and_comes_back(orders: &Arc<dyn Connector>, proxy: &TcpProxy) {
    run(orders, "created", json!({ "message": 1 })).await.unwrap();
    proxy.stall();
    let late =
        run_within(orders, &context(Duration::from_millis(700)), "created", json!({ "message": 2 })).await;
    let late = late.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Timeout);
    assert!(late.message().contains("may have been published"), "{late}");
    proxy.cut();
    testkit::eventually("the cut is noticed", Duration::from_secs(20), async || {
        let error = run(orders, "created", json!({ "message": 3 })).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
        error.is_retryable()
    })
    .await;
    proxy.restore();
    run(orders, "created", json!({ "message": 4 })).await.unwrap();
}

/// A connection over which nothing comes any more gives way to another, for whatever is called next.
pub(crate) async fn assert_leaves_a_dead_connection(orders: &Arc<dyn Connector>, proxy: &TcpProxy) {
    for (tool, arguments) in [("created", json!({ "message": 2 })), ("created_receive", json!({}))] {
        run(orders, "created", json!({ "message": 1 })).await.unwrap();
        proxy.forget();
        let late = run_within(orders, &context(Duration::from_millis(700)), tool, arguments).await;
        assert_eq!(late.unwrap_err().kind(), ErrorKind::Timeout);
        run_within(orders, &context(Duration::from_secs(15)), "created", json!({ "message": 3 }))
            .await
            .unwrap();
        orders.health(&cx()).await.unwrap();
        // As if it were new.
        proxy.restore();
        testkit::eventually("a connection after the proxy's", Duration::from_secs(20), async || {
            run(orders, "created", json!({ "message": 4 })).await.is_ok()
        })
        .await;
    }
}

/// The answer as it is written, to arguments as they are written.
pub(crate) async fn run_raw(connector: &Arc<dyn Connector>, tool: &str, arguments: &str) -> String {
    let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
    let call = Call::new(tool, Arguments::from_raw(arguments).unwrap());
    match bind_and_call(&**connector, &cx(), call).await.unwrap() {
        Outcome::Done(output) => output.data().unwrap().into_owned(),
        other => panic!("{other:?}"),
    }
}
