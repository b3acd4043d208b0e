//! `list`: the services of an mcp.json.

use super::McpConfigPath;
use crate::Failure;
use clap::Args;
use gateway::ServiceDefinition;
use local::mcp_config::{McpConfig, masked_entry, problems};
use serde_json::{Value, json};
use std::process::ExitCode;

/// What to do about an empty file.
pub(super) const NO_SERVICES: &str = "there are no services; add one with `mcp-all-in-one add`, or take over \
    other clients' with `mcp-all-in-one import`";

/// List the services of an mcp.json.
#[derive(Args)]
pub(super) struct List {
    /// Print them as JSON, secrets masked
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    config: McpConfigPath,
}

impl List {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let config = McpConfig::open(&self.config.path()?)?;
        let services = config.services();
        if self.json {
            let listed: Vec<Value> = services.iter().map(|service| as_json(&config, service)).collect();
            super::print(&serde_json::to_string_pretty(&listed).unwrap_or_default());
            return Ok(ExitCode::SUCCESS);
        }
        if services.is_empty() {
            super::note(NO_SERVICES);
        }
        let width = services.iter().map(|service| service.id.len()).max().unwrap_or_default();
        for service in services {
            let state = match (service.is_enabled, problems(&service).first()) {
                (false, _) => "disabled".to_owned(),
                (true, Some(problem)) => format!("broken: {problem}"),
                (true, None) => what_it_is(&masked_entry(&config.understood(&service.id))),
            };
            super::print(&format!("{:width$}  {state}", service.id));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What it says, as it stands in the file, without what may be secret.
fn as_json(config: &McpConfig, service: &ServiceDefinition) -> Value {
    let entry = masked_entry(&config.understood(&service.id));
    let kind = match (entry.get("type"), entry.get("command")) {
        (Some(kind), _) => kind.clone(),
        (None, Some(_)) => "stdio".into(),
        (None, None) => Value::Null,
    };
    let mut listed = json!({ "name": service.id, "type": kind, "enabled": service.is_enabled });
    for key in ["command", "args", "url"] {
        if let Some(value) = entry.get(key) {
            listed[key] = value.clone();
        }
    }
    let found = if service.is_enabled { problems(service) } else { Vec::new() };
    if !found.is_empty() {
        listed["problems"] = found.into();
    }
    listed
}

/// The command with its arguments, or the address.
fn what_it_is(entry: &Value) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    match (text("command"), text("url")) {
        (Some(command), _) => {
            let arguments = entry.get("args").and_then(Value::as_array).into_iter().flatten();
            let arguments = arguments.filter_map(Value::as_str).map(quoted);
            std::iter::once(command.to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
        }
        (_, Some(url)) => url.split('?').next().unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// A word as a shell would take it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@=+,%*${}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
