//! `flow cancel`, `flow retry` and `flow replay`: what is to become of a run.

use super::run::read_inputs;
use crate::Failure;
use crate::cli::remote::Remote;
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;

/// End a run, with its calls and sub-flows.
#[derive(Args)]
pub(super) struct Cancel {
    /// The run
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    remote: Remote,
}

/// Try a failed run again: nodes that failed run again, those that ended well do not.
#[derive(Args)]
pub(super) struct Retry {
    /// The run
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    remote: Remote,
}

/// Start a new run that repeats another one, and print its id.
#[derive(Args)]
pub(super) struct Replay {
    /// The run
    #[arg(value_name = "RUN")]
    run: String,
    /// The node to begin with; what ended before it is copied [default: the start]
    #[arg(long, value_name = "NODE")]
    from: Option<String>,
    /// Another version than that of the run
    #[arg(long = "flow-version", value_name = "NUMBER")]
    number: Option<u32>,
    /// Other inputs than those of the run, from the start alone: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", conflicts_with = "from")]
    inputs: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

impl Cancel {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let answer = self.remote.post(&format!("/runs/{}/cancel", self.run), &json!({})).await?;
        tell(&answer)
    }
}

impl Retry {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let answer = self.remote.post(&format!("/runs/{}/retry", self.run), &json!({})).await?;
        tell(&answer)
    }
}

impl Replay {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let inputs = self.inputs.as_deref().map(read_inputs).transpose()?;
        let body = json!({ "from": self.from, "version": self.number, "inputs": inputs });
        let answer = self.remote.post(&format!("/runs/{}/replay", self.run), &body).await?;
        crate::cli::print(answer["id"].as_str().unwrap_or_default());
        Ok(ExitCode::SUCCESS)
    }
}

fn tell(run: &Value) -> Result<ExitCode, Failure> {
    let word = |key: &str| run[key].as_str().unwrap_or_default();
    crate::cli::print(&format!("run {} is {}", word("id"), word("state")));
    Ok(ExitCode::SUCCESS)
}
