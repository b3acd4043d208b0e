//! Between rows and runs: what is secret is sealed for its place, and tells itself apart from JSON.

use crate::runs::{Parent, Run, RunData, State};
use crate::vault::Vault;
use crate::{Result, row};
use sqlx::any::AnyRow;

pub(crate) const COLUMNS: &str = "tenant, id, flow, agent, version, state, due_at, epoch, last_seq, is_secret, parent, \
     parent_path, origin, caller, created_at, started_at, ended_at";

/// Of one column of what a run was given and gave.
pub(crate) fn data_place(tenant: &str, run: &str, column: &str) -> String {
    format!("run/{tenant}/{run}/{column}")
}

/// Of one record of a run.
pub(crate) fn record_place(tenant: &str, run: &str, seq: i64) -> String {
    format!("run-record/{tenant}/{run}/{seq}")
}

/// No JSON begins like a sealed text.
pub(crate) fn open(vault: &Vault, place: &str, text: String) -> Result<String> {
    if text.starts_with("v1.") { Ok(vault.open(place, &text)?.to_string()) } else { Ok(text) }
}

pub(crate) fn decode(row: &AnyRow) -> Result<Run> {
    let parent = row::optional_text(row, "parent")?;
    let path = row::optional_text(row, "parent_path")?.unwrap_or_default();
    let parent = match parent {
        Some(run) => Some(Parent { run: run.parse().map_err(|_| row::undecodable("parent"))?, path }),
        None => None,
    };
    Ok(Run {
        tenant: row::parsed(row, "tenant")?,
        id: row::parsed(row, "id")?,
        flow: row::text(row, "flow")?,
        agent: row::optional_text(row, "agent")?,
        version: row::optional_integer(row, "version")?,
        state: State::parse(&row::text(row, "state")?)?,
        parent,
        origin: row::text(row, "origin")?,
        caller: row::text(row, "caller")?,
        due_at: row::optional_integer(row, "due_at")?,
        last_seq: row::integer(row, "last_seq")?,
        is_secret: row::integer(row, "is_secret")? == 1,
        created_at: row::integer(row, "created_at")?,
        started_at: row::optional_integer(row, "started_at")?,
        ended_at: row::optional_integer(row, "ended_at")?,
    })
}

pub(crate) fn decode_data(vault: &Vault, row: &AnyRow) -> Result<RunData> {
    let (tenant, run) = (row::text(row, "tenant")?, row::text(row, "run")?);
    let opened = |column: &str| {
        let text = row::optional_text(row, column)?;
        text.map(|text| open(vault, &data_place(&tenant, &run, column), text)).transpose()
    };
    Ok(RunData {
        source: row::optional_text(row, "source")?,
        inputs: opened("inputs")?.unwrap_or_default(),
        output: opened("output")?,
        error: opened("error")?,
    })
}
