//! Tables against a keeper in memory: what the public edge cannot show.

use super::*;
use document::Change;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::conformance::{self, Capability, Sample, Subject, Tested, context};
use tool::{Arguments, Edit, ErrorKind, TenantId, Uri};

/// One table for everybody.
#[derive(Debug)]
struct Keeper(Mutex<Table>);

#[async_trait]
impl Tables for Keeper {
    async fn read(&self, _: &TenantId, _: &TableId) -> Result<Table> {
        Ok(self.0.lock().unwrap().clone())
    }

    async fn change(&self, _: &TenantId, _: &TableId, _: &str, edit: Edit<'_>) -> Result<Table> {
        let mut table = self.0.lock().unwrap();
        let change: Change = edit(&table)?;
        change.apply(&mut table.document).map_err(document_error)?;
        table.version += 1;
        Ok(table.clone())
    }
}

/// The same, whose changes take long.
#[derive(Debug)]
struct SlowKeeper(Keeper);

#[async_trait]
impl Tables for SlowKeeper {
    async fn read(&self, tenant: &TenantId, id: &TableId) -> Result<Table> {
        self.0.read(tenant, id).await
    }

    async fn change(&self, tenant: &TenantId, id: &TableId, by: &str, edit: Edit<'_>) -> Result<Table> {
        tokio::time::sleep(Duration::from_secs(8)).await;
        self.0.change(tenant, id, by, edit).await
    }
}

fn keeper(document: &Value) -> Keeper {
    let size_bytes = document.to_string().len();
    let document = Node::from(document);
    Keeper(Mutex::new(Table { owner: "ada".into(), version: 1, size_bytes, document }))
}

#[tokio::test]
async fn conforms_like_every_connector() {
    let elements = json!([{ "content": 1 }]);
    let subject = Subject {
        tested: Tested::with::<Settings>(),
        readme: include_str!("README.md"),
        settings: json!({ "table_id": "t1" }),
        dead_settings: Capability::Absent("tables are in our own database"),
        env: Env { tables: Some(Arc::new(SlowKeeper(keeper(&json!([]))))), ..Env::default() },
        secrets: Vec::new(),
        good: Sample::new("get_all_data", json!({})),
        bad: Sample::new("query_data", json!({ "query": 7 })),
        bad_argument: "query",
        slow: Capability::Has(Sample::new("create", json!({ "elements": elements }))),
        echo: Capability::Absent("no operation repeats a text it is given"),
        undescribed: Capability::Absent("a table holds any JSON, and its tools give it as it is"),
    };
    conformance::check(&subject).await;
}

fn open(document: &Value) -> Arc<dyn Connector> {
    let env = Env { tables: Some(Arc::new(keeper(document))), ..Env::default() };
    let ambient = crate::find("table").unwrap().ambient.unwrap();
    (ambient.open)("t1", &env).unwrap()
}

async fn call_with(connector: &dyn Connector, cx: &Context, uri: &str, arguments: Value) -> Result<Value> {
    let uri: Uri = format!("table://t1/{uri}").parse().unwrap();
    let arguments: Arguments = arguments.as_object().cloned().unwrap().into();
    let tool = uri.tool().unwrap().to_owned();
    let outcome = connector
        .call(
            cx,
            Call {
                tool,
                arguments,
                options: uri.options().clone(),
                extras: Default::default(),
                max_answer_bytes: usize::MAX,
            },
        )
        .await?;
    let Outcome::Done(output) = outcome else { panic!("a table answers at once") };
    Ok(serde_json::from_str(&output.data().unwrap()).unwrap())
}

async fn call(connector: &dyn Connector, uri: &str, arguments: Value) -> Result<Value> {
    call_with(connector, &context(Duration::from_secs(30)), uri, arguments).await
}

#[tokio::test]
async fn offers_every_operation_with_a_schema_that_its_answer_passes() {
    let connector = open(&json!({}));
    let tools = connector.tools(&context(Duration::from_secs(1))).await.unwrap();
    let names: Vec<_> = tools.iter().map(Tool::name).collect();
    let mut expected = tools::TYPES.to_vec();
    expected.sort_unstable();
    assert_eq!(names, expected);
    for tool in &tools {
        let schema: Value = serde_json::from_str(tool.input_schema().get()).unwrap();
        tool::schema::Schema::compile(&schema, "parameter").unwrap();
        assert_eq!(schema["additionalProperties"], false, "{}", tool.name());
    }
    connector.health(&context(Duration::from_secs(1))).await.unwrap();
    let error = call(&*connector, "nope", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn works_where_the_uri_says() {
    let connector = open(&json!({ "a/b": { "list": [1, 2] } }));
    let found = call(&*connector, "get_all_data?path=/a~1b/list", json!({})).await.unwrap();
    assert_eq!(found, json!({ "data": [1, 2] }));
    let error = call(&*connector, "get_all_data?path=/a", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing);
    let error = call(&*connector, "get_all_data?path=a", json!({})).await.unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("path")));
}

#[tokio::test]
async fn says_which_argument_does_not_fit() {
    let connector = open(&json!([]));
    for (uri, arguments, word) in [
        ("query_data", json!({ "query": 7 }), "string"),
        ("query_data", json!({}), "query"),
        ("select", json!({ "field": "a" }), "keys"),
        ("create", json!({ "elements": [{}] }), "content"),
        ("delete", json!({ "keys": [{}] }), "'keys[0]'"),
    ] {
        let error = call(&*connector, uri, arguments).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().contains(word), "{uri}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_soon_after_cancel_and_deadline() {
    let rows: Vec<Value> = (0..20_000).map(|n| json!({ "n": n })).collect();
    let connector = open(&rows.into());
    // Looks at every pair, which would take minutes.
    let slow = json!({ "query": "[].[n, `1`] | map(&sort(@), @) | [?contains(@, `-1`)] || [].n | [?contains([0:20000], @)] | [?contains([0:20000], @)]" });
    let cx = context(Duration::from_millis(100));
    let begun = Instant::now();
    let result = call_with(&*connector, &cx, "query_data", slow.clone()).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    if let Err(error) = result {
        assert!(matches!(error.kind(), ErrorKind::Timeout | ErrorKind::InvalidInput), "{error:?}");
    }
    let cx = context(Duration::from_secs(60));
    cx.cancel.cancel();
    let begun = Instant::now();
    let error = call_with(&*connector, &cx, "query_data", slow).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::InvalidInput), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gives_each_of_many_callers_their_own_answer() {
    let rows: Vec<Value> = (0..5000).map(|n| json!({ "n": n })).collect();
    let connector = open(&rows.into());
    let calls = (0..32).map(|n| {
        let connector = connector.clone();
        tokio::spawn(async move { call(&*connector, "select", json!({ "field": "n", "keys": [n] })).await })
    });
    for (n, answer) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        let answer = answer.await.unwrap().unwrap();
        assert_eq!(answer, json!({ "data": [{ "n": n }], "matched_count": 1 }));
    }
}

#[tokio::test]
async fn keeps_no_more_queries_than_it_should() {
    let env = Env::default();
    let tools = TableTools::new(&env, TableId::generate(), Pointer::default(), tools::all().unwrap());
    for n in 0..MAX_QUERIES * 2 {
        tools.query(&format!("[{n}]")).unwrap();
    }
    assert!(tools.queries.lock().unwrap().len() <= MAX_QUERIES);
    let (first, again) = (tools.query("a.b").unwrap(), tools.query("a.b").unwrap());
    assert!(Arc::ptr_eq(&first, &again), "a query is compiled once");
    let error = tools.read(&context(Duration::from_secs(1))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "without a server there are no tables");
}
