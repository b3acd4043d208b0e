//! `flow validate`: what is wrong with a flow, and where.

use super::source::{Found, Source, counted};
use crate::Failure;
use crate::cli::remote::Remote;
use clap::Args;
use flow::{Lookup, Tools};
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use tool::Uri;

/// Check a flow and print every problem as FILE:LINE:COLUMN: message; exits with 1 when there are errors.
///
/// Without --server and --token everything is checked but the tools that the flow calls; with one of them the server checks those,
/// too, with the rights of the key.
#[derive(Args)]
pub(super) struct Validate {
    /// The flow, YAML or JSON: a file, or - for stdin
    #[arg(value_name = "FILE|-")]
    file: String,
    #[command(flatten)]
    remote: Remote,
}

impl Validate {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let source = Source::read(&self.file)?;
        let problems = match self.remote.is_meant() {
            true => {
                let body = json!({ "source": source.text, "id": source.id() });
                Found::in_answer(&self.remote.post("/flows/validate", &body).await?, "errors")
            }
            false => {
                let checked = flow::validate(&source.text, &Unknown);
                checked.problems.iter().map(Found::from).collect()
            }
        };
        source.lines(&problems).iter().for_each(|line| crate::cli::print(line));
        if !self.remote.is_meant() {
            crate::cli::note(
                "tools were not checked; name a server with --server and --token to check them, too",
            );
        }
        let errors = problems.iter().filter(|problem| problem.is_error()).count();
        if errors > 0 {
            return Ok(ExitCode::FAILURE);
        }
        let warnings = counted(problems.len(), "warning");
        crate::cli::note(&format!("{}: no errors, {warnings}", source.name));
        Ok(ExitCode::SUCCESS)
    }
}

/// No tool is known, and none is missed.
struct Unknown;

impl Tools for Unknown {
    fn find(&self, _: &Uri) -> Lookup {
        Lookup::Found { input: Arc::new(json!({})) }
    }
}
