//! `config`, `list`, `doctor`: what an mcp.json says, and whether it works.

use super::McpConfigPath;
use super::call::START_WAIT;
use crate::Failure;
use crate::local::Local;
use crate::mcp_config::{self, McpConfig};
use clap::{Args, Subcommand};
use gateway::ServiceDefinition;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tool::{Env, TenantId};

/// Look at an mcp.json.
#[derive(Args)]
pub(super) struct Config {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say everything that is wrong with it, without starting anything; exits with 1 if something is
    Validate(At),
    /// Print it, with secrets masked
    Show(At),
    /// Print the JSON Schema of such a file
    Schema,
}

#[derive(Args)]
struct At {
    /// The mcp.json [default: mcp.json in ~/.mcp-all-in-one]
    #[arg(value_name = "PATH", env = "MCP_ALL_IN_ONE_MCP_CONFIG")]
    path: Option<PathBuf>,
}

impl At {
    fn path(self) -> Result<PathBuf, Failure> {
        McpConfigPath { mcp_config: self.path }.path()
    }
}

impl Config {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Validate(at) => validate(&at.path()?),
            Command::Show(at) => {
                let shown = McpConfig::read(&at.path()?)?.masked();
                super::print(&serde_json::to_string_pretty(&shown).unwrap_or_default());
                Ok(ExitCode::SUCCESS)
            }
            Command::Schema => {
                let schema = mcp_config::schema(connectors::ALL);
                super::print(&serde_json::to_string_pretty(&schema).unwrap_or_default());
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn validate(path: &Path) -> Result<ExitCode, Failure> {
    let services = McpConfig::read(path)?.services();
    let count = services.len();
    let mut is_good = true;
    for service in services {
        for problem in problems(&service) {
            is_good = false;
            super::print(&format!("{}: {problem}", service.id));
        }
    }
    if !is_good {
        return Ok(ExitCode::FAILURE);
    }
    super::print(&format!("{}: {count} services, nothing wrong", path.display()));
    Ok(ExitCode::SUCCESS)
}

/// What would keep a service from being opened.
fn problems(service: &ServiceDefinition) -> Vec<String> {
    if let Some(problem) = &service.problem {
        return vec![problem.clone()];
    }
    let Some(kind) = connectors::find(&service.scheme) else {
        return vec![format!("there is no service type '{}'", service.scheme)];
    };
    match kind.open(service.settings.clone(), &Env::default()) {
        Ok(_) => Vec::new(),
        Err(error) if error.problems().is_empty() => vec![error.to_string()],
        Err(error) => error.problems().iter().map(|problem| problem.message.clone()).collect(),
    }
}

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
    let text = |key: &str| service.settings.get(key).and_then(serde_json::Value::as_str);
    match (text("command"), text("url")) {
        (Some(command), _) => command.to_owned(),
        (_, Some(url)) => url.split('?').next().unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// Start every service of an mcp.json, ask what it offers, and say what to fix.
#[derive(Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    config: McpConfigPath,
}

impl Doctor {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let path = self.config.path()?;
        let services = McpConfig::read(&path)?.services();
        let local = Local::open(&path, START_WAIT)?;
        local.loaded().await;
        let tenant = TenantId::default_tenant();
        let width = services.iter().map(|service| service.id.len()).max().unwrap_or_default();
        let mut is_good = true;
        for service in services {
            let (sign, state) = if service.is_enabled {
                match local.gateway.health(&tenant, &service.scheme, &service.id).await {
                    Ok(()) => ("ok", format!("{} tools", local.tool_count(&service))),
                    Err(error) => {
                        is_good = false;
                        ("FAILED", error.full_message())
                    }
                }
            } else {
                ("off", "disabled".to_owned())
            };
            super::print(&format!("{:width$}  {sign:6}  {state}", service.id));
        }
        local.close().await;
        Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
