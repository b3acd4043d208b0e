//! `completions`: a script that teaches a shell our commands.

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::process::ExitCode;

/// Print a completion script for a shell.
#[derive(Args)]
pub(super) struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> ExitCode {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut super::Cli::command(), "mcp-all-in-one", &mut script);
        super::print(String::from_utf8_lossy(&script).trim_end());
        ExitCode::SUCCESS
    }
}
