//! `flow list`: the flows of a server.

use crate::Failure;
use crate::cli::remote::Remote;
use clap::Args;
use serde_json::Value;
use std::process::ExitCode;

/// As many as a page holds.
const LIMIT: usize = 1000;

/// List the flows of a running server.
#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    remote: Remote,
}

impl List {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let mut flows = Vec::new();
        for page in 1.. {
            let answer: Value = self.remote.get(&format!("/flows?limit={LIMIT}&page={page}")).await?;
            let items = answer["items"].as_array().cloned().unwrap_or_default();
            let is_last = items.len() < LIMIT;
            flows.extend(items);
            if is_last {
                break;
            }
        }
        if flows.is_empty() {
            crate::cli::note("there are no flows; make one with 'mcp-all-in-one flow push FILE'");
        }
        table(&flows).iter().for_each(|line| crate::cli::print(line));
        Ok(ExitCode::SUCCESS)
    }
}

/// A line for each: id, what new runs take, name.
fn table(flows: &[Value]) -> Vec<String> {
    let rows = flows.iter().map(|flow| {
        let word = |key: &str| flow[key].as_str().unwrap_or_default().to_owned();
        let state = match (&flow["current"], flow["enabled"] == true) {
            (Value::Null, _) => "draft".to_owned(),
            (version, true) => format!("version {version}"),
            (version, false) => format!("version {version}, disabled"),
        };
        [word("id"), state, word("name")]
    });
    let rows: Vec<_> = rows.collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or_default();
    let (ids, states) = (width(0), width(1));
    rows.iter().map(|[id, state, name]| format!("{id:ids$}  {state:states$}  {name}")).collect()
}
