//! `flow`: flows on the command line, with a server or without.

mod approve;
mod diff;
mod list;
mod logs;
mod progress;
mod publish;
mod push;
mod run;
mod run_file;
mod runs;
mod source;
mod steer;
mod validate;

use crate::Failure;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Check, change, publish and run flows, and look after their runs.
#[derive(Args)]
pub(super) struct Flow {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check a flow and print every problem as FILE:LINE:COLUMN: message
    Validate(validate::Validate),
    /// Make a file the draft of a flow
    Push(push::Push),
    /// Show what publishing would change, or how two versions differ
    Diff(diff::Diff),
    /// Make a version of the draft, which new runs take from now on
    Publish(publish::Publish),
    /// Publish an older version anew
    Rollback(publish::Rollback),
    /// List the flows
    List(list::List),
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
            Command::Validate(command) => command.run().await,
            Command::Push(command) => command.run().await,
            Command::Diff(command) => command.run().await,
            Command::Publish(command) => command.run().await,
            Command::Rollback(command) => command.run().await,
            Command::List(command) => command.run().await,
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
