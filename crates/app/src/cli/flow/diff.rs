//! `flow diff`: how two texts of a flow differ.

use super::source::segment;
use crate::Failure;
use crate::cli::remote::Remote;
use clap::Args;
use serde_json::Value;
use std::process::ExitCode;

/// Show how two texts of a flow differ, comments and spacing aside; exits with 1 when they do.
#[derive(Args)]
pub(super) struct Diff {
    /// The flow
    #[arg(value_name = "ID")]
    id: String,
    /// A version, or draft [default: the current version]
    #[arg(long, value_name = "VERSION")]
    from: Option<String>,
    /// A version, or draft [default: draft]
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

impl Diff {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let sides = [("from", &self.from), ("to", &self.to)];
        let query =
            sides.iter().filter_map(|(name, side)| Some(format!("{name}={}", segment(side.as_ref()?))));
        let query = query.collect::<Vec<_>>().join("&");
        let answer: Value = self.remote.get(&format!("/flows/{}/diff?{query}", segment(&self.id))).await?;
        let changes = answer["changes"].as_array().cloned().unwrap_or_default();
        changes.iter().for_each(|change| crate::cli::print(&line(change)));
        if changes.is_empty() {
            crate::cli::note("no difference");
            return Ok(ExitCode::SUCCESS);
        }
        Ok(ExitCode::FAILURE)
    }
}

fn line(change: &Value) -> String {
    let path = change["path"].as_str().filter(|path| !path.is_empty()).unwrap_or("(everything)");
    match (change.get("from"), change.get("to")) {
        (Some(from), Some(to)) => format!("~ {path}: {from} → {to}"),
        (Some(from), None) => format!("- {path}: {from}"),
        (None, to) => format!("+ {path}: {}", to.unwrap_or(&Value::Null)),
    }
}
