//! Values of every type on their way out and back in.

use super::support::{Engine, Place};
use crate::on_every_engine;
use serde_json::{Value, json};

on_every_engine! {
    keeps_numbers_bytes_and_times
    tells_columns_apart_and_says_their_types
    takes_bytes_in_every_form_of_base64
    takes_json_as_json
    says_of_no_column_what_it_is_not
    says_when_there_is_no_such_database
}

/// DB-3
async fn takes_bytes_in_every_form_of_base64(place: Place) {
    let bytes = match place.engine {
        Engine::Sqlite => "BLOB",
        Engine::Postgres => "BYTEA",
        Engine::Mariadb => "VARBINARY(100)",
    };
    place.run(&format!("CREATE TABLE samples (id INTEGER PRIMARY KEY, data {bytes})")).await;
    let service = place.open(json!({ "read_only": false, "operations": ["create", "count"] }));
    for (id, given) in ["/+8=", "_-8=", "/+8", "_-8"].into_iter().enumerate() {
        let created = service.call("samples_create", json!({ "id": id, "data": given })).await.unwrap();
        assert_eq!(created["data"], "/+8=", "{given}");
    }
    let found = service.call("samples_count", json!({ "where": { "data": "_-8" } })).await.unwrap();
    assert_eq!(found["count"], 4);
    for given in ["/-8=", "%", "a", "/+8=="] {
        let error = service.error("samples_create", json!({ "id": 9, "data": given })).await;
        assert!(error.message().contains("'data' must be bytes in base64"), "{given}: {error}");
    }
}

/// DB-3: objects and lists go in as they are; MariaDB keeps JSON as a text, and shows it as one.
async fn takes_json_as_json(place: Place) {
    if place.engine == Engine::Sqlite {
        return;
    }
    place.run("CREATE TABLE samples (id INTEGER PRIMARY KEY, j JSON, t TEXT, size INTEGER)").await;
    let service = place.open(json!({ "read_only": false, "operations": ["create", "modify", "take"] }));
    for (id, given) in
        [json!({ "a": [1, { "b": null }] }), json!([1, 2]), json!(5), json!(true)].into_iter().enumerate()
    {
        let row = service.call("samples_create", json!({ "id": id, "j": given })).await.unwrap();
        let shown = match (&row["j"], place.engine) {
            (Value::String(text), Engine::Mariadb) => serde_json::from_str(text).unwrap(),
            (shown, _) => shown.clone(),
        };
        assert_eq!(shown, given);
        // What was read can be written.
        let same = service.call("samples_modify", json!({ "id": id, "j": row["j"] })).await.unwrap();
        assert_eq!(same, row);
    }
    let error = service.error("samples_create", json!({ "id": 9, "t": { "a": 1 } })).await;
    assert!(error.message().contains("'t' must be a string"), "{error}");
}

