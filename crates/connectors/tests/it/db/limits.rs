//! Limits on rows and bytes that hold while rows are read, whatever the database would send.

use super::support::{Engine, Place, eventually};
use crate::on_every_engine;
use serde_json::{Value, json};
use tool::ErrorKind;

on_every_engine! {
    ten_million_rows_are_truncated
    bytes_are_limited_at_whole_rows
    a_row_of_200_mib_is_refused
    answers_have_no_more_than_callers_get
    servers_with_little_room_read_nevertheless
}

/// The most memory this process has had, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

fn assert_bounded(before: usize) {
    let grown = peak().saturating_sub(before);
    assert!(grown < 48 * 1024 * 1024, "memory grew by {} MiB", grown / 1024 / 1024);
}

fn ten_million(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => {
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 10000000) SELECT x, 'some text' AS t FROM n"
        }
        Engine::Postgres => "SELECT x, 'some text' AS t FROM generate_series(1, 10000000) x",
        Engine::Mariadb => "SELECT seq AS x, 'some text' AS t FROM seq_1_to_10000000",
    }
}

/// DB-4, F25
async fn ten_million_rows_are_truncated(place: Place) {
    let service = place.open(json!({ "pool_size": 2 }));
    service.query("SELECT 1").await.unwrap();
    let before = peak();
    let begin = std::time::Instant::now();
    for _ in 0..3 {
        let answer = service.query(ten_million(place.engine)).await.unwrap();
        assert_eq!((answer["rows"].as_array().unwrap().len(), &answer["truncated"]), (1000, &json!(true)));
    }
    assert!(begin.elapsed().as_secs() < 15, "nobody waits for rows that nobody reads: {:?}", begin.elapsed());
    assert_bounded(before);
    if place.engine != Engine::Sqlite {
        eventually("the end of the statements", || async { place.running().await == 0 }).await;
        assert!(place.sessions().await <= 2);
    }
}

/// DB-4
async fn bytes_are_limited_at_whole_rows(place: Place) {
    let service = place.open(json!({ "max_rows": 100_000, "max_bytes": 10_000 }));
    let answer = service.query(ten_million(place.engine)).await.unwrap();
    let rows = answer["rows"].as_array().unwrap();
    assert_eq!(answer["truncated"], true);
    assert!(
        (200..400).contains(&rows.len()) && rows.iter().all(|row| row["t"] == "some text"),
        "{}",
        rows.len()
    );
    place.run("CREATE TABLE wide (id INTEGER PRIMARY KEY, text VARCHAR(5000))").await;
    let rows: Vec<_> = (1..=9).map(|id| format!("({id}, '{}')", "x".repeat(3000))).collect();
    place.run(&format!("INSERT INTO wide VALUES {}", rows.join(", "))).await;
    let service = place.open(json!({ "max_bytes": 10_000, "operations": ["list", "page", "stream"] }));
    let answer = service.call("wide_list", json!({})).await.unwrap();
    assert_eq!((answer["rows"].as_array().unwrap().len(), &answer["truncated"]), (3, &json!(true)));
    let answer = service.call("wide_stream", json!({})).await.unwrap();
    let answer = service.call("wide_stream", json!({ "after": answer["after"] })).await.unwrap();
    assert_eq!(answer["rows"][0]["id"], 4);
    // A page that is cut would not be the page.
    assert_eq!(service.error("wide_page", json!({})).await.kind(), ErrorKind::InvalidInput);
    let page = service.call("wide_page", json!({ "size": 2 })).await.unwrap();
    assert_eq!(page["totalPages"], 5);
}

/// DB-4, F25
async fn a_row_of_200_mib_is_refused(place: Place) {
    const BYTES: usize = 200 * 1024 * 1024;
    let sql = match place.engine {
        Engine::Sqlite => {
            place.run(&format!("CREATE TABLE big (id INTEGER PRIMARY KEY, data BLOB); INSERT INTO big VALUES (1, zeroblob({BYTES}))")).await;
            "SELECT * FROM big".to_owned()
        }
        Engine::Postgres | Engine::Mariadb => format!("SELECT 1 AS id, repeat('x', {BYTES}) AS data"),
    };
    let service = place.open(json!({}));
    service.query("SELECT 1").await.unwrap();
    let before = peak();
    let error = service.query(&sql).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
    assert!(error.message().contains("max_bytes"), "{error}");
    if place.engine == Engine::Sqlite {
        for (tool, arguments) in [("big_list", json!({})), ("big_take", json!({ "id": 1 }))] {
            let error = service.error(tool, arguments).await;
            assert!(error.message().contains("max_bytes"), "{error}");
        }
        assert_eq!(
            service.call("big_list", json!({ "fields": ["id"] })).await.unwrap()["rows"],
            json!([{ "id": 1 }])
        );
    }
    assert_bounded(before);
    assert_eq!(service.query("SELECT 2 AS n").await.unwrap()["rows"], json!([{ "n": 2 }]));
}

