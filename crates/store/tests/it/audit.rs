//! Audit: nothing lost, nothing twice, read in pages and as a stream.

use crate::backend::{Backend, acme, other};
use std::sync::Arc;
use store::{AuditDetails, AuditKey, AuditRow, Filter, PageRequest, Window};

on_both! {
    keeps_every_field
    stores_a_row_once_however_often_it_is_appended
    filters_and_pages_newest_first
    exports_fifty_thousand_rows_step_by_step
    reads_the_busiest_of_more_groups_than_anybody_looks_at
    purges_what_is_too_old
    records_whatever_a_caller_sends
}

pub(crate) fn row(tenant: &str, id: &str, at: i64) -> AuditRow<'static> {
    AuditRow {
        id: id.to_owned().into(),
        tenant: tenant.to_owned().into(),
        at,
        caller: "eve".into(),
        tool: "api__list".into(),
        service: "crm".into(),
        arguments: Some(r#"{"z":1,"a":2}"#.into()),
        status: "ok".into(),
        details: AuditDetails {
            caller_name: None,
            caller_kind: "user".into(),
            door: "rest".into(),
            uri: "api://crm/list".into(),
            code: None,
            message: None,
            duration_us: 12,
            request_id: "r".into(),
            trace_id: "t".into(),
            result_bytes: i64::MAX,
            parent_request_id: None,
            run_id: None,
            node: None,
            agent: None,
            step: None,
            via: None,
            usage: None,
        },
    }
}

async fn keeps_every_field(db: Arc<Backend>) {
    let store = db.open().await;
    let (mut full, mut bare) = (row("acme", "1", 7), row("acme", "2", 8));
    full.details.code = Some("TIMEOUT".into());
    full.details.message = Some("late".into());
    bare.arguments = None;
    bare.details.uri = "".into();
    store.audit().append(&[full.clone(), bare.clone()]).await.unwrap();
    store.audit().append(&[]).await.unwrap();
    let page = store.audit().query(&acme(), &Filter::default(), PageRequest::default()).await.unwrap();
    assert_eq!((page.items, page.total), (vec![bare, full], 2));
}

async fn stores_a_row_once_however_often_it_is_appended(db: Arc<Backend>) {
    let store = db.open().await;
    let rows: Vec<_> = (0..450).map(|n| row("acme", &format!("{n:04}"), n)).collect();
    store.audit().append(&rows[..300]).await.unwrap();
    store.audit().append(&rows[..300]).await.unwrap();
    // Of these, nobody knows which are there.
    store.audit().append_missing(&rows).await.unwrap();
    store.audit().append_missing(&rows).await.unwrap();
    store.audit().append_missing(&rows[200..]).await.unwrap();
    let page =
        store.audit().query(&acme(), &Filter::default(), PageRequest { page: 1, limit: 1000 }).await.unwrap();
    let ids: Vec<_> = page.items.iter().rev().map(|row| row.id.to_string()).collect();
    assert_eq!(ids, rows.iter().map(|row| row.id.to_string()).collect::<Vec<_>>());
    assert_eq!(page.total, 450);
}

async fn filters_and_pages_newest_first(db: Arc<Backend>) {
    let store = db.open().await;
    let mut rows: Vec<_> = (0..10).map(|n| row("acme", &format!("{n}"), 100 + n / 2)).collect();
    rows[1].tool = "other".into();
    rows[2].service = "other".into();
    rows[3].caller = "mallory".into();
    rows[4].status = "refused".into();
    rows.push(row("other", "9", 104));
    store.audit().append(&rows).await.unwrap();
    let filter = Filter::default;
    for (filter, expected) in [
        (filter(), &["9", "8", "7", "6", "5", "4", "3", "2", "1", "0"][..]),
        (Filter { tool: Some("other".into()), ..filter() }, &["1"]),
        (Filter { service: Some("other".into()), ..filter() }, &["2"]),
        (Filter { caller: Some("mallory".into()), ..filter() }, &["3"]),
        (Filter { status: Some("refused".into()), ..filter() }, &["4"]),
        (Filter { from: Some(103), ..filter() }, &["9", "8", "7", "6"]),
        (Filter { from: Some(101), to: Some(102), ..filter() }, &["3", "2"]),
        (Filter { tool: Some("' OR '1'='1".into()), ..filter() }, &[]),
        (Filter { tool: Some("\0".into()), ..filter() }, &[]),
    ] {
        let page = store.audit().query(&acme(), &filter, PageRequest::default()).await.unwrap();
        let ids: Vec<_> = page.items.iter().map(|row| &*row.id).collect();
        assert_eq!((ids.as_slice(), page.total), (expected, expected.len() as i64), "{filter:?}");
    }
    let page = store.audit().query(&acme(), &filter(), PageRequest { page: 2, limit: 4 }).await.unwrap();
    assert_eq!(page.items.iter().map(|row| &*row.id).collect::<Vec<_>>(), ["5", "4", "3", "2"]);
}