/// DB-3: a number that no float holds is refused by name, and a column that was computed has no type where nobody says so.
async fn says_of_no_column_what_it_is_not(place: Place) {
    place.run("CREATE TABLE samples (id INTEGER PRIMARY KEY, ratio DOUBLE PRECISION)").await;
    let service = place.open(json!({ "read_only": false, "operations": ["create"] }));
    let error = service.text("samples_create", r#"{"id":1,"ratio":1e400}"#).await.unwrap_err();
    assert!(error.message().contains("'ratio' must be a number within the range"), "{error}");
    let answer = service.query("SELECT id, id + 1 AS next, 'x' AS text FROM samples").await.unwrap();
    let types: Vec<_> =
        answer["columns"].as_array().unwrap().iter().map(|column| column["type"].clone()).collect();
    assert!(types[0].is_string());
    match place.engine {
        Engine::Sqlite => assert_eq!(types[1..], [Value::Null, Value::Null]),
        Engine::Postgres | Engine::Mariadb => assert!(types.iter().all(Value::is_string), "{types:?}"),
    }
    let schema = service.field("query", "outputSchema").await;
    assert_eq!(
        schema["properties"]["columns"]["items"]["properties"]["type"]["type"],
        json!(["string", "null"])
    );
}

async fn says_when_there_is_no_such_database(place: Place) {
    if place.engine == Engine::Sqlite {
        return;
    }
    // Who may not even know of it is told that the sign-in is refused.
    let absent = place.connection_string().rsplit_once('/').unwrap().0.to_owned() + "/no_such_database";
    let service = place.open(json!({ "connection_string": absent }));
    let error = service.query("SELECT 1").await.unwrap_err();
    let words = match place.engine {
        Engine::Mariadb => "'no_such_database'",
        Engine::Sqlite | Engine::Postgres => "the server has no such database",
    };
    assert!(error.message().contains(words) && error.message().contains("'connection_string'"), "{error}");
}

async fn keeps_numbers_bytes_and_times(place: Place) {
    let (table, bytes) = match place.engine {
        Engine::Sqlite => (
            "id INTEGER PRIMARY KEY, big BIGINT, price TEXT, ratio REAL, flag BOOLEAN, data BLOB, day TEXT, at TEXT",
            "blob",
        ),
        Engine::Postgres => (
            "id INT PRIMARY KEY, big BIGINT, price NUMERIC(30, 10), ratio DOUBLE PRECISION, flag BOOLEAN, data BYTEA, day DATE, at TIMESTAMPTZ",
            "bytea",
        ),
        Engine::Mariadb => (
            "id INT PRIMARY KEY, big BIGINT, price DECIMAL(30, 10), ratio DOUBLE, flag BOOLEAN, data VARBINARY(100), day DATE, at DATETIME(6)",
            "varbinary(100)",
        ),
    };
    place.run(&format!("CREATE TABLE samples ({table})")).await;
    let operations = json!(["take", "list", "create", "modify"]);
    let service = place.open(json!({ "read_only": false, "operations": operations }));
    let row = json!({
        "id": 1, "big": "9007199254740993", "price": "12345678901234567890.0123456789", "ratio": 0.1, "flag": true,
        "data": "AP8B", "day": "2024-02-29", "at": "2024-05-06T07:08:09.123456Z",
    });
    let created = service.call("samples_create", row.clone()).await.unwrap();
    let taken = service.call("samples_take", json!({ "id": 1 })).await.unwrap();
    assert_eq!(created, taken);
    let mut expected = row.clone();
    // SQLite has no booleans: what it was given is a number.
    if place.engine == Engine::Sqlite {
        expected["flag"] = 1.into();
    }
    assert_eq!(taken, expected);
    for (name, value) in row.as_object().unwrap().iter().filter(|(name, _)| *name != "ratio") {
        let found = service.call("samples_list", json!({ "where": { name: value } })).await.unwrap();
        assert_eq!(found["rows"].as_array().unwrap().len(), 1, "{name} {value}");
    }
    let extremes = json!({ "id": 2, "big": i64::MIN.to_string(), "ratio": -1.5e300, "price": "-0.0000000001", "flag": false });
    let created = service.call("samples_create", extremes).await.unwrap();
    assert_eq!((&created["big"], &created["price"]), (&json!(i64::MIN.to_string()), &json!("-0.0000000001")));
    assert_eq!((&created["data"], &created["at"]), (&Value::Null, &Value::Null));
    let described = service.call("describe", json!({ "table": "samples" })).await.unwrap();
    let data =
        described["columns"].as_array().unwrap().iter().find(|column| column["name"] == "data").unwrap();
    assert_eq!(data["type"].as_str().unwrap().to_lowercase(), bytes);
    let small = service.call("samples_modify", json!({ "id": 1, "big": 5 })).await.unwrap();
    assert_eq!(small["big"], 5);
}

async fn tells_columns_apart_and_says_their_types(place: Place) {
    let service = place.open(json!({}));
    let answer = service.query("SELECT 1 AS a, 'x' AS a, NULL AS b").await.unwrap();
    assert_eq!(answer["rows"], json!([{ "a": 1, "a_2": "x", "b": null }]));
    let names: Vec<_> =
        answer["columns"].as_array().unwrap().iter().map(|column| column["name"].clone()).collect();
    assert_eq!(names, ["a", "a_2", "b"]);
    let empty = service.query("SELECT 1 AS a WHERE 1 = 0").await.unwrap();
    assert_eq!((empty["columns"][0]["name"].as_str(), &empty["rows"]), (Some("a"), &json!([])));
}

#[tokio::test]
async fn reads_the_types_of_postgresql() {
    let place = Place::make(Engine::Postgres).await;
    place
        .run("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN positive AS int CHECK (value > 0)")
        .await;
    let service = place.open(json!({}));
    for (sql, expected) in [
        ("'{1,NULL,3}'::int[]", json!([1, null, 3])),
        ("'{{a,b},{c,d}}'::text[]", json!([["a", "b"], ["c", "d"]])),
        ("'{}'::int[]", json!([])),
        ("'happy'::mood", json!("happy")),
        ("7::positive", json!(7)),
        ("'{\"a\": [1, 2.50]}'::jsonb", json!({ "a": [1, 2.5] })),
        ("'{\"a\":1}'::json", json!({ "a": 1 })),
        ("'00000000-0000-0000-0000-0000000000ff'::uuid", json!("00000000-0000-0000-0000-0000000000ff")),
        ("'1 year 2 mons 3 days 04:05:06.7'::interval", json!("P1Y2M3DT4H5M6.7S")),
        ("'10.1.2.3/24'::inet", json!("10.1.2.3/24")),
        ("'12.34'::money", json!("12.34")),
        ("'NaN'::float8", json!("NaN")),
        ("1.5::float4", json!(1.5)),
        ("0.1::float4", json!(0.1)),
        ("'04:05:06'::time", json!("04:05:06")),
        ("'04:05:06+02'::timetz", json!("04:05:06+02:00")),
        ("'2024-01-02 03:04:05'::timestamp", json!("2024-01-02T03:04:05Z")),
        ("'infinity'::timestamptz", json!("infinity")),
        ("'x'::\"char\"", json!("x")),
        ("'ab'::char(4)", json!("ab  ")),
        ("int4range(1, 5)::text", json!("[1,5)")),
    ] {
        let answer = service.query(&format!("SELECT {sql} AS v")).await.unwrap();
        assert_eq!(answer["rows"][0]["v"], expected, "{sql}");
    }
    place.run("CREATE TABLE odd (id int PRIMARY KEY, tags text[], spot point, span int4range, who mood, doc jsonb, code char(4), grid int[], took interval, ratio float8)").await;
    let service = place.open(json!({ "read_only": false, "operations": ["create", "list"] }));
    let row = json!({
        "id": 1, "tags": ["a,b", "\"c\"", null], "spot": "(1,2)", "span": "[1,5)", "who": "happy", "doc": { "x": [1] }, "code": "abcd",
        "grid": [[1, null], [3, 4]], "took": "P1Y2M3DT4H5M6.7S", "ratio": "NaN",
    });
    assert_eq!(service.call("odd_create", row.clone()).await.unwrap(), row);
    let sql = "SELECT id FROM odd WHERE id = ANY(:ids) AND tags && :tags";
    let params = json!({ "ids": [1, 7, null], "tags": ["a,b"] });
    let answer = service.call("query", json!({ "sql": sql, "params": params })).await.unwrap();
    assert_eq!(answer["rows"], json!([{ "id": 1 }]));
    // The driver knows nothing of it.
    let error = service.query("SELECT int4multirange(int4range(1, 5)) AS v").await.unwrap_err();
    assert!(error.message().contains("cast"), "{error}");
    let error = service.error("odd_create", json!({ "id": 2, "code": "abcde" })).await;
    assert_eq!(error.kind(), tool::ErrorKind::InvalidInput, "{error:?}");
}

#[tokio::test]
async fn reads_the_types_of_mariadb() {
    let place = Place::make(Engine::Mariadb).await;
    let service = place.open(json!({}));
    for (sql, expected) in [
        ("CAST('2024-01-02 03:04:05' AS DATETIME)", json!("2024-01-02T03:04:05Z")),
        ("CAST('2024-01-02' AS DATE)", json!("2024-01-02")),
        ("CAST('-26:03:04' AS TIME)", json!("-26:03:04")),
        ("CAST(18446744073709551615 AS UNSIGNED)", json!("18446744073709551615")),
        ("CAST('1.50' AS DECIMAL(10, 2))", json!("1.50")),
        ("CAST('ab' AS BINARY)", json!("YWI=")),
        ("b'1000000001'", json!("AgE=")),
        ("_utf8mb4'日本' COLLATE utf8mb4_bin", json!("日本")),
        ("1 = 1", json!(1)),
        ("1e0", json!(1.0)),
    ] {
        let answer = service.query(&format!("SELECT {sql} AS v")).await.unwrap();
        assert_eq!(answer["rows"][0]["v"], expected, "{sql}");
    }
    place.run("CREATE TABLE flags (id INT PRIMARY KEY, flag TINYINT(1)); INSERT INTO flags VALUES (1, 5), (2, 1), (3, 0)").await;
    let service = place.open(json!({}));
    let rows = service.call("flags_list", json!({})).await.unwrap();
    let flags = json!([{ "id": 1, "flag": 5 }, { "id": 2, "flag": true }, { "id": 3, "flag": false }]);
    assert_eq!(rows["rows"], flags);
}

/// SQLite would round it, and nobody would be told. DB-3
#[tokio::test]
async fn refuses_whole_numbers_that_sqlite_does_not_have() {
    let place = Place::make(Engine::Sqlite).await;
    place.run("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)").await;
    let service = place.open(json!({ "read_only": false, "operations": ["create", "take"] }));
    for number in [json!(9_223_372_036_854_775_808_u64), json!("18446744073709551615")] {
        let error = service.error("t_create", json!({ "id": 1, "n": number })).await;
        assert_eq!(error.kind(), tool::ErrorKind::InvalidInput, "{error:?}");
        assert!(error.message().contains("'n'"), "{error}");
    }
    service.call("t_create", json!({ "id": 1, "n": i64::MAX })).await.unwrap();
    assert_eq!(place.number("SELECT n FROM t").await, i64::MAX);
}
