//! Blocks of the audit: what is written in any order is read in the order of time, both ways.

use crate::audit::row;
use crate::backend::{Backend, acme};
use std::sync::Arc;
use store::{AuditKey, AuditRow, Filter, PageRequest, Store, Tally, Window};

on_both! {
    keeps_the_order_of_calls_whose_blocks_overlap
    counts_calls_whose_blocks_overlap
    purges_calls_out_of_blocks_with_others
}

type Fits = fn(&AuditRow<'_>) -> bool;

/// One in seven took long, so that it is written long after those that began with it.
fn overlapping() -> Vec<AuditRow<'static>> {
    let call = |n: i64| {
        let at = if n % 7 == 0 { n * 3 - 9000 } else { n * 3 };
        let mut row = row("acme", &format!("{n:05}"), at);
        if n % 11 == 0 {
            (row.status, row.details.code) = ("error".into(), Some("TIMEOUT".into()));
        }
        if n % 5 == 0 {
            (row.details.door, row.tool) = ("mcp".into(), "say \"hi\"\n".into());
        }
        row
    };
    (0..4000).map(call).collect()
}

/// As they were written, and in the order of time.
async fn written(db: &Backend) -> (Store, Vec<AuditRow<'static>>) {
    let (store, mut rows) = (db.open().await, overlapping());
    for batch in rows.chunks(130) {
        store.audit().append(batch).await.unwrap();
    }
    rows.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    (store, rows)
}

fn ids<'a>(rows: impl IntoIterator<Item = &'a AuditRow<'static>>) -> Vec<String> {
    rows.into_iter().map(|row| row.id.to_string()).collect()
}

async fn keeps_the_order_of_calls_whose_blocks_overlap(db: Arc<Backend>) {
    let (store, rows) = written(&db).await;
    let all = Filter::default;
    let text = |text: &str| Some(text.to_owned());
    let filters: [(Filter, Fits); 7] = [
        (all(), |_| true),
        (Filter { from: Some(-500), to: Some(2500), ..all() }, |row| (-500..2500).contains(&row.at)),
        (Filter { from: Some(300), to: Some(301), ..all() }, |row| row.at == 300),
        (Filter { from: Some(11_000), ..all() }, |row| row.at >= 11_000),
        (Filter { code: text("TIMEOUT"), to: Some(700), ..all() }, |row| {
            row.at < 700 && row.details.code.is_some()
        }),
        (Filter { status: text("ok"), door: text("mcp"), ..all() }, |row| {
            row.status == "ok" && row.details.door == "mcp"
        }),
        (Filter { tool: text("say \"hi\"\n"), ..all() }, |row| row.details.door == "mcp"),
    ];
    for (filter, fits) in filters {
        let expected = ids(rows.iter().filter(|row| fits(row)));
        assert_eq!(exported(&store, &filter).await, expected, "{filter:?}");
        let mut newest_first = paged(&store, &filter, expected.len()).await;
        newest_first.reverse();
        assert_eq!(newest_first, expected, "{filter:?}");
    }
}

async fn exported(store: &Store, filter: &Filter) -> Vec<String> {
    let (mut export, mut found) = (store.audit().export(&acme(), filter.clone()), Vec::new());
    while let Some(step) = export.next().await.unwrap() {
        found.extend(ids(&step));
    }
    found
}

async fn paged(store: &Store, filter: &Filter, total: usize) -> Vec<String> {
    let mut found = Vec::new();
    for page in 1.. {
        let page = PageRequest { page, limit: 700 };
        let page = store.audit().query(&acme(), filter, page).await.unwrap();
        assert_eq!(page.total, total as i64, "{filter:?}");
        if page.items.is_empty() {
            return found;
        }
        found.extend(ids(&page.items));
    }
    found
}

async fn counts_calls_whose_blocks_overlap(db: Arc<Backend>) {
    let (store, rows) = written(&db).await;
    let window = Window { from: -9000, to: 12_000, step: 1000, caller: None };
    let tally = store.audit().tally(&acme(), &window, &[AuditKey::Status, AuditKey::Door]).await.unwrap();
    for (slot, door) in (0..21).flat_map(|slot| [(slot, "mcp"), (slot, "rest")]) {
        let is_there = |one: &&Tally| one.slot == slot && one.keys[1] == door;
        let counted: i64 = tally.iter().filter(is_there).map(|one| one.calls).sum();
        let began = |row: &&AuditRow<'_>| (row.at + 9000) / 1000 == slot && row.details.door == door;
        assert_eq!(counted, rows.iter().filter(began).count() as i64, "{door} in slot {slot}");
    }
    let failures = store.audit().failures(&acme(), &window, 5).await.unwrap();
    assert_eq!(ids(&failures), ids(rows.iter().rev().filter(|row| row.status != "ok").take(5)));
}

async fn purges_calls_out_of_blocks_with_others(db: Arc<Backend>) {
    let (store, rows) = written(&db).await;
    let (old, left): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.at < 250);
    assert_eq!(store.audit().purge_before(250).await.unwrap(), old.len() as u64);
    assert_eq!(exported(&store, &Filter::default()).await, ids(left));
    assert_eq!(store.audit().purge_before(250).await.unwrap(), 0);
}
