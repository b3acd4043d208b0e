//! What every connector must do, and the queues in our own database; other brokers are tried in `tests/it/mq`.

mod listening;
mod publishing;

use super::Settings;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use store::{NewTenant, OnceResults, Options, Queues, Store, Vault};
use testkit::conformance::{self, Capability, Sample, Subject, Tested, triggers};
use tool::{Arguments, Call, Connector, Context, Env, ErrorKind, Kind, Outcome, Settings as _};

const TIMEOUT: Duration = Duration::from_secs(10);

/// A database of its own, with the tenants `default` and `other`.
struct Home {
    folder: tempfile::TempDir,
    store: Store,
}

impl Home {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Self { store: open(&folder).await, folder };
        for id in ["default", "other"] {
            let tenant = NewTenant {
                id: id.parse().unwrap(),
                name: id.to_owned(),
                limits: Default::default(),
                allow_private_network: None,
                table_quota_bytes: None,
            };
            home.store.tenants().create(tenant).await.unwrap();
        }
        home
    }

    fn env(&self) -> Env {
        env_of(&self.store)
    }

    /// As another process at the same database.
    async fn replica(&self) -> Env {
        env_of(&open(&self.folder).await)
    }
}

async fn open(folder: &tempfile::TempDir) -> Store {
    let url = format!("sqlite:{}", folder.path().join("data.db").display());
    Store::open(&Options::new(url), Vault::load(folder.path(), None).unwrap()).await.unwrap()
}

fn env_of(store: &Store) -> Env {
    Env {
        service: Some("orders".to_owned()),
        queue: Some(Arc::new(Queues::new(store.clone(), TIMEOUT))),
        once: Some(Arc::new(OnceResults::new(store.clone(), TIMEOUT))),
        ..Env::default()
    }
}

fn settings() -> Value {
    json!({ "tools": [{ "id": "created", "peek": true, "receive": true }] })
}

fn service(settings: Value, env: &Env) -> Arc<dyn Connector> {
    Kind::of::<Settings>().open(settings, env).unwrap()
}

/// One whose leases end soon.
fn hasty(env: &Env, lease: Duration) -> Arc<dyn Connector> {
    let parsed: Settings = serde_json::from_value(settings()).unwrap();
    Settings { lease, ..parsed }.open(env).unwrap()
}

fn cx() -> Context {
    conformance::context(Duration::from_secs(30))
}

async fn call(connector: &Arc<dyn Connector>, tool: &str, arguments: Value) -> tool::Result<Value> {
    call_in(connector, &cx(), tool, arguments).await
}

async fn call_in(
    connector: &Arc<dyn Connector>,
    cx: &Context,
    tool: &str,
    arguments: Value,
) -> tool::Result<Value> {
    let arguments = arguments.as_object().cloned().unwrap();
    let outcome = conformance::bind_and_call(&**connector, cx, conformance::call(tool, arguments)).await?;
    let Outcome::Done(output) = outcome else { panic!("{outcome:?}") };
    Ok(serde_json::from_str(&output.data().unwrap()).unwrap())
}

/// The answer as it is written, to arguments as they are written.
async fn call_raw(connector: &Arc<dyn Connector>, tool: &str, arguments: &str) -> String {
    let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
    let call = Call::new(tool, Arguments::from_raw(arguments).unwrap());
    let outcome = conformance::bind_and_call(&**connector, &cx(), call).await.unwrap();
    let Outcome::Done(output) = outcome else { panic!("{outcome:?}") };
    output.data().unwrap().into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms_like_every_connector() {
    let home = Home::new().await;
    // Of no use to our own queues, but a secret.
    let identity = testkit::certificates::Authority::new().identity("client");
    let mut settings = settings();
    settings["tools"].as_array_mut().unwrap().push(json!({ "id": "slow", "receive": true }));
    settings["tls"] = json!({ "certificate": identity.certificate, "key": identity.key });
    let dead_settings = Capability::Absent("the database of the program is no remote");
    conformance::check(&subject(settings, dead_settings, home.env(), vec![identity.key])).await;
}

fn subject(settings: Value, dead_settings: Capability<Value>, env: Env, secrets: Vec<String>) -> Subject {
    Subject {
        tested: Tested::with::<Settings>(),
        readme: include_str!("README.md"),
        settings,
        dead_settings,
        env,
        secrets,
        good: Sample::new("created", json!({ "message": { "orderId": "O001" } })),
        bad: Sample::new("created", json!({ "message": 1, "delay": "soon" })),
        bad_argument: "delay",
        slow: Capability::Has(Sample::new("slow_receive", json!({ "waitMs": 20000 }))),
        echo: Capability::Absent("publishing does not say the message back"),
        undescribed: Capability::Has(&[]),
    }
}

/// MQ-3, MQ-7, MQ-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_triggers_conform() {
    let home = Home::new().await;
    let connector = service(settings(), &home.env());
    triggers::check(&triggers::Source { connector, tool: "created" }).await;
}

