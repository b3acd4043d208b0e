//! `flow logs`: what each node of a run did.

use super::progress::{line, reason};
use crate::Failure;
use crate::cli::remote::Remote;
use clap::Args;
use serde_json::Value;
use std::process::ExitCode;

/// As many steps as one answer holds.
pub(super) const PAGE: usize = 1000;

/// Show what each node of a run did, in the order in which they began.
#[derive(Args)]
pub(super) struct Logs {
    /// The run
    #[arg(value_name = "RUN")]
    run: String,
    /// Print the steps as JSON, with arguments and results
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

impl Logs {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let run: Value = self.remote.get(&format!("/runs/{}", self.run)).await?;
        let steps = all_steps(&self.remote, &self.run).await?;
        if self.json {
            crate::cli::print(&serde_json::to_string_pretty(&steps).unwrap_or_default());
            return Ok(ExitCode::SUCCESS);
        }
        steps.iter().for_each(|step| crate::cli::print(&line(step)));
        crate::cli::print(&match &run["error"] {
            Value::Null => format!("run {}", run["state"].as_str().unwrap_or_default()),
            error => format!("run failed: {}", reason(error)),
        });
        Ok(ExitCode::SUCCESS)
    }
}

/// Every step of a run, page by page: there may be tens of thousands.
async fn all_steps(remote: &Remote, run: &str) -> Result<Vec<Value>, Failure> {
    let mut steps = Vec::new();
    for page in 1.. {
        let answer: Value = remote.get(&format!("/runs/{run}/steps?limit={PAGE}&page={page}")).await?;
        let Some(items) = answer["items"].as_array().filter(|items| !items.is_empty()) else { break };
        steps.extend_from_slice(items);
        if items.len() < PAGE {
            break;
        }
    }
    Ok(steps)
}
