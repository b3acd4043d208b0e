//! `flow approve`: what runs ask people.

use crate::Failure;
use crate::cli::input;
use crate::cli::remote::Remote;
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;

const MAX_DATA: u64 = 1024 * 1024;

/// List what waits for a decision, or decide on it.
#[derive(Args)]
pub(super) struct Approve {
    /// The approval [default: list them]
    #[arg(value_name = "APPROVAL")]
    id: Option<String>,
    /// Reject instead
    #[arg(long, requires = "id")]
    reject: bool,
    /// Why
    #[arg(long, value_name = "TEXT", requires = "id")]
    comment: Option<String>,
    /// What is filled in: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", requires = "id")]
    data: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// What is not in words is shown as it is: what an expression of a flow gives, or the call of an agent.
pub(super) fn title_of(title: &Value) -> String {
    title.as_str().map_or_else(|| title.to_string(), str::to_owned)
}

impl Approve {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let Some(id) = &self.id else { return self.list().await };
        let data = match &self.data {
            Some(given) => serde_json::from_str(&input::read(given, MAX_DATA)?)
                .map_err(|error| Failure::new("the data is no JSON").because(error))?,
            None => Value::Null,
        };
        let decision = if self.reject { "reject" } else { "approve" };
        let body = json!({ "decision": decision, "comment": self.comment, "data": data });
        self.remote.post(&format!("/approvals/{id}"), &body).await?;
        crate::cli::print(if self.reject { "rejected" } else { "approved" });
        Ok(ExitCode::SUCCESS)
    }

    async fn list(&self) -> Result<ExitCode, Failure> {
        let answer: Value = self.remote.get("/approvals?limit=1000").await?;
        for approval in answer["items"].as_array().into_iter().flatten() {
            let word = |key: &str| approval[key].as_str().unwrap_or_default();
            crate::cli::print(&format!(
                "{}  {}  {}",
                word("id"),
                word("asked_at"),
                crate::cli::one_line(&title_of(&approval["title"]))
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}
