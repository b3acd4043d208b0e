//! `flow`: flows on the command line, with a server or without.

mod approve;
mod logs;
mod progress;
mod run;
mod run_file;
mod runs;
mod steer;

use crate::Failure;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Run flows, and look after their runs.
#[derive(Args)]
pub(super) struct Flow {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a flow: a file without a server, or one that is published on a server
    Run(run::Run),
    /// List runs
    Runs(runs::Runs),
    /// Show what each node of a run did
    Logs(logs::Logs),
    /// End a run, with its calls and sub-flows
    Cancel(steer::Cancel),
    /// Try a failed run again where it failed
    Retry(steer::Retry),
    /// Repeat a run, or the part of it behind a node
    Replay(steer::Replay),
    /// List what runs ask people, or decide on it
    Approve(approve::Approve),
}

impl Flow {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Run(command) => command.run().await,
            Command::Runs(command) => command.run().await,
            Command::Logs(command) => command.run().await,
            Command::Cancel(command) => command.run().await,
            Command::Retry(command) => command.run().await,
            Command::Replay(command) => command.run().await,
            Command::Approve(command) => command.run().await,
        }
    }
}