#[cfg(feature = "brokers")]
mod on_brokers {
    use super::*;

    fn needed(variable: &str) -> String {
        std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} is not set: use `make test` or `scripts/servers run -- cargo nextest run`")
        })
    }

    fn of(broker: &str, url: &str, tools: &Value) -> Value {
        json!({ "broker": broker, "connection_string": url, "allow_private_network": true, "tools": tools,
                "retry": { "max_attempts": 2, "initial_delay_ms": 10 } })
    }

    fn tools(kind: &str) -> Value {
        let tool = |id: &str| json!({ "id": id, "receive": true, kind: format!("{id}-{}", tool::new_id::<String>()) });
        json!([tool("created"), tool("slow")])
    }

    async fn conforms(broker: &str, variable: &str, kind: &str) {
        let url = needed(variable);
        let (scheme, rest) = url.split_once("://").unwrap();
        let (user, _) = rest.split_once('@').unwrap();
        let dead = format!("{scheme}://{user}@{}", testkit::http::dead_address().await);
        let tools = tools(kind);
        let dead_settings = Capability::Has(of(broker, &dead, &tools));
        let secrets = vec![url.clone()];
        conformance::check(&subject(of(broker, &url, &tools), dead_settings, Env::default(), secrets)).await;
    }

    async fn triggers_conform(broker: &str, variable: &str, kind: &str) {
        let home = Home::new().await;
        let connector = service(of(broker, &needed(variable), &tools(kind)), &home.env());
        triggers::check(&triggers::Source { connector, tool: "created" }).await;
    }

    /// With topics of its own, which clients cannot make.
    #[cfg(feature = "grpc")]
    async fn on_rocketmq(env: &Env) -> Value {
        let tools = tools("topic");
        for tool in tools.as_array().unwrap() {
            let broker = needed("MCP_TEST_ROCKETMQ_BROKER");
            testkit::rocketmq::make_topic(&broker, tool["topic"].as_str().unwrap(), 1, "MIXED").await;
        }
        let mut settings = of("rocketmq", &needed("MCP_TEST_ROCKETMQ_URL"), &tools);
        settings["username"] = "tester".into();
        settings["password"] = "tester-password".into();
        let service = service(settings.clone(), env);
        testkit::eventually("the proxy knows the topics", Duration::from_secs(30), async || {
            service.health(&cx()).await.is_ok()
        })
        .await;
        settings
    }

    #[cfg(feature = "grpc")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn brokers_conforms_like_every_connector_on_rocketmq() {
        let settings = on_rocketmq(&Env::default()).await;
        let mut dead = settings.clone();
        dead["connection_string"] = testkit::http::dead_address().await.to_string().into();
        let secrets = vec!["tester-password".to_owned()];
        conformance::check(&subject(settings, Capability::Has(dead), Env::default(), secrets)).await;
    }

    /// MQ-3, MQ-4, MQ-7, MQ-8
    #[cfg(feature = "grpc")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn brokers_triggers_conform_on_rocketmq() {
        let home = Home::new().await;
        let connector = service(on_rocketmq(&home.env()).await, &home.env());
        triggers::check(&triggers::Source { connector, tool: "created" }).await;
    }

    #[cfg(feature = "kafka")]
    mod kafka {
        use super::*;
        use krafka::testing::FakeBroker;

        /// MQ-4
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn conforms_like_every_connector() {
            let broker = FakeBroker::start().await.unwrap();
            broker.require_sasl_plain("ana", "right-password");
            let tools = tools("topic");
            let at = |servers: &str| {
                let mut settings = of("kafka", servers, &tools);
                let signing_in = json!({ "sasl": "PLAIN", "username": "ana", "password": "right-password" });
                settings.as_object_mut().unwrap().extend(signing_in.as_object().unwrap().clone());
                settings
            };
            let dead = at(&testkit::http::dead_address().await.to_string());
            let secrets = vec!["right-password".to_owned()];
            let settings = at(&broker.bootstrap_servers());
            conformance::check(&subject(settings, Capability::Has(dead), Env::default(), secrets)).await;
        }
    }

    #[cfg(feature = "redis")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn conforms_like_every_connector_on_redis() {
        conforms("redis", "MCP_TEST_REDIS_URL", "stream").await;
    }

    /// MQ-3, MQ-4, MQ-7, MQ-8
    #[cfg(feature = "redis")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn its_triggers_conform_on_redis() {
        triggers_conform("redis", "MCP_TEST_REDIS_URL", "stream").await;
    }

    #[cfg(feature = "rabbitmq")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn conforms_like_every_connector_on_rabbitmq() {
        conforms("rabbitmq", "MCP_TEST_RABBITMQ_URL", "queue").await;
    }

    /// MQ-3, MQ-4, MQ-7, MQ-8
    #[cfg(feature = "rabbitmq")]
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn its_triggers_conform_on_rabbitmq() {
        triggers_conform("rabbitmq", "MCP_TEST_RABBITMQ_URL", "queue").await;
    }
}

