//! Lists in pages, the way the REST interface shows them.

use serde::Serialize;

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
    /// How many items the whole list has.
    pub total: i64,
}