async fn reads_the_busiest_of_more_groups_than_anybody_looks_at(db: Arc<Backend>) {
    const GROUPS: usize = 20_001;
    let store = db.open().await;
    let named = |id: usize, tool: usize| {
        let mut row = row("acme", &format!("{id:06}"), 7);
        (row.tool, row.details.result_bytes) = (format!("tool{tool}").into(), 1);
        row
    };
    let mut rows: Vec<_> = (0..GROUPS).map(|n| named(n, n)).collect();
    rows.extend((0..3).map(|n| named(GROUPS + n, 12_345)));
    for batch in rows.chunks(10_000) {
        store.audit().append(batch).await.unwrap();
    }
    let window = Window { from: 0, to: 100, step: 100, caller: None };
    let found = store.audit().busiest(&acme(), &window, &[AuditKey::Tool]).await.unwrap();
    assert_eq!((found.len(), found[0].keys[0].as_str(), found[0].calls), (20_000, "tool12345", 4));
    // It is counted as far as somebody turns its pages.
    for (page, expected) in [(1, 10_000), (3, 10_000), (15, 15_001), (30, 20_004)] {
        let page = PageRequest { page, limit: 1000 };
        assert_eq!(store.audit().query(&acme(), &Filter::default(), page).await.unwrap().total, expected);
    }
    let filter = Filter { tool: Some("tool12345".into()), ..Filter::default() };
    let newest = store.audit().newest(&acme(), &filter, 2).await.unwrap();
    assert_eq!(newest.iter().map(|row| &*row.id).collect::<Vec<_>>(), ["020003", "020002"]);
}

async fn exports_fifty_thousand_rows_step_by_step(db: Arc<Backend>) {
    const COUNT: i64 = 50_000;
    let store = db.open().await;
    // Seven rows share each time, so that a step may end in the middle of one.
    let rows: Vec<_> = (0..COUNT).map(|n| row("acme", &format!("{n:06}"), n / 7)).collect();
    for batch in rows.chunks(10_000) {
        store.audit().append(batch).await.unwrap();
    }
    store.audit().append(&[row("other", "x", 3), row("acme", "future", i64::MAX)]).await.unwrap();
    let mut export = store.audit().export(&acme(), Filter::default());
    let mut next = 0;
    while let Some(step) = export.next().await.unwrap() {
        assert!(step.len() <= 1000, "a step stays small");
        for row in step {
            assert_eq!(row.id, format!("{next:06}"));
            next += 1;
        }
    }
    assert_eq!(next, COUNT);
    assert!(export.next().await.unwrap().is_none());
    let mut part = store.audit().export(&acme(), Filter { to: Some(1), ..Filter::default() });
    assert_eq!(part.next().await.unwrap().unwrap().len(), 7);
    assert!(part.next().await.unwrap().is_none());
}

async fn purges_what_is_too_old(db: Arc<Backend>) {
    let store = db.open().await;
    let rows: Vec<_> =
        (0..6000).map(|n| row(if n % 2 == 0 { "acme" } else { "other" }, &n.to_string(), n)).collect();
    store.audit().append(&rows).await.unwrap();
    assert_eq!(store.audit().purge_before(5900).await.unwrap(), 5900);
    assert_eq!(store.audit().purge_before(5900).await.unwrap(), 0);
    for tenant in [acme(), other()] {
        let page = store.audit().query(&tenant, &Filter::default(), PageRequest::default()).await.unwrap();
        assert_eq!(page.total, 50);
    }
}

async fn records_whatever_a_caller_sends(db: Arc<Backend>) {
    let store = db.open().await;
    let mut odd = row("no such tenant \0", "1", 1);
    odd.tool = "a\0b'; DROP TABLE audit; --".into();
    odd.details.message = Some("\0\u{FFFF}🦀".repeat(10_000).into());
    store.audit().append(&[odd.clone(), row("acme", "1", 1)]).await.unwrap();
    let mut connection = db.raw().await;
    let stored = sqlx::query("SELECT records FROM audit WHERE tenant = $1")
        .bind("no such tenant \u{FFFD}")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let stored: serde_json::Value = serde_json::from_str(&sqlx::Row::get::<String, _>(&stored, 0)).unwrap();
    assert_eq!(stored["tool"], *odd.tool);
    assert_eq!(stored["details"], serde_json::to_value(&odd.details).unwrap());
}
