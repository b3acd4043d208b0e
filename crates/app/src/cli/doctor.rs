//! `doctor` and `approve`: whether the services of an mcp.json work, and whether they changed what they offer.

use super::call::START_WAIT;
use super::{McpConfigPath, pins_path};
use crate::Failure;
use crate::local::{Local, Setup};
use crate::mcp_config::McpConfig;
use clap::Args;
use gateway::ServiceDefinition;
use std::process::ExitCode;
use tool::TenantId;

/// Start every service of an mcp.json, ask what it offers, and say what to fix.
#[derive(Args)]
pub(super) struct Doctor {
    #[command(flatten)]
    config: McpConfigPath,
    /// Approve all changes of tools that are found
    #[arg(long)]
    approve: bool,
}

/// What was found about a service.
enum Finding {
    Works(String),
    Off,
    Failed(String),
}

impl Doctor {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let path = self.config.path()?;
        let services = McpConfig::read(&path)?.services();
        let local = Local::open(&path, Setup::new(START_WAIT, pins_path()?))?;
        local.loaded().await;
        let width = services.iter().map(|service| service.id.len()).max().unwrap_or_default();
        let mut counts = [0_usize; 3];
        for service in &services {
            if self.approve && service.is_enabled {
                approve(&local, service).await?;
            }
            let (at, sign, state) = match examine(&local, service).await {
                Finding::Works(state) => (0, "ok", state),
                Finding::Failed(state) => (1, "FAILED", state),
                Finding::Off => (2, "off", "disabled".to_owned()),
            };
            counts[at] += 1;
            super::print(&format!("{:width$}  {sign:6}  {state}", service.id));
            for warning in local.warnings(service) {
                super::print(&format!("{:width$}          warning: {warning}", ""));
            }
        }
        local.close().await;
        let [good, failed, off] = counts;
        super::print(&format!("{good} work, {failed} failed, {off} disabled"));
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Reaches the service and counts its tools.
async fn examine(local: &Local, service: &ServiceDefinition) -> Finding {
    if !service.is_enabled {
        return Finding::Off;
    }
    let health = local.gateway.health(&TenantId::default_tenant(), &service.scheme, &service.id).await;
    if let Err(error) = health {
        let variables = match service.variables.as_slice() {
            [] => String::new(),
            variables if error.context("auth").is_some() => format!("; check {}", variables.join(", ")),
            _ => String::new(),
        };
        return Finding::Failed(format!("{}{variables}", error.full_message()));
    }
    if let Some(failure) = local.failure(service) {
        return Finding::Failed(format!("it can be reached, but does not say what it offers: {failure}"));
    }
    match local.tool_count(service) {
        0 => Finding::Works("no tools; see its own settings, and includeTools and excludeTools".to_owned()),
        count => Finding::Works(format!("{count} tools")),
    }
}

async fn approve(local: &Local, service: &ServiceDefinition) -> Result<Vec<String>, Failure> {
    let approved = local.approve(service).await;
    approved.map_err(|error| Failure::new(format!("{}: {}", service.id, error.full_message())))
}

/// Approve that a service has changed its tools, after `doctor` has said how.
#[derive(Args)]
pub(super) struct Approve {
    /// The service
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    config: McpConfigPath,
}

impl Approve {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let path = self.config.path()?;
        let services = McpConfig::read(&path)?.services();
        let Some(service) = services.iter().find(|service| service.id == self.name && service.is_enabled)
        else {
            let names: Vec<&str> = services.iter().map(|service| service.id.as_str()).collect();
            return Err(Failure::new(format!("there is no service '{}' that is switched on", self.name))
                .advice(format!("there are: {}", names.join(", "))));
        };
        let only = Setup { only: Some(self.name.clone()), ..Setup::new(START_WAIT, pins_path()?) };
        let local = Local::open(&path, only)?;
        local.loaded().await;
        let examined = examine(&local, service).await;
        let approved = approve(&local, service).await;
        local.close().await;
        if let Finding::Failed(why) = examined {
            return Err(Failure::new(format!("{}: {why}", self.name)));
        }
        match approved?.as_slice() {
            [] => super::print("there was nothing to approve"),
            tools => super::print(&format!("approved: {}", tools.join(", "))),
        }
        Ok(ExitCode::SUCCESS)
    }
}
