//! `tools`: what can be called.

use super::call::START_WAIT;
use super::pins_path;
use super::remote::Remote;
use crate::Failure;
use crate::home::home;
use crate::local::{Local, Setup};
use crate::mcp_config::FILE_NAME;
use clap::Args;
use serde_json::Value;
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
            super::print(&serde_json::to_string_pretty(&tools).unwrap_or_default());
            return Ok(ExitCode::SUCCESS);
        }
        let width = tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::len).max().unwrap_or(0);
        for tool in &tools {
            let name = tool["name"].as_str().unwrap_or_default();
            let description = tool["description"].as_str().and_then(|text| text.lines().next());
            super::print(format!("{name:width$}  {}", description.unwrap_or_default()).trim_end());
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn all(&self) -> Result<Vec<Value>, Failure> {
        let mut tools = Vec::new();
        for page in 1.. {
            let answer = self.remote.get(&format!("/mcp/tools?page={page}&limit=1000")).await?;
            let items = answer["tools"].as_array().cloned().unwrap_or_default();
            let is_last = items.len() < 1000;
            tools.extend(items);
            if is_last {
                break;
            }
        }
        Ok(tools)
    }
}

/// Opens the services of the file, asks what they offer, and ends them.
async fn local_tools(path: &Path) -> Result<Vec<Value>, Failure> {
    let local = Local::open(path, Setup::new(START_WAIT, pins_path()?))?;
    local.loaded().await;
    let cx = Context::new(TenantId::default_tenant(), Arc::new(Caller::local()), Door::Local, START_WAIT);
    let routes = local.gateway.list(&cx);
    let tools = routes.iter().filter_map(|route| serde_json::from_slice(&route.listed).ok()).collect();
    local.close().await;
    Ok(tools)
}
