//! `import`: takes over the MCP servers of other clients.

use super::add::with_services;
use super::{McpConfigPath, config};
use crate::Failure;
use crate::clients::{Client, Folders, Source};
use crate::mcp_config::{check_name, file, jsonc};
use clap::Args;
use serde_json::{Map, Value};
use std::path::Path;
use std::process::ExitCode;

/// Take over the MCP servers of other clients into an mcp.json. A name that is there already is
/// skipped, and the clients' own files stay as they are.
#[derive(Args)]
pub(super) struct Import {
    /// Which client; all that are found unless given
    #[arg(value_name = "CLIENT")]
    client: Option<Client>,
    /// Say what would be taken, and take nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    config: McpConfigPath,
}

/// A server of another client.
struct Offer {
    client: Client,
    name: String,
    entry: Value,
}

impl Import {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let path = self.config.path()?;
        let (offers, unreadable) = self.offers()?;
        let mut said = Vec::new();
        let mut take = |there: Option<&str>| {
            said.clear();
            let (text, _) = with_services(&path, there, |config, document| {
                let mut services = config.entries().clone();
                for offer in &offers {
                    said.push(offer.take(&mut services, document));
                }
                Ok(())
            })?;
            Ok((text, ()))
        };
        let saved = match (self.dry_run, offers.is_empty()) {
            (_, true) => None,
            (true, false) => take(file::read(&path)?.as_deref()).map(|_| None)?,
            (false, false) => Some(file::change(&path, take)?.0),
        };
        said.iter().for_each(|line| super::print(line));
        unreadable.iter().for_each(|line| super::print(line));
        match saved {
            Some(saved) => super::print(&config::said(&path, &saved)),
            None if offers.is_empty() => super::print("no other client has MCP servers"),
            None => super::print("nothing was changed"),
        }
        Ok(if unreadable.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The servers of the clients, and what could not be read.
    fn offers(&self) -> Result<(Vec<Offer>, Vec<String>), Failure> {
        let folders = Folders::here()?;
        let mut offers = Vec::new();
        let mut unreadable = Vec::new();
        let clients = self.client.as_ref().map_or(&Client::ALL[..], std::slice::from_ref);
        for client in clients {
            let mut is_found = false;
            for source in client.sources(&folders) {
                match servers_in(&source) {
                    Ok(None) => {}
                    Ok(Some(servers)) => {
                        is_found = true;
                        let offer = |(name, entry)| Offer { client: *client, name, entry };
                        offers.extend(servers.into_iter().map(offer));
                    }
                    Err(failure) if self.client.is_some() => return Err(failure),
                    Err(failure) => unreadable.push(format!("{}: {failure}", client.title())),
                }
            }
            if self.client.is_some() && !is_found {
                let file = client.source(&folders).file;
                return Err(Failure::new(format!("{} has no file {}", client.title(), file.display())));
            }
        }
        Ok((offers, unreadable))
    }
}

fn servers_in(source: &Source) -> Result<Option<Map<String, Value>>, Failure> {
    let Some(text) = file::read(&source.file)? else { return Ok(None) };
    let wrong = |why: String| Failure::new(format!("{} cannot be used: {why}", source.file.display()));
    let root = jsonc::parse(&text).map_err(wrong)?;
    match jsonc::at(&root, source.place) {
        None => Ok(Some(Map::new())),
        Some(Value::Object(servers)) => Ok(Some(servers.clone())),
        Some(_) => Err(wrong(format!("'{}' must be an object", source.place.join(".")))),
    }
}

impl Offer {
    /// Takes the server over, unless something speaks against it; what happened, for people.
    fn take(&self, services: &mut Map<String, Value>, document: &mut jsonc::Document) -> String {
        let (name, client) = (legal(&self.name), self.client.title());
        let skipped = |why: &str| format!("{name}: skipped, {why} ({client})");
        if check_name(&name).is_err() {
            return skipped("its name cannot be used");
        }
        match (services.get(&name), &self.entry) {
            (_, entry) if !entry.is_object() => skipped("it is no object"),
            (_, entry) if is_ourselves(entry) => skipped("it is mcp-all-in-one itself"),
            (Some(same), entry) if same == entry => skipped("it is there already"),
            (Some(_), _) => skipped("there is another one of this name"),
            (None, entry) => {
                document.set(&name, entry);
                services.insert(name.clone(), entry.clone());
                let asks = entry.to_string().contains("${input:");
                let hint =
                    if asks { "; put a variable for its ${input:…}, which only VS Code knows" } else { "" };
                format!("{name}: taken from {client}{hint}")
            }
        }
    }
}

/// A name without what names must not hold.
fn legal(name: &str) -> String {
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || "${}".contains(c);
    name.trim().chars().map(|c| if is_bad(c) { '-' } else { c }).collect()
}

fn is_ourselves(entry: &Value) -> bool {
    let command = entry.get("command").and_then(Value::as_str).map(Path::new);
    command.and_then(Path::file_stem).is_some_and(|name| name == "mcp-all-in-one")
}
