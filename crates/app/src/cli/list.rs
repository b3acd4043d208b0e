//! `list`: the services of an mcp.json.

use super::McpConfigPath;
use crate::Failure;
use crate::mcp_config::{McpConfig, problems};
use clap::Args;
use gateway::ServiceDefinition;
use serde_json::Value;
use std::process::ExitCode;

/// List the services of an mcp.json.
#[derive(Args)]
pub(super) struct List {
    #[command(flatten)]
    config: McpConfigPath,
}

impl List {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let services = McpConfig::read(&self.config.path()?)?.services();
        let width = services.iter().map(|service| service.id.len()).max().unwrap_or_default();
        for service in services {
            let state = match (service.is_enabled, problems(&service).first()) {
                (false, _) => "disabled".to_owned(),
                (true, Some(problem)) => format!("broken: {problem}"),
                (true, None) => what_it_is(&service),
            };
            super::print(&format!("{:width$}  {state}", service.id));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The command or the address, without arguments that may hold secrets.
fn what_it_is(service: &ServiceDefinition) -> String {
    let text = |key: &str| service.settings.get(key).and_then(Value::as_str);
    match (text("command"), text("url")) {
        (Some(command), _) => command.to_owned(),
        (_, Some(url)) => url.split('?').next().unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}
