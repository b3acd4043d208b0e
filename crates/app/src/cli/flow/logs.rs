//! `flow logs`: what each node of a run did.

use super::progress::{line, reason};
use crate::Failure;
use crate::cli::remote::Remote;
use clap::Args;
use serde_json::Value;
use std::process::ExitCode;

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
        let steps: Value = self.remote.get(&format!("/runs/{}/steps?limit=1000", self.run)).await?;
        if self.json {
            crate::cli::print(&serde_json::to_string_pretty(&steps["items"]).unwrap_or_default());
            return Ok(ExitCode::SUCCESS);
        }
        steps["items"].as_array().into_iter().flatten().for_each(|step| crate::cli::print(&line(step)));
        crate::cli::print(&match &run["error"] {
            Value::Null => format!("run {}", run["state"].as_str().unwrap_or_default()),
            error => format!("run failed: {}", reason(error)),
        });
        Ok(ExitCode::SUCCESS)
    }
}
