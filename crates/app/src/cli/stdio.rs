//! `stdio`: all services of an mcp.json behind one entry, for one client.

use super::{McpConfigPath, pins_path, pipes};
use crate::Failure;
use clap::Args;
use local::{Local, Setup};
use server::mcp::stdio::{Options, serve};
use std::process::ExitCode;
use std::time::Duration;
use tokio::io::BufReader;
use tool::{Pattern, SearchMode, ToolSearch};

/// How long the first list waits for services that are still starting.
const START_WAIT: Duration = Duration::from_secs(10);

/// Serve all services of an mcp.json to one MCP client over stdin and stdout.
#[derive(Args)]
pub(super) struct Stdio {
    #[command(flatten)]
    config: McpConfigPath,
    /// How long a call may take, in seconds
    #[arg(long, env = "MCP_ALL_IN_ONE_CALL_TIMEOUT", value_name = "SECONDS", default_value_t = 300,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    call_timeout: u64,
    /// The most bytes of a tool's answer; more is cut at whole items, or refused [default: none]
    #[arg(long, env = "MCP_ALL_IN_ONE_MAX_RESULT_BYTES", value_name = "N")]
    max_result_bytes: Option<usize>,
    /// Offer tools that show, check and change the mcp.json itself; only for callers you would
    /// let run any command
    #[arg(long, env = "MCP_ALL_IN_ONE_SELF_TOOLS")]
    self_tools: bool,
    /// Tell the client of find_tools and call_tool instead of every tool: off, on, or auto (for lists of more than 40 tools
    /// or 40,000 characters)
    #[arg(long, env = "MCP_ALL_IN_ONE_TOOL_SEARCH", value_name = "MODE", default_value = "off")]
    tool_search: SearchMode,
    /// A tool to tell of all the same, by name, e.g. Time__*; can be given many times
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pin: Vec<String>,
}

impl Stdio {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let stop = super::stop_on_signal()?;
        let pinned = self.pin.into_iter().map(Pattern).collect();
        let tool_search = ToolSearch { mode: self.tool_search, pinned };
        tool_search
            .check()
            .map_err(|error| Failure::new(error.message().replace("tool_search.pinned", "--pin")))?;
        let setup = Setup {
            tool_search,
            has_self_tools: self.self_tools,
            has_client: true,
            max_result_bytes: self.max_result_bytes,
            ..Setup::new(START_WAIT, pins_path()?)
        };
        let local = Local::open(&self.config.path()?, setup)?;
        let options =
            Options { start_wait: START_WAIT, call_timeout: Duration::from_secs(self.call_timeout) };
        let served = serve(
            local.gateway.clone(),
            local.is_loaded.clone(),
            options,
            BufReader::with_capacity(64 * 1024, pipes::input()),
            pipes::output(),
        );
        let giving_back = async {
            crate::memory::give_back_what_is_unused().await;
            std::future::pending().await
        };
        tokio::select! {
            () = served => {}
            () = stop.cancelled() => {}
            () = giving_back => {}
            // Whoever hears nothing needs no answers either.
            () = pipes::output_closed() => {}
        }
        local.close().await;
        // A read of stdin that never ends must not keep the process.
        crate::logging::end();
        std::process::exit(0);
    }
}
