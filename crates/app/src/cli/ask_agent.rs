//! `ask`: a question to an agent, and its answer as it is written.

use super::call::text_of;
use super::input;
use super::remote::Remote;
use crate::Failure;
use clap::Args;
use serde_json::{Value, json};
use std::io::IsTerminal as _;
use std::process::ExitCode;

/// The most bytes of a context.
const MAX_CONTEXT: u64 = 16 * 1024 * 1024;

/// Ask an agent and print its answer while it is written; exits with 1 when the run failed.
#[derive(Args)]
pub(super) struct Ask {
    /// The agent's id, e.g. support
    #[arg(value_name = "AGENT")]
    agent: String,
    /// What is asked
    #[arg(value_name = "PROMPT")]
    prompt: String,
    /// What the agent should know beside: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    context: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

impl Ask {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let mut body = json!({ "prompt": self.prompt });
        if let Some(given) = &self.context {
            let text = input::read(given, MAX_CONTEXT)?;
            body["context"] = serde_json::from_str(&text)
                .map_err(|error| Failure::new("the context is no JSON").because(error))?;
        }
        let agent = self.agent.strip_prefix("agent://").unwrap_or(&self.agent);
        let tells_steps = std::io::stderr().is_terminal();
        let mut is_written = false;
        let heard = |name: &str, data: &Value| match (name, data["text"].as_str()) {
            ("text", Some(text)) => {
                is_written = true;
                super::write(text.as_bytes());
            }
            ("step", _) if tells_steps && data["kind"] != "model" => super::note(&step(data)),
            _ => {}
        };
        let result = self.remote.follow(&format!("/agents/{agent}/runs"), &body, heard).await?;
        let is_error = result["isError"].as_bool().unwrap_or(false);
        match is_written && !is_error {
            true => super::write(b"\n"),
            false => super::print(&text_of(&result)),
        }
        Ok(if is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// A step in a line.
fn step(data: &Value) -> String {
    let part = |name: &str| data[name].as_str().unwrap_or_default();
    format!("· {} {} {}", part("agent"), part("kind"), part("name"))
}
