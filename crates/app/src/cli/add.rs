//! `add` and `remove`: one service of an mcp.json.

use super::{McpConfigPath, ask, config};
use crate::Failure;
use clap::error::ErrorKind;
use clap::{Args, ValueEnum};
use local::mcp_config::file::{self, Saved};
use local::mcp_config::jsonc::Document;
use local::mcp_config::{self, McpConfig, check_name, masked_text};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Add an MCP server to an mcp.json: a command to start, or a URL.
#[derive(Args)]
#[command(
    override_usage = "mcp-all-in-one add [OPTIONS] NAME URL\n       mcp-all-in-one add [OPTIONS] NAME -- COMMAND [ARGS]…"
)]
pub(super) struct Add {
    /// Its name, which stands before the names of its tools; no spaces, '$', '{' or '}'
    #[arg(value_name = "NAME")]
    name: String,
    /// Where it is, e.g. https://mcp.example.com/mcp
    #[arg(value_name = "URL", required_unless_present = "command", conflicts_with = "command")]
    url: Option<String>,
    /// The command that starts it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// How to talk to it [default: stdio for a command, ws for a ws:// URL, http for other URLs]
    #[arg(short, long = "type", value_name = "TYPE")]
    transport: Option<Transport>,
    /// A variable for the command; NAME alone takes it from our environment at every start
    #[arg(short, long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// A header for every request to the URL; ${VARIABLE} in it is replaced at every start
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    #[command(flatten)]
    config: McpConfigPath,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Stdio,
    Http,
    Sse,
    Ws,
}

impl Add {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        check_name(&self.name).map_err(Failure::new)?;
        let path = self.config.path()?;
        let entry = self.entry()?;
        let (saved, warnings) = file::change(&path, |there| {
            let (text, config) = with_services(&path, there, |config, document| {
                if config.names().any(|name| name == self.name) {
                    let advice =
                        format!("choose another name, or `mcp-all-in-one remove {}` first", self.name);
                    return Err(
                        Failure::new(format!("there is a service '{}' already", self.name)).advice(advice)
                    );
                }
                document.set(&self.name, &entry);
                Ok(())
            })?;
            let own = format!("{}: ", self.name);
            let findings = config.findings();
            if let Some(problem) = findings.problems.iter().find(|problem| problem.starts_with(&own)) {
                return Err(Failure::new(problem.clone()));
            }
            let warnings =
                findings.warnings.into_iter().filter(|warning| warning.starts_with(&own)).collect();
            Ok((text, warnings))
        })?;
        let warnings: Vec<String> = warnings;
        super::print(&config::said(&path, &saved));
        let warnings = ask::for_inputs(&path, warnings)?;
        warnings.iter().for_each(|warning| super::print(&format!("warning: {warning}")));
        super::print(&format!("'{}' is there; `mcp-all-in-one doctor` tries it", self.name));
        Ok(ExitCode::SUCCESS)
    }

    fn entry(&self) -> Result<Value, Failure> {
        let mut entry = Map::new();
        match &self.url {
            None => self.fill_command(&mut entry)?,
            Some(url) => self.fill_url(url, &mut entry)?,
        }
        Ok(Value::Object(entry))
    }

    fn fill_command(&self, entry: &mut Map<String, Value>) -> Result<(), Failure> {
        if self.transport.is_some_and(|transport| transport != Transport::Stdio) {
            return Err(Failure::new("a command is of the type stdio").advice("leave -t out, or give a URL"));
        }
        if !self.header.is_empty() {
            return Err(Failure::new("-H is for a URL").advice("give a command its secrets with -e"));
        }
        let Some((command, arguments)) = self.command.split_first() else {
            return Err(Failure::new("there is no command after --"));
        };
        entry.insert("command".into(), json!(command));
        if !arguments.is_empty() {
            entry.insert("args".into(), json!(arguments));
        }
        let mut env = Map::new();
        for variable in &self.env {
            let (name, value) = match variable.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => (variable.as_str(), format!("${{{variable}}}")),
            };
            if name.is_empty() {
                return Err(Failure::new("-e needs NAME=VALUE or NAME"));
            }
            env.insert(name.to_owned(), value.into());
        }
        if !env.is_empty() {
            entry.insert("env".into(), env.into());
        }
        Ok(())
    }

    fn fill_url(&self, url: &str, entry: &mut Map<String, Value>) -> Result<(), Failure> {
        if !self.env.is_empty() {
            return Err(Failure::new("-e is for a command").advice("give a URL its secrets with -H"));
        }
        if !url.contains("://") && !url.contains("${") && !url.contains(char::is_whitespace) {
            return Err(Failure::new(format!(
                "'{url}' is no URL: the address of a server begins with https://"
            ))
            .advice(format!("for a command, write: mcp-all-in-one add {} -- {url}", self.name)));
        }
        let is_socket = url.starts_with("ws://") || url.starts_with("wss://");
        let transport = match self.transport {
            Some(Transport::Stdio) => {
                return Err(
                    Failure::new("a URL is not of the type stdio").advice("write the command after --")
                );
            }
            Some(Transport::Ws) => "ws",
            Some(Transport::Sse) => "sse",
            Some(Transport::Http) => "http",
            None if is_socket => "ws",
            None => "http",
        };
        entry.insert("type".into(), transport.into());
        entry.insert("url".into(), url.into());
        let mut headers = Map::new();
        for header in &self.header {
            let Some((name, value)) = header.split_once(':').filter(|(name, _)| !name.trim().is_empty())
            else {
                return Err(Failure::new("-H needs 'Name: value'"));
            };
            headers.insert(name.trim().to_owned(), value.trim().into());
        }
        if !headers.is_empty() {
            entry.insert("headers".into(), headers.into());
        }
        Ok(())
    }
}

