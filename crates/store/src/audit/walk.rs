//! Through the blocks of a tenant in the order of time.

use super::block::{Glance, OK, SPAN_MS};
use super::{Filter, Query};
use crate::database::Backend;
use crate::{Result, row};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe};

/// Blocks that are read at once: what is in memory, and what is looked through before others have their turn.
const STEP: i64 = 4;
/// The same where nobody looks into them.
const LONG_STEP: i64 = 256;

/// From one moment to another, both included.
pub(super) type Part = (i64, i64);

/// Which way through the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    NewestFirst,
    OldestFirst,
}

/// Which calls are looked for.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) tenant: String,
    pub(super) filter: Filter,
    /// Only those that did not end well.
    pub(super) is_failure: bool,
    /// A text that their blocks have somewhere.
    pub(super) text: Option<String>,
}

impl Wanted {
    pub(super) fn new(tenant: &str, filter: Filter) -> Self {
        Self { tenant: tenant.to_owned(), filter, is_failure: false, text: None }
    }

    pub(super) fn fits(&self, call: &Glance<'_>) -> bool {
        call.fits(&self.filter) && (!self.is_failure || call.has_failed())
    }

    /// The last moment at which a call may begin.
    fn end(&self) -> i64 {
        self.filter.to.map_or(i64::MAX, |to| to.saturating_sub(1))
    }

    /// Where the last calls of blocks lie that have one of the wanted time: of those that may have begun before it, those
    /// within it, and those that may end behind it.
    pub(super) fn parts(&self) -> [Part; 3] {
        let end = self.end();
        let (from, inside) = match self.filter.from {
            Some(from) => (from, from.saturating_add(SPAN_MS)),
            None => (i64::MIN, i64::MIN),
        };
        let before = inside.saturating_sub(1).min(end);
        [(from, before), (inside, end), (end.saturating_add(1), end.saturating_add(SPAN_MS))]
    }

    /// What stands somewhere in a block that has such a call, as it is written there: the database passes over the others
    /// without our reading them.
    fn hints(&self) -> Vec<String> {
        let Filter { tool, service, caller, status, code, request_id, run, .. } = &self.filter;
        let status = status.as_ref().filter(|status| *status != OK);
        let run = run.as_ref().map(|run| run.as_str().to_owned());
        [tool, service, caller, code, request_id, &run, &self.text]
            .into_iter()
            .flatten()
            .chain(status)
            // Another program may have written what has to be escaped in another way.
            .filter(|text| text.chars().all(|char| char.is_ascii_graphic() && char != '"' && char != '\\'))
            .map(|text| format!("\"{text}\""))
            .collect()
    }
}

/// A block that was read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) last_at: i64,
    pub(super) calls: i64,
    pub(super) records: String,
}

/// A way through blocks, which can be left and taken up again.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) wanted: Wanted,
    pub(super) order: Order,
    backend: Backend,
    /// Where the last calls of the blocks lie.
    part: Part,
    has_records: bool,
    /// The last block that was read.
    after: Option<(i64, String)>,
}

impl Walk {
    pub(super) fn new(backend: Backend, wanted: Wanted, order: Order) -> Self {
        let [(from, _), _, (_, to)] = wanted.parts();
        Self { wanted, order, backend, part: (from, to), has_records: true, after: None }
    }

    /// Only blocks whose last calls lie there.
    pub(super) fn among(mut self, part: Part) -> Self {
        self.part = part;
        self
    }

    /// Only how many calls the blocks have.
    pub(super) fn without_records(mut self) -> Self {
        self.has_records = false;
        self
    }

    /// The next blocks; none at the end.
    pub(super) async fn next(&mut self, connection: &mut AnyConnection) -> Result<Vec<Found>> {
        let rows = self.statement().fetch_all(connection).await?;
        let found = rows.iter().map(read).collect::<Result<Vec<_>>>()?;
        if let Some(last) = found.last() {
            self.after = Some((last.last_at, last.id.clone()));
        }
        Ok(found)
    }

    fn statement(&self) -> Query<'static> {
        let Wanted { tenant, filter, .. } = &self.wanted;
        let (hints, end) = (self.wanted.hints(), self.wanted.end());
        let (mut from, mut to) = self.part;
        let (order, beyond) = match self.order {
            Order::NewestFirst => ("DESC", "<"),
            Order::OldestFirst => ("ASC", ">"),
        };
        if let Some((at, _)) = self.after {
            match self.order {
                Order::NewestFirst => to = to.min(at),
                Order::OldestFirst => from = from.max(at),
            }
        }
        let failed = match (self.wanted.is_failure, filter.status.as_deref()) {
            (false, None) => "",
            (false, Some(OK)) => "AND failed < calls",
            _ => "AND failed > 0",
        };
        let found = match self.backend {
            Backend::Sqlite => "INSTR",
            Backend::Postgres => "STRPOS",
        };
        let hinted: String =
            (0..hints.len()).map(|at| format!(" AND {found}(records, ${}) > 0", at + 7)).collect();
        let (records, step) = if self.has_records { ("records", STEP) } else { ("''", LONG_STEP) };
        let table = filter.kind.table();
        let sql = format!(
            "SELECT id, last_at, calls, {records} AS records FROM {table}
             WHERE tenant = $1 AND last_at >= $2 AND last_at <= $3 AND first_at <= $4
             AND ($5 IS NULL OR (last_at, id) {beyond} ($5, $6)) {failed} {hinted}
             ORDER BY last_at {order}, id {order} LIMIT {step}"
        );
        let (at, id) = self.after.clone().unzip();
        let query = sqlx::query(AssertSqlSafe(sql)).bind(tenant.clone());
        let query = query.bind(from).bind(to).bind(end).bind(at).bind(id);
        hints.into_iter().fold(query, |query, hint| query.bind(hint))
    }
}

fn read(row: &AnyRow) -> Result<Found> {
    Ok(Found {
        id: row::text(row, "id")?,
        last_at: row::integer(row, "last_at")?,
        calls: row::integer(row, "calls")?,
        records: row::text(row, "records")?,
    })
}
