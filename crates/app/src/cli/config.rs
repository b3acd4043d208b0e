//! `config`: look at an mcp.json, or put a whole new one in its place.

use super::{McpConfigPath, ask, input as given};
use crate::Failure;
use clap::{Args, Subcommand};
use local::mcp_config::file::Saved;
use local::mcp_config::{self, McpConfig, Set};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Look at an mcp.json, or replace it.
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
    /// Replace it as a whole: check the new one, back up the old one, swap them. Running processes
    /// take it over at once. Secrets that are masked as `show` masks them stay what they are
    Set {
        #[command(flatten)]
        at: At,
        /// The new configuration: JSON, @FILE, or - for stdin
        #[arg(long, value_name = "JSON|@FILE|-", default_value = "-")]
        json: String,
    },
    /// Give what services ask for with ${input:…}: it is asked for, or read from stdin, and kept in a
    /// private file of the home folder
    Input {
        /// Which one; all that have not been given, if none is named
        #[arg(value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Args)]
struct At {
    /// The mcp.json [default: mcp.json in ~/.mcp-all-in-one]
    #[arg(value_name = "PATH", env = "MCP_ALL_IN_ONE_MCP_CONFIG")]
    path: Option<PathBuf>,
}

/// The same commands as flags, as other programs of this kind have them.
#[derive(Args)]
#[group(multiple = false)]
pub(super) struct ConfigFlags {
    /// The same as `config validate`
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    validate_mcp_config: Option<Option<PathBuf>>,
    /// The same as `config show`
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    show_mcp_config: Option<Option<PathBuf>>,
    /// The same as `config schema`
    #[arg(long)]
    show_mcp_config_schema: bool,
    /// The same as `config set --json`
    #[arg(long, value_name = "JSON|@FILE|-")]
    set_mcp_config: Option<String>,
}

impl ConfigFlags {
    /// The command that the flags stand for, if one is given.
    pub(super) fn command(self) -> Option<Config> {
        // A flag has no way to fall back to the variable as an argument has.
        let at = |path: Option<PathBuf>| At {
            path: path.or_else(|| std::env::var_os("MCP_ALL_IN_ONE_MCP_CONFIG").map(PathBuf::from)),
        };
        let command = if let Some(path) = self.validate_mcp_config {
            Command::Validate(at(path))
        } else if let Some(path) = self.show_mcp_config {
            Command::Show(at(path))
        } else if self.show_mcp_config_schema {
            Command::Schema
        } else {
            Command::Set { at: at(None), json: self.set_mcp_config? }
        };
        Some(Config { command })
    }
}

impl At {
    fn path(self) -> Result<PathBuf, Failure> {
        McpConfigPath { mcp_config: self.path }.path()
    }
}

impl Config {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let shown = match self.command {
            Command::Validate(at) => return validate(&at.path()?),
            Command::Set { at, json } => return set(&at.path()?, &json),
            Command::Input { id, at } => return input(&at.path()?, id.as_deref()),
            Command::Show(at) => McpConfig::open(&at.path()?)?.masked(),
            Command::Schema => mcp_config::schema(connectors::ALL),
        };
        super::print(&serde_json::to_string_pretty(&shown).unwrap_or_default());
        Ok(ExitCode::SUCCESS)
    }
}

fn validate(path: &Path) -> Result<ExitCode, Failure> {
    let config = McpConfig::open(path)?;
    let findings = config.findings_here();
    findings.problems.iter().for_each(|problem| super::print(problem));
    findings.warnings.iter().for_each(|warning| super::print(&format!("warning: {warning}")));
    if !findings.problems.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    super::print(&format!("{}: {} services, nothing wrong", path.display(), config.names().count()));
    Ok(ExitCode::SUCCESS)
}

fn set(path: &Path, json: &str) -> Result<ExitCode, Failure> {
    if json == "-" && std::io::stdin().is_terminal() {
        super::note("reading the new configuration from here; end with Ctrl-D, or give it with --json");
    }
    let text = given::read(json, mcp_config::file::MAX_BYTES)?;
    match mcp_config::set(path, &text)? {
        Set::Refused(problems) => {
            problems.iter().for_each(|problem| super::print(problem));
            super::print(&format!("{} stays as it is", path.display()));
            Ok(ExitCode::FAILURE)
        }
        Set::Done { saved, services, warnings } => {
            super::print(&format!("{}, {services} services", said(path, &saved)));
            let warnings = ask::for_inputs(path, warnings)?;
            warnings.iter().for_each(|warning| super::print(&format!("warning: {warning}")));
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Keeps one answer, or asks for all that are missing.
fn input(path: &Path, id: Option<&str>) -> Result<ExitCode, Failure> {
    let questions = McpConfig::open(path)?.questions();
    let Some(id) = id else {
        if !ask::is_possible() {
            return Err(Failure::new("there is nobody to ask").advice("name the input, and give it on stdin"));
        }
        let left = ask::for_inputs(path, Vec::new())?;
        left.iter().for_each(|warning| super::print(&format!("warning: {warning}")));
        return Ok(ExitCode::SUCCESS);
    };
    let Some((question, _)) = questions.iter().find(|(question, _)| question.id == id) else {
        let ids: Vec<&str> = questions.iter().map(|(question, _)| question.id.as_str()).collect();
        return Err(Failure::new(format!("no service asks for an input '{id}'"))
            .advice(format!("there are: {}", ids.join(", "))));
    };
    let answer = if ask::is_possible() {
        ask::ask(question)?.ok_or_else(|| Failure::new("nothing was given"))?
    } else {
        match ask::read_line()?.as_str() {
            "" => return Err(Failure::new("nothing was given")),
            line => question.check(line)?,
        }
    };
    mcp_config::inputs::keep(path, id, &answer)?;
    super::print(&format!("the input '{id}' is kept"));
    Ok(ExitCode::SUCCESS)
}

/// What happened to a file, for people.
pub(super) fn said(path: &Path, saved: &Saved) -> String {
    let path = path.display();
    match saved {
        Saved::Same => format!("{path} says so already"),
        Saved::Made => format!("made {path}"),
        Saved::Replaced(backup) => format!("changed {path}, backup {}", backup.display()),
    }
}
