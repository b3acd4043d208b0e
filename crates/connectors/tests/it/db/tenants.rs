//! The tenant's column: in every filter and in every row that is written.

use super::support::{Engine, Place};
use crate::on_every_engine;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tool::{Caller, Context, Door, ErrorKind, TenantId};

on_every_engine! {
    keeps_tenants_apart
    takes_no_sql_of_callers
    tells_tenants_apart_by_every_byte
    wants_a_text_for_the_tenant
}

fn of(tenant: &str) -> Context {
    let tenant: TenantId = tenant.parse().unwrap();
    Context::new(tenant, Arc::new(Caller::local()), Door::Local, Duration::from_secs(60))
}

const DOCS: &str = "CREATE TABLE docs (id INTEGER PRIMARY KEY, owner VARCHAR(40) NOT NULL, title VARCHAR(40)); \
     CREATE TABLE plain (id INTEGER PRIMARY KEY); \
     INSERT INTO docs VALUES (1, 'acme', 'a'), (2, 'globex', 'b'), (3, 'acme', 'c')";

/// DB-8
async fn keeps_tenants_apart(place: Place) {
    place.run(DOCS).await;
    let operations =
        json!(["take", "list", "page", "stream", "count", "create", "modify", "save", "delete", "bulk"]);
    let service = place.open(
        json!({ "tenant_column": "owner", "read_only": false, "operations": operations, "query": false }),
    );
    let names = service.names().await;
    assert!(!names.iter().any(|name| name.starts_with("plain_")), "rows that belong to nobody: {names:?}");
    let (acme, globex) = (of("acme"), of("globex"));
    let listed: Vec<_> = service.call("tables", json!({})).await.unwrap()["rows"].as_array().unwrap().clone();
    assert_eq!(listed.iter().map(|table| &table["name"]).collect::<Vec<_>>(), ["docs"]);
    assert_eq!(service.error("describe", json!({ "table": "plain" })).await.kind(), ErrorKind::Missing);
    let call = async |cx: &Context, tool: &str, arguments: Value| service.call_as(cx, tool, arguments).await;
    assert_eq!(call(&acme, "docs_count", json!({})).await.unwrap(), json!({ "count": 2 }));
    assert_eq!(call(&globex, "docs_take", json!({ "id": 1 })).await.unwrap(), Value::Null);
    assert_eq!(call(&acme, "docs_take", json!({ "id": 1 })).await.unwrap(), json!({ "id": 1, "title": "a" }));
    let listed =
        call(&globex, "docs_list", json!({ "where": { "$or": [{ "id": 1 }, { "id": 2 }] } })).await.unwrap();
    assert_eq!(listed["rows"], json!([{ "id": 2, "title": "b" }]));
    let paged = call(&globex, "docs_page", json!({})).await.unwrap();
    assert_eq!(paged["totalElements"], 1);
    let streamed = call(&acme, "docs_stream", json!({ "limit": 1 })).await.unwrap();
    let streamed =
        call(&acme, "docs_stream", json!({ "limit": 5, "after": streamed["after"] })).await.unwrap();
    assert_eq!(streamed["rows"], json!([{ "id": 3, "title": "c" }]));

    let error = call(&globex, "docs_modify", json!({ "id": 1, "title": "stolen" })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Missing);
    let error = call(&globex, "docs_save", json!({ "id": 1, "title": "stolen" })).await.unwrap_err();
    assert_eq!(error.service_code(), Some("conflict"), "{error:?}");
    assert_eq!(call(&globex, "docs_delete", json!({ "id": 1 })).await.unwrap(), json!({ "deleted": 0 }));
    let bulk = json!({ "modify": [{ "id": 1, "title": "stolen" }], "delete": [{ "id": 3 }] });
    let answer = call(&globex, "docs_bulk", bulk).await.unwrap();
    assert_eq!(answer["failed"].as_array().unwrap().len(), 1, "{answer}");
    for arguments in [
        json!({ "where": { "owner": "acme" } }),
        json!({ "fields": ["owner"] }),
        json!({ "orderBy": ["owner"] }),
    ] {
        let error = call(&globex, "docs_list", arguments).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
    let error = call(&globex, "docs_create", json!({ "id": 9, "owner": "acme" })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    call(&globex, "docs_create", json!({ "id": 9, "title": "new" })).await.unwrap();
    call(&globex, "docs_save", json!({ "id": 10, "title": "saved" })).await.unwrap();
    assert_eq!(place.number("SELECT count(*) FROM docs WHERE owner = 'globex'").await, 3);
    assert_eq!(
        place.number("SELECT count(*) FROM docs WHERE owner = 'acme' AND title IN ('a', 'c')").await,
        2
    );
}

/// No check of a text tells whose rows it shows, so only queries that managers wrote are there. DB-8
async fn takes_no_sql_of_callers(place: Place) {
    place.run(DOCS).await;
    let sql = "SELECT id FROM docs WHERE owner = :tenantId ORDER BY id";
    let service = place
        .open(json!({ "tenant_column": "owner", "query": true, "tools": [{ "id": "mine", "sql": sql }] }));
    let rows = async |tenant: &str| {
        service.call_as(&of(tenant), "mine", json!({})).await.map(|answer| answer["rows"].clone())
    };
    assert_eq!(rows("acme").await.unwrap(), json!([{ "id": 1 }, { "id": 3 }]));
    assert_eq!(rows("globex").await.unwrap(), json!([{ "id": 2 }]));
    let names = service.names().await;
    assert!(!names.iter().any(|name| name == "query" || name == "execute"), "{names:?}");
    let sql = json!({ "sql": "SELECT id FROM docs WHERE owner <> :tenantId" });
    let error = service.call_as(&of("globex"), "query", sql).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
    let asking = json!({ "tenant_column": "owner", "read_only": false, "operations": ["list", "execute"] });
    let error = place.try_open(asking).err().unwrap();
    assert_eq!(error.problems()[0].path, "operations[1]", "{error:?}");
    let wrong = json!({ "tenant_column": "owner", "tools": [{ "id": "all", "sql": "SELECT id FROM docs" }] });
    let error = place.try_open(wrong).err().unwrap();
    assert!(error.problems()[0].message.contains(":tenantId"), "{error:?}");
}

/// DB-8
async fn tells_tenants_apart_by_every_byte(place: Place) {
    place
        .run(match place.engine {
            Engine::Sqlite => {
                "CREATE TABLE docs (id INTEGER PRIMARY KEY, owner TEXT NOT NULL COLLATE NOCASE); \
                 CREATE TABLE padded (id INTEGER PRIMARY KEY, owner TEXT NOT NULL COLLATE RTRIM)"
            }
            Engine::Postgres => {
                "CREATE EXTENSION citext; \
                 CREATE TABLE docs (id INTEGER PRIMARY KEY, owner citext NOT NULL); \
                 CREATE TABLE padded (id INTEGER PRIMARY KEY, owner varchar(40) NOT NULL)"
            }
            Engine::Mariadb => {
                "CREATE TABLE docs (id INTEGER PRIMARY KEY, owner VARCHAR(40) COLLATE utf8mb4_general_ci NOT NULL); \
                 CREATE TABLE padded (id INTEGER PRIMARY KEY, owner VARCHAR(40) CHARACTER SET utf16 NOT NULL)"
            }
        })
        .await;
    for table in ["docs", "padded"] {
        place
            .run(&format!("INSERT INTO {table} VALUES (1, 'acme'), (2, 'Acme'), (3, 'acme '), (4, 'ACME')"))
            .await;
    }
    let named = json!([
        { "id": "equal", "sql": "SELECT id FROM docs WHERE owner = :tenantId" },
        { "id": "among", "sql": "SELECT id FROM docs WHERE owner IN ('nobody', :tenantId) AND :tenantId = owner" },
    ]);
    let service = place.open(json!({
        "tenant_column": "owner", "read_only": false, "operations": ["list", "take", "modify", "delete"], "tools": named,
    }));
    for query in ["equal", "among"] {
        let found = service.call_as(&of("acme"), query, json!({})).await.unwrap();
        assert_eq!(found["rows"], json!([{ "id": 1 }]), "{query}");
    }
    for table in ["docs", "padded"] {
        let listed = service.call_as(&of("acme"), &format!("{table}_list"), json!({})).await.unwrap();
        assert_eq!(listed["rows"], json!([{ "id": 1 }]), "{table}");
        for id in 2..=4 {
            let taken =
                service.call_as(&of("acme"), &format!("{table}_take"), json!({ "id": id })).await.unwrap();
            assert_eq!(taken, Value::Null, "{table} {id}");
            let deleted =
                service.call_as(&of("acme"), &format!("{table}_delete"), json!({ "id": id })).await.unwrap();
            assert_eq!(deleted["deleted"], 0, "{table} {id}");
        }
    }
}

/// To a number, every tenant is 0. DB-8
async fn wants_a_text_for_the_tenant(place: Place) {
    place.run("CREATE TABLE docs (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL)").await;
    place.run("INSERT INTO docs VALUES (1, 0)").await;
    let service = place.open(json!({ "tenant_column": "owner" }));
    let error = service.call_as(&of("acme"), "docs_list", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error:?}");
    assert!(error.message().contains("owner") && error.message().contains("docs"), "{error}");
}
