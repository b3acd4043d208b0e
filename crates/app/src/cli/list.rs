//! `list`: the services of an mcp.json.

use super::McpConfigPath;
use crate::Failure;
use crate::mcp_config::{McpConfig, masked_entry, problems};
use clap::Args;
use serde_json::Value;
use std::process::ExitCode;

/// What to do about an empty file.
pub(super) const NO_SERVICES: &str = "there are no services; add one with `mcp-all-in-one add`, or take over \
    other clients' with `mcp-all-in-one import`";

/// List the services of an mcp.json.
#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    config: McpConfigPath,
}

impl List {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let config = McpConfig::open(&self.config.path()?)?;
        let services = config.services();
        if services.is_empty() {
            super::note(NO_SERVICES);
        }
        let width = services.iter().map(|service| service.id.len()).max().unwrap_or_default();
        for service in services {
            let state = match (service.is_enabled, problems(&service).first()) {
                (false, _) => "disabled".to_owned(),
                (true, Some(problem)) => format!("broken: {problem}"),
                (true, None) => config.entries().get(&service.id).map(what_it_is).unwrap_or_default(),
            };
            super::print(&format!("{:width$}  {state}", service.id));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The command or the address as they stand in the file, without what may be secret.
fn what_it_is(entry: &Value) -> String {
    let entry = masked_entry(entry);
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let url = ["url", "httpUrl", "serverUrl"].into_iter().find_map(text);
    match (text("command"), url) {
        (Some(command), _) => command.to_owned(),
        (_, Some(url)) => url.split('?').next().unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}
