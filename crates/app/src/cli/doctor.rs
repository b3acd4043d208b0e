//! `doctor` and `approve`: whether the services of an mcp.json work, and whether they changed what they offer.

use super::call::START_WAIT;
use super::list::NO_SERVICES;
use super::remedy::remedy;
use super::{McpConfigPath, pins_path};
use crate::Failure;
use clap::Args;
use gateway::ServiceDefinition;
use local::mcp_config::{McpConfig, masked_text};
use local::{Local, Setup};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::ExitCode;
use tool::TenantId;
use tool::sanitize::clean;

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
    Failed { why: String, remedy: Option<String> },
}

impl Doctor {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let path = self.config.path()?;
        let config = McpConfig::open(&path)?;
        let services = config.services();
        if services.is_empty() {
            super::note(NO_SERVICES);
        }
        let local = Local::open(&path, Setup::new(START_WAIT, pins_path()?))?;
        local.loaded().await;
        config.repeated().iter().for_each(|repeated| say(&format!("warning: {repeated}")));
        let width = services.iter().map(|service| service.id.len()).max().unwrap_or_default();
        let mut counts = [0_usize; 3];
        for service in &services {
            if self.approve && service.is_enabled {
                approve(&local, service).await?;
            }
            let (at, sign, state, remedy) = match examine(&local, service, &self.config).await {
                Finding::Works(state) => (0, "ok", state, None),
                Finding::Failed { why, remedy } => (1, "FAILED", why, remedy),
                Finding::Off => (2, "off", "disabled".to_owned(), None),
            };
            counts[at] += 1;
            say(&format!("{:width$}  {sign:6}  {state}", service.id));
            let remedy = remedy.map(|remedy| format!("fix: {remedy}"));
            let warnings = local.warnings(service).into_iter().map(|warning| format!("warning: {warning}"));
            remedy
                .into_iter()
                .chain(warnings)
                .for_each(|line| say(&format!("{:width$}          {line}", "")));
        }
        local.close().await;
        let [good, failed, off] = counts;
        super::print(&format!("{good} work, {failed} failed, {off} disabled"));
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Reaches the service and counts its tools.
async fn examine(local: &Local, service: &ServiceDefinition, config: &McpConfigPath) -> Finding {
    if !service.is_enabled {
        return Finding::Off;
    }
    let health = local.gateway.health(&TenantId::default_tenant(), &service.scheme, &service.id).await;
    if let Err(error) = health {
        let why = without_secrets(service, &error.full_message());
        return Finding::Failed { why, remedy: remedy(service, &error, config) };
    }
    if let Some(failure) = local.failure(service) {
        let why = format!("it can be reached, but does not list its tools: {failure}");
        return Finding::Failed { why, remedy: None };
    }
    let held = local.held_count(service);
    Finding::Works(match (local.tool_count(service), held) {
        (0, 0) => "no tools; see its own settings, and includeTools and excludeTools".to_owned(),
        (count, 0) => format!("{count} tools"),
        (count, held) => {
            let approve = config.command(&format!("approve {}", service.id));
            format!("{} tools, {held} held back; if you trust what has changed: {approve}", count + held)
        }
    })
}

/// What a failure says, if it repeats a command with a secret in it.
fn without_secrets(service: &ServiceDefinition, said: &str) -> String {
    let command =
        service.settings.get("command").and_then(Value::as_str).filter(|command| !command.is_empty());
    command.map_or_else(|| said.to_owned(), |command| said.replace(command, &masked_text(command)))
}

/// Prints a line that holds words of others, without what would move the cursor.
fn say(line: &str) {
    super::print(&clean(line, &mut BTreeSet::new()));
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
        let services = McpConfig::open(&path)?.services();
        let Some(service) = services.iter().find(|service| service.id == self.name && service.is_enabled)
        else {
            let names: Vec<&str> = services.iter().map(|service| service.id.as_str()).collect();
            return Err(Failure::new(format!("there is no service '{}' that is switched on", self.name))
                .advice(format!("there are: {}", names.join(", "))));
        };
        let only = Setup { only: Some(self.name.clone()), ..Setup::new(START_WAIT, pins_path()?) };
        let local = Local::open(&path, only)?;
        local.loaded().await;
        let examined = examine(&local, service, &self.config).await;
        let approved = approve(&local, service).await;
        local.close().await;
        if let Finding::Failed { why, remedy } = examined {
            let failure = Failure::new(format!("{}: {why}", self.name));
            return Err(remedy.into_iter().fold(failure, Failure::advice));
        }
        match approved?.as_slice() {
            [] => super::print("there was nothing to approve"),
            tools => say(&format!("approved: {}", tools.join(", "))),
        }
        Ok(ExitCode::SUCCESS)
    }
}
