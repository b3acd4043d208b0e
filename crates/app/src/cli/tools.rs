//! `tools`: what can be called.

use super::call::START_WAIT;
use super::pins_path;
use super::remote::Remote;
use crate::Failure;
use clap::Args;
use local::home;
use local::mcp_config::FILE_NAME;
use local::{Local, Setup};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tool::{Caller, Context, Door, TenantId};

/// List tools: name and first line of the description, or everything as JSON.
#[derive(Args)]
pub(super) struct Tools {
    /// Print the definitions as JSON
    #[arg(long)]
    json: bool,
    /// List the services of this mcp.json, without a server [default: without --server and --token, mcp.json in
    /// ~/.mcp-all-in-one]
    #[arg(long, env = "MCP_ALL_IN_ONE_MCP_CONFIG", value_name = "PATH", conflicts_with = "server")]
    mcp_config: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

/// A page of a server's answer. Definitions stay as they are written: their numbers may be any.
#[derive(Deserialize)]
struct Page {
    tools: Vec<Box<RawValue>>,
}

/// What of a definition is shown.
#[derive(Default, Deserialize)]
struct Shown {
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: Option<String>,
}

impl Tools {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let tools = match &self.mcp_config {
            Some(path) => local_tools(path).await?,
            None if !self.remote.is_meant() => {
                let path = home()?.join(FILE_NAME);
                super::note(&format!(
                    "the tools of {}; those of a server: --server and --token",
                    path.display()
                ));
                local_tools(&path).await?
            }
            None => self.all().await?,
        };
        if self.json {
            super::print(&pretty(&tools));
            return Ok(ExitCode::SUCCESS);
        }
        let shown = |tool: &RawValue| serde_json::from_str(tool.get()).unwrap_or_default();
        let tools: Vec<Shown> = tools.iter().map(|tool| shown(tool)).collect();
        let width = tools.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
        for Shown { name, description } in &tools {
            let description = description.as_deref().and_then(|text| text.lines().next());
            super::print(format!("{name:width$}  {}", description.unwrap_or_default()).trim_end());
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn all(&self) -> Result<Vec<Box<RawValue>>, Failure> {
        let mut tools = Vec::new();
        for page in 1.. {
            let answer: Page = self.remote.get(&format!("/mcp/tools?page={page}&limit=1000")).await?;
            let is_last = answer.tools.len() < 1000;
            tools.extend(answer.tools);
            if is_last {
                break;
            }
        }
        Ok(tools)
    }
}

/// Opens the services of the file, asks what they offer, and ends them.
async fn local_tools(path: &Path) -> Result<Vec<Box<RawValue>>, Failure> {
    let local = Local::open(path, Setup::new(START_WAIT, pins_path()?))?;
    local.loaded().await;
    let cx = Context::new(TenantId::default_tenant(), Arc::new(Caller::local()), Door::Local, START_WAIT);
    let routes = local.gateway.list(&cx);
    let tools = routes.iter().filter_map(|route| serde_json::from_slice(&route.listed).ok()).collect();
    local.close().await;
    Ok(tools)
}

/// The definitions in lines; one with a number that we cannot hold stands as it was written.
fn pretty(tools: &[Box<RawValue>]) -> String {
    let one = |tool: &RawValue| {
        let value =
            serde_json::from_str::<Value>(tool.get()).and_then(|value| serde_json::to_string_pretty(&value));
        format!("  {}", value.unwrap_or_else(|_| tool.get().to_owned()).replace('\n', "\n  "))
    };
    match tools {
        [] => "[]".to_owned(),
        tools => format!("[\n{}\n]", tools.iter().map(|tool| one(tool)).collect::<Vec<_>>().join(",\n")),
    }
}