fn problems(settings: Value) -> Vec<(String, String)> {
    let error = Kind::of::<Settings>().open(settings, &Env::default()).err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    error.problems().iter().map(|problem| (problem.path.clone(), problem.message.clone())).collect()
}

#[test]
fn refuses_settings_that_cannot_work() {
    for (settings, path) in [
        (json!({ "broker": "carrier-pigeon" }), "broker"),
        (json!({ "connection_string": "redis://h" }), "connection_string"),
        (json!({ "max_message_bytes": 0 }), "max_message_bytes"),
        (json!({ "tools": [{ "id": "a b" }] }), "tools[0].id"),
        (json!({ "tools": [{ "id": "a" }, { "id": "a" }] }), "tools[1].id"),
        (json!({ "tools": [{ "id": "a", "peek": true }, { "id": "a_peek" }] }), "tools[1].id"),
        (json!({ "tools": [{ "id": "a", "topic": "t" }] }), "tools[0].topic"),
        (json!({ "tools": [{ "id": "a", "queue": "" }] }), "tools[0].queue"),
        (json!({ "tools": [{ "id": "a", "key": "a[" }] }), "tools[0].key"),
        (
            json!({ "tools": [{ "id": "a", "message_schema": { "type": "nothing" } }] }),
            "tools[0].message_schema",
        ),
        (json!({ "tools": [{ "id": "a", "message_schema": true }] }), "tools[0].message_schema"),
    ] {
        let found = problems(settings.clone());
        assert!(found.iter().any(|(found, _)| found == path), "{settings}: {found:?}");
    }
}

/// MQ-4: runs in `make features`, which builds without default features.
#[cfg(not(feature = "brokers"))]
#[test]
fn a_broker_that_was_left_out_names_its_feature() {
    for (broker, feature) in
        [("redis", "redis"), ("rocketmq", "grpc"), ("kafka", "kafka"), ("rabbitmq", "rabbitmq")]
    {
        let found = problems(json!({ "broker": broker, "connection_string": "redis://h" }));
        assert!(found[0].1.contains(&format!("build with the feature '{feature}'")), "{found:?}");
    }
}
