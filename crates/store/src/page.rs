//! Lists in pages, the way the REST interface shows them.

use crate::{Result, Store};
use serde::Serialize;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::{Any, Row as _};

/// A query whose text and values are its own.
pub(crate) type Query<'q> = sqlx::query::Query<'q, Any, AnyArguments>;

/// How far a list is counted that grows with every call.
const COUNTED: i64 = 10_000;

/// A list as it stands in the database.
pub(crate) struct List<'a> {
    pub(crate) columns: &'a str,
    /// The table, and which of its rows.
    pub(crate) from: &'a str,
    pub(crate) order: &'a str,
    /// How many values that condition has.
    pub(crate) values: usize,
}

/// Which part of a list is wanted. The caller checks that the limit is reasonable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// Counted from 1.
    pub page: u32,
    /// The most items to return.
    pub limit: u32,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { page: 1, limit: 50 }
    }
}

impl PageRequest {
    pub(crate) fn limit(self) -> i64 {
        i64::from(self.limit)
    }

    pub(crate) fn offset(self) -> i64 {
        i64::from(self.page.saturating_sub(1)) * i64::from(self.limit)
    }

    /// The rows of the page and how many there are of all, both from one moment. `bound` gives a query the values of the
    /// condition.
    pub(crate) async fn read<'q>(
        self,
        store: &Store,
        list: &List<'_>,
        bound: impl Fn(String) -> Query<'q>,
    ) -> Result<(Vec<AnyRow>, i64)> {
        self.read_counted(store, list, format!("SELECT COUNT(*) FROM {}", list.from), bound).await
    }

    /// The same of a list that grows with every call: counting all of it would take longer each day, so that it is counted
    /// as far as [`COUNTED`], or one row further than the page.
    pub(crate) async fn read_long<'q>(
        self,
        store: &Store,
        list: &List<'_>,
        bound: impl Fn(String) -> Query<'q>,
    ) -> Result<(Vec<AnyRow>, i64)> {
        let most = self.counted();
        let count = format!("SELECT COUNT(*) FROM (SELECT 1 FROM {} LIMIT {most}) AS counted", list.from);
        self.read_counted(store, list, count, bound).await
    }

    /// How far a long list is counted for this page.
    pub(crate) fn counted(self) -> i64 {
        COUNTED.max(self.offset() + self.limit() + 1)
    }

    async fn read_counted<'q>(
        self,
        store: &Store,
        list: &List<'_>,
        count: String,
        bound: impl Fn(String) -> Query<'q>,
    ) -> Result<(Vec<AnyRow>, i64)> {
        let mut snapshot = store.snapshot().await?;
        let total = bound(count).fetch_one(&mut *snapshot).await?;
        let rows = self.select(list, bound).fetch_all(&mut *snapshot).await?;
        Ok((rows, total.try_get(0)?))
    }

    /// The rows of the page alone, where nobody has to know how many there are.
    pub(crate) fn select<'q>(self, list: &List<'_>, bound: impl Fn(String) -> Query<'q>) -> Query<'q> {
        let List { columns, from, order, values } = list;
        let (limit, offset) = (values + 1, values + 2);
        let sql = format!("SELECT {columns} FROM {from} ORDER BY {order} LIMIT ${limit} OFFSET ${offset}");
        bound(sql).bind(self.limit()).bind(self.offset())
    }

    pub(crate) fn of<T>(self, items: Vec<T>, total: i64) -> Page<T> {
        Page { items, page: self.page, limit: self.limit, total }
    }
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page<T> {
    /// The items of this page, in the list's order.
    pub items: Vec<T>,
    /// The page, from 1.
    pub page: u32,
    /// The most items a page has.
    pub limit: u32,
    /// How many items the whole list has; of long ones at least so many.
    pub total: i64,
}
