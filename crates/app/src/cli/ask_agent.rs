//! `ask`: a question to an agent, and its answer as it is written.

use super::call::text_of;
use super::input;
use super::remote::Remote;
use crate::Failure;
use clap::Args;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use tool::sanitize::escaped;

/// How it exits when the run waits for somebody, or goes on.
const GOES_ON: u8 = 3;

/// The most bytes of a context.
const MAX_CONTEXT: u64 = 16 * 1024 * 1024;

/// Ask an agent and print its answer while it is written; exits with 1 when the run failed, and with 3 when it waits or goes on.
/// At a terminal the approvals that the run waits for are asked.
#[derive(Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["prompt", "run"])))]
pub(super) struct Ask {
    /// The agent's id, e.g. support
    #[arg(value_name = "AGENT")]
    agent: String,
    /// What is asked
    #[arg(value_name = "PROMPT")]
    prompt: Option<String>,
    /// What the agent should know beside: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-")]
    context: Option<String>,
    /// Keep what is said: new, or the id of a conversation to go on with
    #[arg(long, value_name = "ID", conflicts_with = "run")]
    conversation: Option<String>,
    /// Print the id of the run and let it go on by itself
    #[arg(long = "async", conflicts_with = "run")]
    is_async: bool,
    /// Wait for a run that goes on
    #[arg(long, value_name = "ID", conflicts_with = "context")]
    run: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

impl Ask {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let mut body = json!({});
        for (name, given) in
            [("prompt", &self.prompt), ("conversation", &self.conversation), ("run", &self.run)]
        {
            if let Some(given) = given {
                body[name] = given.as_str().into();
            }
        }
        if let Some(given) = &self.context {
            let text = input::read(given, MAX_CONTEXT)?;
            body["context"] = serde_json::from_str(&text)
                .map_err(|error| Failure::new("the context is no JSON").because(error))?;
        }
        let agent = self.agent.strip_prefix("agent://").unwrap_or(&self.agent);
        let path = format!("/agents/{agent}/runs");
        if self.is_async {
            body["wait_seconds"] = 0.into();
            let begun = self.remote.post(&path, &body).await?;
            super::print(begun["structuredContent"]["run"].as_str().unwrap_or_default());
            return Ok(ExitCode::SUCCESS);
        }
        let mut result = self.follow(&path, &body).await?;
        while super::ask::is_possible() && waits_for_us(&result) {
            if !self.decide(&result).await? {
                break;
            }
            let run = &result["structuredContent"]["run"];
            result = self.follow(&path, &json!({ "run": run })).await?;
        }
        Ok(self.told(&result))
    }

    /// Asks, and writes the answer while it comes.
    async fn follow(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let (tells_steps, shows_both) = (std::io::stderr().is_terminal(), std::io::stdout().is_terminal());
        let (mut lines, mut is_ended) = (Lines::default(), false);
        let heard = |name: &str, data: &Value| match (name, data["text"].as_str()) {
            ("text", Some(text)) => {
                if std::mem::take(&mut is_ended) {
                    lines.end();
                }
                lines.write(&printable(text));
            }
            // What the model says next is another text.
            ("step", _) if data["kind"] == "model" => is_ended = true,
            ("step", _) if tells_steps => {
                if shows_both {
                    lines.end();
                }
                super::note(&escaped(&step(data)));
            }
            _ => {}
        };
        let result = self.remote.follow(path, body, heard).await;
        lines.end();
        let result = result?;
        // What was written was the answer, and not just what came before it.
        let is_answered = matches!(result["structuredContent"]["state"].as_str(), None | Some("succeeded"));
        if !lines.has_any || !is_answered || is_error(&result) || is_ended {
            super::print(&printable(&text_of(&result)));
        }
        Ok(result)
    }

    /// Asks the person at the terminal about every call that waits; whether all of it is decided.
    async fn decide(&self, result: &Value) -> Result<bool, Failure> {
        let told = &result["structuredContent"];
        for approval in told["approvals"].as_array().into_iter().flatten() {
            let (agent, uri) = (shown(&told["agent"]), shown(&approval["uri"]));
            let arguments = shown(&approval["arguments"]);
            let is_approved =
                super::ask::confirm(&format!("{agent} wants to call {uri} with {arguments}. May it?"))?;
            let decision = json!({ "decision": if is_approved { "approve" } else { "reject" } });
            let id = approval["id"].as_str().unwrap_or_default();
            if let Err(failure) = self.remote.post(&format!("/approvals/{id}"), &decision).await {
                super::note(&escaped(&failure.to_string()));
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Says what is worth a word at the end, and how it went.
    fn told(&self, result: &Value) -> ExitCode {
        let told = &result["structuredContent"];
        if let Some(conversation) = told["conversation"].as_str().filter(|_| self.conversation.is_some()) {
            super::note(&format!("conversation {conversation}"));
        }
        match (is_error(result), told["state"].as_str()) {
            (true, _) => ExitCode::FAILURE,
            (false, None | Some("succeeded")) => ExitCode::SUCCESS,
            (false, Some(_)) => ExitCode::from(GOES_ON),
        }
    }
}

/// Text that comes in pieces, and what else has to stand on lines of its own.
#[derive(Default)]
struct Lines {
    has_any: bool,
    is_open: bool,
}

impl Lines {
    fn write(&mut self, text: &str) {
        self.has_any = true;
        self.is_open = !text.ends_with('\n') && (self.is_open || !text.is_empty());
        super::write(text.as_bytes());
    }

    /// The next thing begins a line.
    fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            super::write(b"\n");
        }
    }
}

fn is_error(result: &Value) -> bool {
    result["isError"].as_bool().unwrap_or(false)
}

/// The run waits, and says for what.
fn waits_for_us(result: &Value) -> bool {
    let approvals = result["structuredContent"]["approvals"].as_array();
    approvals.is_some_and(|approvals| !approvals.is_empty())
}

/// What a model has written: on a terminal in letters that it shows and does not obey, and elsewhere as it is.
fn printable(text: &str) -> Cow<'_, str> {
    if std::io::stdout().is_terminal() { escaped(text) } else { text.into() }
}

/// What a model has chosen, with all of it in sight and in one line.
fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    super::one_line(&text)
}

/// A step in a line.
fn step(data: &Value) -> String {
    let part = |name: &str| data[name].as_str().unwrap_or_default();
    format!("· {} {} {}", part("agent"), part("kind"), part("name"))
}
