//! `flow runs`: what has run, newest first.

use crate::Failure;
use crate::cli::remote::Remote;
use clap::Args;
use serde_json::Value;
use std::process::ExitCode;

/// List the runs of a running server, newest first.
#[derive(Args)]
pub(super) struct Runs {
    /// Only those of this flow
    #[arg(long, value_name = "ID")]
    flow: Option<String>,
    /// Only those in this state: queued, running, waiting, paused, cancelling, succeeded, failed or cancelled
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// As many at the most
    #[arg(long, value_name = "NUMBER", default_value_t = 50)]
    limit: u32,
    #[command(flatten)]
    remote: Remote,
}

impl Runs {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let mut path = format!("/runs?limit={}", self.limit);
        for (name, value) in [("flow", &self.flow), ("state", &self.state)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={value}"));
            }
        }
        let answer: Value = self.remote.get(&path).await?;
        for run in answer["items"].as_array().into_iter().flatten() {
            let word = |key: &str| run[key].as_str().unwrap_or_default();
            let line =
                format!("{}  {:10}  {}  {}", word("id"), word("state"), word("created_at"), word("flow"));
            crate::cli::print(&line);
        }
        Ok(ExitCode::SUCCESS)
    }
}