/// What a Tool allows is kept by whoever can say that there is more: nothing is lost on the way through pages. DB-4
async fn answers_have_no_more_than_callers_get(place: Place) {
    place.run("CREATE TABLE wide (id INTEGER PRIMARY KEY, text VARCHAR(200))").await;
    let rows: Vec<_> = (1..=60).map(|id| format!("({id}, '{}')", "x".repeat(100))).collect();
    place.run(&format!("INSERT INTO wide VALUES {}", rows.join(", "))).await;
    let named = json!([{ "id": "all", "sql": "SELECT id, text FROM wide ORDER BY id" }]);
    let service = place.open(json!({ "operations": ["take", "list", "page", "stream"], "tools": named }));
    for bytes in [600, 2_000, 5_000] {
        let parsed = async |tool: &str, arguments: Value| -> Value {
            let answer = service.text_within(bytes, tool, arguments).await.unwrap();
            assert!(answer.len() <= bytes, "{tool}: {} of {bytes}", answer.len());
            serde_json::from_str(&answer).unwrap()
        };
        for (tool, arguments) in [
            ("wide_list", json!({})),
            ("query", json!({ "sql": "SELECT id, text FROM wide ORDER BY id" })),
            ("all", json!({})),
        ] {
            let answer = parsed(tool, arguments).await;
            let count = answer["rows"].as_array().unwrap().len();
            assert!(count > 0 && count < 60 && answer["truncated"] == true, "{tool} within {bytes}: {count}");
        }
        let (mut seen, mut after) = (0, Value::Null);
        loop {
            let mut arguments = json!({});
            if after.is_string() {
                arguments["after"] = after;
            }
            let answer = parsed("wide_stream", arguments).await;
            for row in answer["rows"].as_array().unwrap() {
                seen += 1;
                assert_eq!(row["id"], seen, "no row is left out");
            }
            after = answer["after"].clone();
            if after.is_null() {
                break;
            }
        }
        assert_eq!(seen, 60);
        assert_eq!(parsed("wide_take", json!({ "id": 7 })).await["id"], 7);
        // A page that is cut would not be the page.
        let error = service.text_within(bytes, "wide_page", json!({ "size": 60 })).await.unwrap_err();
        assert!(error.message().contains("'max_result_bytes' of the Tool"), "{error}");
    }
    let error = service.text_within(100, "wide_list", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(
        error.message().contains("'max_result_bytes' of the Tool, --max-result-bytes of the server"),
        "{error}"
    );
    assert!(service.text_within(100, "wide_take", json!({ "id": 7 })).await.is_err());
    let few = json!({ "fields": ["id"], "limit": 2 });
    let answer = service.text_within(100, "wide_list", few).await.unwrap();
    assert_eq!(answer, r#"{"rows":[{"id":1},{"id":2}],"truncated":true}"#);
}

/// A server that gives little room for answers takes a share of it for what stands around rows, and not all. DB-4
async fn servers_with_little_room_read_nevertheless(place: Place) {
    place.run(super::support::ORDERS).await;
    for bytes in [1_024, 4_096, 16_384, 16_385] {
        let env = tool::Env { result_budget_bytes: bytes, ..tool::Env::default() };
        let service = place.open_in(&env, json!({ "operations": ["take", "list", "count"] })).unwrap();
        let listed = service.call("orders_list", json!({})).await.unwrap();
        assert_eq!(listed["rows"].as_array().unwrap().len(), 3, "with {bytes}");
        assert_eq!(service.call("orders_take", json!({ "id": 2 })).await.unwrap()["customer"], "bob");
        assert_eq!(service.query("SELECT id FROM orders").await.unwrap()["truncated"], false);
        assert_eq!(service.call("tables", json!({})).await.unwrap()["rows"][0]["name"], "orders");
    }
    let env = tool::Env { result_budget_bytes: 1_024, ..tool::Env::default() };
    let service = place.open_in(&env, json!({})).unwrap();
    let error =
        service.query("SELECT 'yes' AS a, replace('1234567890', '1', 'a long text') AS b, 1 AS c").await;
    error.unwrap();
    let long = "x".repeat(900);
    let error = service.query(&format!("SELECT '{long}' AS a")).await.unwrap_err();
    assert!(error.message().contains("--max-result-bytes of the server"), "{error}");
}

/// A function that makes a large value cannot be interrupted, so none is made. DB-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn functions_of_sqlite_make_no_large_values() {
    let place = Place::make(Engine::Sqlite).await;
    let service = place.open(json!({ "statement_timeout_ms": 2000, "pool_size": 2 }));
    service.query("SELECT 1").await.unwrap();
    let before = peak();
    for sql in [
        "SELECT instr(printf('%.*c', 16000000, 'a'), printf('%.*c', 8000000, 'a') || 'b') AS n",
        "SELECT length(zeroblob(1000000000)) + length(hex(zeroblob(500000000))) AS n",
        "SELECT length(randomblob(1000000000)) AS n",
        "SELECT length(replace(hex(zeroblob(500000)), '00', hex(zeroblob(1000)))) AS n",
        "WITH RECURSIVE d(x) AS (SELECT 'aaaaaaaa' UNION ALL SELECT x || x FROM d) SELECT max(length(x)) AS n FROM d",
    ] {
        let begin = std::time::Instant::now();
        match service.query(sql).await {
            // `printf` gives nothing where there would be too much.
            Ok(answer) => assert_eq!(answer["rows"], json!([{ "n": null }]), "{sql}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput, "{sql}: {error:?}"),
        }
        assert!(begin.elapsed().as_secs() < 2, "{sql}: {:?}", begin.elapsed());
    }
    assert_bounded(before);
    assert_eq!(service.query("SELECT 2 AS n").await.unwrap()["rows"], json!([{ "n": 2 }]));
}

/// Many values that are not large by themselves. DB-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_of_sqlite_take_no_more_than_their_memory_and_time() {
    const MANY: &str = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1500)";
    let place = Place::make(Engine::Sqlite).await;
    let service = place.open(json!({ "statement_timeout_ms": 2000, "pool_size": 1 }));
    service.query("SELECT 1").await.unwrap();
    let before = peak();
    for sql in [
        format!(
            "SELECT count(*) FROM ({MANY} SELECT hex(zeroblob(500000)) || x AS b FROM c ORDER BY b LIMIT 100000)"
        ),
        format!("SELECT count(DISTINCT b) FROM ({MANY} SELECT x || hex(zeroblob(400000)) AS b FROM c)"),
    ] {
        let begin = std::time::Instant::now();
        let outcome = service.query(&sql).await;
        // The next one needs the session, so that this one has really ended.
        assert_eq!(service.query("SELECT 2 AS n").await.unwrap()["rows"], json!([{ "n": 2 }]));
        let grown = peak().saturating_sub(before) / 1024 / 1024;
        assert!(grown < 300, "memory grew by {grown} MiB: {sql:.80}: {outcome:?}");
        assert!(begin.elapsed().as_secs() < 6, "{:?}: {sql:.80}: {outcome:?}", begin.elapsed());
        if let Err(error) = outcome {
            let is_told = error.message().contains("memory") || error.kind() == ErrorKind::Timeout;
            assert!(is_told || error.kind() == ErrorKind::InvalidInput, "{error:?}");
        }
    }
}

