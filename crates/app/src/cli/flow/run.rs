//! `flow run`: from a flow to its output.

use super::logs::PAGE;
use super::progress::{line, reason};
use super::run_file::run_file;
use super::source::segment;
use crate::Failure;
use crate::cli::input;
use crate::cli::remote::Remote;
use crate::cli::stop_on_signal;
use clap::Args;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How often a server is asked.
const LOOK: Duration = Duration::from_millis(300);
const MAX_INPUTS: u64 = 16 * 1024 * 1024;

/// Run a flow and print its output; exits with 1 when the run failed.
///
/// A file (YAML or JSON) is run here, without a server, with the services of an mcp.json. Anything else is the id of a flow on a
/// server. Ctrl-C cancels the run, and so does SIGTERM where there is no terminal.
#[derive(Args)]
pub(super) struct Run {
    /// The flow: a file, - for stdin, or the id of a flow on a server
    #[arg(value_name = "FILE|ID")]
    flow: String,
    /// The inputs: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "{}")]
    inputs: String,
    /// The version to run: a number, or draft [default: the published one]
    #[arg(long = "flow-version", value_name = "NUMBER|draft")]
    number: Option<String>,
    /// Print the id of the run and do not wait for it
    #[arg(long)]
    detach: bool,
    /// The mcp.json with the services that a file calls [default: mcp.json in ~/.mcp-all-in-one]
    #[arg(long, env = "MCP_ALL_IN_ONE_MCP_CONFIG", value_name = "PATH")]
    mcp_config: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

impl Run {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        if self.flow == "-" && self.inputs == "-" {
            return Err(Failure::new("stdin cannot be both the flow and its inputs")
                .advice("put one of them into a file: --inputs @FILE"));
        }
        let stop = stop_on_signal()?;
        let inputs = read_inputs(&self.inputs)?;
        if self.flow == "-" || Path::new(&self.flow).is_file() {
            return run_file(&self.flow, inputs, self.mcp_config, stop).await;
        }
        // Ids of flows have dots, too.
        let is_file = ["yaml", "yml", "json"].iter().any(|ending| has_ending(&self.flow, ending));
        if is_file || self.flow.contains(['/', '\\']) {
            return Err(Failure::new(format!("there is no file '{}'", self.flow)));
        }
        let version = self.number.as_deref().map(|text| text.parse::<u32>().map_or(json!(text), Value::from));
        let mut body = json!({ "inputs": inputs });
        if let Some(version) = version {
            body["version"] = version;
        }
        let run = self.remote.post(&format!("/flows/{}/runs", segment(&self.flow)), &body).await?;
        let id = run["id"].as_str().unwrap_or_default().to_owned();
        if self.detach {
            crate::cli::print(&id);
            return Ok(ExitCode::SUCCESS);
        }
        tokio::select! {
            ended = follow(&self.remote, &id) => report(&ended?),
            () = stop.cancelled() => {
                self.remote.post(&format!("/runs/{id}/cancel"), &json!({})).await?;
                Err(Failure::new(format!("run {id} is cancelled")))
            }
        }
    }
}

fn has_ending(path: &str, ending: &str) -> bool {
    Path::new(path).extension().is_some_and(|own| own.eq_ignore_ascii_case(ending))
}

pub(super) fn read_inputs(given: &str) -> Result<Value, Failure> {
    let text = input::read(given, MAX_INPUTS)?;
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        Failure::new("the inputs are no JSON").because(error).advice("write --inputs '{\"name\":\"value\"}'")
    })?;
    if value.is_object() { Ok(value) } else { Err(Failure::new("the inputs must be a JSON object")) }
}

/// Waits for the end of a run, and says on a terminal how it goes on.
async fn follow(remote: &Remote, id: &str) -> Result<Value, Failure> {
    let is_watched = std::io::stderr().is_terminal();
    let mut told: HashMap<String, String> = HashMap::new();
    let mut asked = HashSet::new();
    loop {
        let run: Value = remote.get(&format!("/runs/{id}")).await?;
        if is_watched {
            // Steps come in the order in which they began: the newest are on the last page.
            let page = told.len() / PAGE + 1;
            let steps: Value = remote.get(&format!("/runs/{id}/steps?limit={PAGE}&page={page}")).await?;
            for step in steps["items"].as_array().into_iter().flatten() {
                let (path, line) = (step["path"].to_string(), line(step));
                if told.insert(path, line.clone()).as_ref() != Some(&line) {
                    crate::cli::note(&line);
                }
            }
        }
        if matches!(run["state"].as_str(), Some("succeeded" | "failed" | "cancelled")) {
            return Ok(run);
        }
        let approvals = run["waiting_for"].as_array().into_iter().flatten();
        for approval in approvals.filter_map(|wait| wait["approval_id"].as_str()) {
            if asked.insert(approval.to_owned()) {
                crate::cli::note(&format!("run {id} waits for: mcp-all-in-one flow approve {approval}"));
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn report(run: &Value) -> Result<ExitCode, Failure> {
    match run["state"].as_str() {
        Some("succeeded") => {
            crate::cli::print(&serde_json::to_string_pretty(&run["output"]).unwrap_or_default());
            Ok(ExitCode::SUCCESS)
        }
        Some("failed") => Err(Failure::new(reason(&run["error"])).advice(format!(
            "look at it with: mcp-all-in-one flow logs {}",
            run["id"].as_str().unwrap_or_default()
        ))),
        _ => Err(Failure::new("the run was cancelled")),
    }
}
