//! The tenant's column: in every filter and in every row that is written.

use super::support::Place;
use crate::on_every_engine;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tool::{Caller, Context, Door, ErrorKind, TenantId};

on_every_engine! {
    keeps_tenants_apart
    wants_the_tenant_in_every_statement
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

/// DB-8
async fn wants_the_tenant_in_every_statement(place: Place) {
    place.run(DOCS).await;
    let sql = "SELECT id FROM docs WHERE owner = :tenantId ORDER BY id";
    let service = place.open(json!({
        "tenant_column": "owner", "read_only": false, "operations": ["execute"], "tools": [{ "id": "mine", "sql": sql }],
    }));
    let rows = async |tenant: &str, tool: &str, arguments: Value| {
        service.call_as(&of(tenant), tool, arguments).await.map(|answer| answer["rows"].clone())
    };
    assert_eq!(rows("acme", "mine", json!({})).await.unwrap(), json!([{ "id": 1 }, { "id": 3 }]));
    assert_eq!(rows("globex", "query", json!({ "sql": sql })).await.unwrap(), json!([{ "id": 2 }]));
    for (tool, arguments) in [
        ("query", json!({ "sql": "SELECT id FROM docs" })),
        ("query", json!({ "sql": "SELECT id FROM docs WHERE owner = ':tenantId'" })),
        ("query", json!({ "sql": "SELECT id FROM docs -- :tenantId" })),
        ("query", json!({ "sql": sql, "params": { "tenantId": "acme" } })),
        ("execute", json!({ "sql": "DELETE FROM docs" })),
    ] {
        let error = rows("globex", tool, arguments.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{arguments}");
        assert!(error.message().contains(":tenantId"), "{error}");
    }
    let sql = "DELETE FROM docs WHERE owner = :tenantId";
    let answer = service.call_as(&of("globex"), "execute", json!({ "sql": sql })).await.unwrap();
    assert_eq!(answer, json!({ "affected": 1 }));
    let wrong = json!({ "tenant_column": "owner", "tools": [{ "id": "all", "sql": "SELECT id FROM docs" }] });
    let error = place.try_open(wrong).err().unwrap();
    assert!(error.problems()[0].message.contains(":tenantId"), "{error:?}");
}