/// Whether a word is an option of ours with its value in it.
fn is_ours(word: &str) -> bool {
    let own = ["--env=", "--header=", "--type=", "--mcp-config=", "--log-level=", "-e", "-H", "-t"];
    own.iter().any(|own| word.starts_with(own))
}

/// What somebody meant who wrote a command without the two dashes before it.
pub(super) fn meant(error: &clap::Error, arguments: impl Iterator<Item = String>) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let words: Vec<String> = arguments.collect();
    let add = words.iter().position(|word| word == "add")?;
    let (mut at, mut name) = (add + 1, None);
    // It may go on into a log.
    let text = |words: &[String]| masked_text(&words.join(" "));
    // Behind the name, and behind options with their values, stands what is to be added.
    while let Some(word) = words.get(at) {
        match word.as_str() {
            "--" => return None,
            "-e" | "--env" | "-H" | "--header" | "-t" | "--type" | "--mcp-config" | "--log-level" => at += 2,
            word if word.starts_with('-') => match name {
                // An option that is none of ours belongs to a command, and what was taken for a name begins it.
                Some(name) if !is_ours(word) => {
                    let (options, command) = (text(&words[add + 1..name]), text(&words[name..]));
                    let options = if options.is_empty() { options } else { format!("{options} ") };
                    return Some(format!(
                        "write a name and -- before a command: mcp-all-in-one add {options}NAME -- {command}"
                    ));
                }
                _ => at += 1,
            },
            _ if name.is_none() => {
                name = Some(at);
                at += 1;
            }
            word if word.contains("://") => return None,
            _ => {
                let (options, command) = (text(&words[add + 1..at]), text(&words[at..]));
                return Some(format!("write -- before a command: mcp-all-in-one add {options} -- {command}"));
            }
        }
    }
    None
}

/// Remove an MCP server from an mcp.json.
#[derive(Args)]
pub(super) struct Remove {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    config: McpConfigPath,
}

impl Remove {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let path = self.config.path()?;
        let (saved, ()) = file::change(&path, |there| {
            let remove = |config: &McpConfig, document: &mut Document| {
                if !config.names().any(|name| name == self.name) {
                    let names: Vec<&str> = config.names().collect();
                    return Err(Failure::new(format!("there is no service '{}'", self.name))
                        .advice(format!("there are: {}", names.join(", "))));
                }
                document.remove(&self.name);
                Ok(())
            };
            Ok((with_services(&path, there, remove)?.0, ()))
        })?;
        if saved != Saved::Same {
            local::FilePins::new(super::pins_path()?, &path).forget(&self.name)?;
        }
        super::print(&config::said(&path, &saved));
        Ok(ExitCode::SUCCESS)
    }
}

/// Changes services of the text in place; a file that is missing begins empty.
pub(super) fn with_services(
    path: &Path,
    there: Option<&str>,
    edit: impl FnOnce(&McpConfig, &mut Document) -> Result<(), Failure>,
) -> Result<(String, McpConfig), Failure> {
    let text = there.unwrap_or_default();
    mcp_config::check_format(path)?;
    let config = McpConfig::parse(path, text)?;
    let unchangeable = |why: String| Failure::new(format!("{} cannot be changed: {why}", path.display()));
    let mut document = Document::open(text, config.place()).map_err(unchangeable)?;
    edit(&config, &mut document)?;
    let text = document.text().map_err(unchangeable)?;
    let config = McpConfig::parse(path, &text)?;
    Ok((text, config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_dashes_is_told_how_to_write_it() {
        for (words, wanted) in [
            ("add npx -y some", "add NAME -- npx -y some"),
            ("add -e A=1 npx -y some", "add -e A=1 NAME -- npx -y some"),
            ("add time npx -y some", "add time -- npx -y some"),
            ("add time -eA=1 npx -y some", "add time -eA=1 -- npx -y some"),
        ] {
            let error = clap::Error::new(ErrorKind::UnknownArgument);
            let said = meant(&error, words.split(' ').map(str::to_owned)).unwrap_or_default();
            assert!(said.ends_with(&format!(": mcp-all-in-one {wanted}")), "{words}: {said}");
        }
    }
}
