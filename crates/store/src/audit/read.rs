//! Reading the audit: a page of it, or all of it step by step.

use super::calls::Calls;
use super::walk::{Order, Walk, Wanted};
use super::{Audit, AuditRow, Filter, Kind};
use crate::{Error, Page, PageRequest, Result, Store, row};
use sqlx::AnyConnection;
use tool::TenantId;

/// Calls per step of an export.
const EXPORT_STEP: usize = 1000;

/// Calls take an hour at the most, and a record is made when its call has ended.
const LONGEST_CALL_MS: i64 = 2 * 60 * 60 * 1000;
const CLOCK_SKEW_MS: i64 = 60 * 1000;

impl Audit<'_> {
    /// The tenant's calls that fit the filter, newest first.
    pub async fn query(
        self,
        tenant: &TenantId,
        filter: &Filter,
        page: PageRequest,
    ) -> Result<Page<AuditRow<'static>>> {
        let mut snapshot = self.0.snapshot().await?;
        let (first, end) = (page.offset(), page.offset() + page.limit());
        let mut calls = self.calls(Wanted::new(tenant.as_str(), filter.clone()), Order::NewestFirst);
        let (mut items, mut seen) = (Vec::new(), 0);
        while seen < end
            && let Some(call) = calls.next(&mut snapshot).await?
        {
            if seen >= first {
                items.push(call);
            }
            seen += 1;
        }
        let most = page.counted();
        let total = match filter.is_of_time_alone() {
            true => self.count(&mut snapshot, tenant, filter, most).await?,
            false => seen + calls.count(&mut snapshot, most - seen).await?,
        };
        Ok(page.of(items, total))
    }

    /// The first page of [`Audit::query`], for those who ask often: nobody counts the rest.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn newest(
        self,
        tenant: &TenantId,
        filter: &Filter,
        limit: u32,
    ) -> Result<Vec<AuditRow<'static>>> {
        self.first(Wanted::new(tenant.as_str(), filter.clone()), i64::from(limit)).await
    }

    /// The newest calls that are wanted.
    pub(super) async fn first(self, wanted: Wanted, limit: i64) -> Result<Vec<AuditRow<'static>>> {
        let mut connection = self.0.pool().acquire().await?;
        let mut calls = self.calls(wanted, Order::NewestFirst);
        let mut found = Vec::new();
        for _ in 0..limit {
            let Some(call) = calls.next(&mut connection).await? else { break };
            found.push(call);
        }
        Ok(found)
    }

    /// One of the tenant's records, of calls or of management. Its id says about when it was made, so that only a small
    /// part of the audit is looked through.
    ///
    /// # Errors
    /// `NotFound`, or when the database fails.
    pub async fn get(self, tenant: &TenantId, id: &str) -> Result<(Kind, AuditRow<'static>)> {
        let missing = || Error::not_found("audit record");
        let made_ms = tool::made_at_ms(id).ok_or_else(missing)?;
        let (from, to) = (made_ms.saturating_sub(LONGEST_CALL_MS), made_ms.saturating_add(CLOCK_SKEW_MS));
        let mut connection = self.0.pool().acquire().await?;
        for kind in [Kind::Call, Kind::Management] {
            let filter = Filter { kind, from: Some(from), to: Some(to), ..Filter::default() };
            let mut wanted = Wanted::new(tenant.as_str(), filter);
            wanted.text = Some(id.to_owned());
            let mut calls = self.calls(wanted, Order::NewestFirst);
            while let Some(call) = calls.next(&mut connection).await? {
                if call.id == id {
                    return Ok((kind, call));
                }
            }
        }
        Err(missing())
    }

    /// All calls that fit the filter, oldest first, step by step. Calls that begin after this moment are left out, so an
    /// export always ends.
    #[must_use]
    pub fn export(self, tenant: &TenantId, mut filter: Filter) -> Export {
        let end = row::now() + 1;
        filter.to = Some(filter.to.map_or(end, |to| to.min(end)));
        let calls = self.calls(Wanted::new(tenant.as_str(), filter), Order::OldestFirst);
        Export { store: self.0.clone(), calls }
    }

    fn calls(self, wanted: Wanted, order: Order) -> Calls {
        Calls::new(Walk::new(self.0.backend(), wanted, order))
    }

    /// How many calls began in the filter's time, no further than `most`: blocks know how many they have, so that only
    /// those at its ends are looked into.
    async fn count(
        self,
        connection: &mut AnyConnection,
        tenant: &TenantId,
        filter: &Filter,
        most: i64,
    ) -> Result<i64> {
        let wanted = Wanted::new(tenant.as_str(), filter.clone());
        let [beginning, whole, end] = wanted.parts();
        let walk = |part| Walk::new(self.0.backend(), wanted.clone(), Order::NewestFirst).among(part);
        let (mut blocks, mut total) = (walk(whole).without_records(), 0_i64);
        while total < most {
            let found = blocks.next(connection).await?;
            if found.is_empty() {
                break;
            }
            total += found.iter().map(|block| block.calls).sum::<i64>();
        }
        for part in [beginning, end] {
            total += Calls::new(walk(part)).count(connection, most).await?;
        }
        Ok(total.min(most))
    }
}

/// An export under way; it holds no connection between its steps.
#[derive(Debug)]
pub struct Export {
    store: Store,
    calls: Calls,
}

impl Export {
    /// The next calls, at most a thousand; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<AuditRow<'static>>>> {
        let mut connection = self.store.pool().acquire().await?;
        let mut step = Vec::new();
        while step.len() < EXPORT_STEP
            && let Some(call) = self.calls.next(&mut connection).await?
        {
            step.push(call);
        }
        Ok((!step.is_empty()).then_some(step))
    }
}
