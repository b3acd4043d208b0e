//! `flow`: documents of flows on the command line, with a server or without.

mod diff;
mod list;
mod publish;
mod push;
mod source;
mod validate;

use crate::Failure;
use clap::{Args, Subcommand};
use std::process::ExitCode;

/// Check, change and publish flows.
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
        }
    }
}
