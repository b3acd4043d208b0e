//! Blocks: calls of one tenant that began at about the same time, in one row of the database, a line of JSON for each.
//!
//! A row for each call cost more than the rest of its way through the audit: a key, nine values and a place in the tree,
//! where all that a call needs is to be found again by its time (decision 111).

use super::{AuditDetails, AuditRow, Filter};
use crate::{Result, row};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Between the first and the last call of a block lie less than so many milliseconds, so that whoever reads in the order
/// of time knows how far to look ahead.
pub(super) const SPAN_MS: i64 = 1000;
/// So many calls at most, as whoever wants one of them reads all.
const MOST_CALLS: i64 = 256;
/// A block that has so many bytes takes no more.
const FULL_BYTES: usize = 256 * 1024;

/// Calls as they are written together.
pub(super) struct Block<'a> {
    pub(super) tenant: &'a str,
    /// That of the first call: what is written again finds itself there.
    pub(super) id: &'a str,
    pub(super) first_at: i64,
    pub(super) last_at: i64,
    pub(super) calls: i64,
    /// How many of them did not end well.
    pub(super) failed: i64,
    pub(super) records: String,
}

/// The rows in blocks. The same rows make the same blocks.
pub(super) fn blocks<'a>(rows: impl IntoIterator<Item = &'a AuditRow<'a>>) -> Result<Vec<Block<'a>>> {
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_unstable_by(|one, other| {
        (&one.tenant, one.at, &one.id).cmp(&(&other.tenant, other.at, &other.id))
    });
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for row in rows {
        match blocks.last_mut().filter(|block| block.takes(row)) {
            Some(block) => block.add(row)?,
            None => blocks.push(Block::of(row)?),
        }
    }
    Ok(blocks)
}

impl<'a> Block<'a> {
    /// One row alone.
    pub(super) fn of(row: &'a AuditRow<'a>) -> Result<Self> {
        let mut block = Self {
            tenant: &row.tenant,
            id: &row.id,
            first_at: row.at,
            last_at: row.at,
            calls: 0,
            failed: 0,
            records: String::new(),
        };
        block.add(row)?;
        Ok(block)
    }

    fn takes(&self, row: &AuditRow<'_>) -> bool {
        self.tenant == row.tenant
            && row.at.saturating_sub(self.first_at) < SPAN_MS
            && self.calls < MOST_CALLS
            && self.records.len() < FULL_BYTES
    }

    fn add(&mut self, row: &AuditRow<'_>) -> Result<()> {
        self.last_at = row.at;
        self.calls += 1;
        self.failed += i64::from(row.status != OK);
        self.records.push_str(&line(row)?);
        self.records.push('\n');
        Ok(())
    }
}

/// The status of calls that ended well.
pub(super) const OK: &str = "ok";

/// A call as a line.
fn line(row: &AuditRow<'_>) -> Result<String> {
    #[derive(Serialize)]
    struct Line<'a> {
        id: &'a str,
        at: i64,
        caller: &'a str,
        tool: &'a str,
        service: &'a str,
        status: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<&'a str>,
        details: &'a AuditDetails<'a>,
    }
    row::to_json(&Line {
        id: &row.id,
        at: row.at,
        caller: &row.caller,
        tool: &row.tool,
        service: &row.service,
        status: &row.status,
        arguments: row.arguments.as_deref(),
        details: &row.details,
    })
}

/// The call that a line tells of.
pub(super) fn read(tenant: &str, line: &str) -> Result<AuditRow<'static>> {
    #[derive(Deserialize)]
    struct Line {
        id: String,
        at: i64,
        caller: String,
        tool: String,
        service: String,
        status: String,
        arguments: Option<String>,
        details: AuditDetails<'static>,
    }
    let line: Line = serde_json::from_str(line).map_err(|_| row::undecodable("records"))?;
    Ok(AuditRow {
        id: line.id.into(),
        tenant: tenant.to_owned().into(),
        at: line.at,
        caller: line.caller.into(),
        tool: line.tool.into(),
        service: line.service.into(),
        arguments: line.arguments.map(Cow::from),
        status: line.status.into(),
        details: line.details,
    })
}

/// As much of a line as calls are chosen and counted by, where it can be without a copy.
#[derive(Deserialize)]
pub(super) struct Glance<'a> {
    #[serde(borrow)]
    pub(super) id: Cow<'a, str>,
    pub(super) at: i64,
    #[serde(borrow)]
    pub(super) caller: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) tool: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) service: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) status: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) details: Details<'a>,
}

#[derive(Deserialize)]
pub(super) struct Details<'a> {
    #[serde(borrow)]
    pub(super) caller_kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) door: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) uri: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) request_id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) code: Option<Text<'a>>,
    #[serde(borrow)]
    run_id: Option<Text<'a>>,
    pub(super) duration_us: i64,
    pub(super) result_bytes: i64,
}

/// A text that may not be there, borrowed all the same.
#[derive(Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl<'a> Glance<'a> {
    pub(super) fn of(line: &'a str) -> Result<Self> {
        serde_json::from_str(line).map_err(|_| row::undecodable("records"))
    }

    /// The MCP instance it came through, or the kind of door.
    pub(super) fn door(&self) -> &str {
        match &*self.details.caller_kind {
            "instance" => &self.caller,
            _ => &self.details.door,
        }
    }

    /// With which code it failed, empty where it did not.
    pub(super) fn code(&self) -> &str {
        self.details.code.as_ref().map_or("", |code| &code.0)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.status != OK
    }

    pub(super) fn fits(&self, filter: &Filter) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        let run = self.details.run_id.as_ref().map(|run| &*run.0);
        filter.from.is_none_or(|from| self.at >= from)
            && filter.to.is_none_or(|to| self.at < to)
            && is(&filter.tool, &self.tool)
            && is(&filter.service, &self.service)
            && is(&filter.caller, &self.caller)
            && is(&filter.status, &self.status)
            && filter.code.as_ref().is_none_or(|code| !code.is_empty() && code == self.code())
            && is(&filter.request_id, &self.details.request_id)
            && filter.door.as_ref().is_none_or(|door| door == &self.details.door || door == self.door())
            && filter.run.as_ref().is_none_or(|wanted| Some(wanted.as_str()) == run)
    }
}