/// The driver makes room for a row before it comes, so a large value is not even sent. DB-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_values_do_not_leave_postgresql() {
    let place = Place::make(Engine::Postgres).await;
    place.run("CREATE TABLE big (id int PRIMARY KEY, t text, b bytea, j jsonb, l text[])").await;
    place
        .run("INSERT INTO big SELECT 1, repeat('x', 3000000), repeat('x', 3000000)::bytea, to_jsonb(repeat('x', 3000000)), ARRAY[repeat('x', 3000000)]")
        .await;
    let service = place.open(json!({ "max_bytes": 2_000_000, "pool_size": 1 }));
    for (tool, arguments) in [
        ("query", json!({ "sql": "SELECT t FROM big" })),
        ("query", json!({ "sql": "SELECT id, b FROM big -- all" })),
        ("query", json!({ "sql": "WITH x AS (SELECT j FROM big) SELECT * FROM x" })),
        ("query", json!({ "sql": "VALUES (ARRAY[repeat('x', 3000000)])" })),
        ("query", json!({ "sql": "SELECT big FROM big" })),
        ("query", json!({ "sql": "TABLE big" })),
        ("query", json!({ "sql": "(SELECT t FROM big)" })),
        ("query", json!({ "sql": "SELECT substr(t, 1, 1500000) AS a, substr(t, 1, 1500000) AS b FROM big" })),
        ("big_list", json!({})),
        ("big_take", json!({ "id": 1 })),
    ] {
        let error = service.error(tool, arguments.clone()).await;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{arguments}: {error:?}");
        assert!(error.message().contains("max_bytes"), "{arguments}: {error}");
    }
    let sql = "SELECT 'a' AS x, 1 AS x, length(t) AS n, NULL AS y, id FROM big ORDER BY id DESC";
    let answer = service.query(sql).await.unwrap();
    let row = json!([{ "x": "a", "x_2": 1, "n": 3_000_000, "y": null, "id": 1 }]);
    assert_eq!(answer["rows"], row);
    assert_eq!(answer["columns"].as_array().unwrap().len(), 5);
    let listed = service.call("big_list", json!({ "fields": ["id"] })).await.unwrap();
    assert_eq!(listed["rows"], json!([{ "id": 1 }]));
}
