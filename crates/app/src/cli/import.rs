//! `import`: takes over the MCP servers of other clients.

use super::add::with_services;
use super::{McpConfigPath, ask, config};
use crate::Failure;
use clap::Args;
use local::clients::{Client, Folders, Found, Source};
use local::mcp_config::words::Understood;
use local::mcp_config::{McpConfig, check_name, file, inputs, jsonc};
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

/// Servers of another client.
#[derive(Default)]
pub(super) struct Offers {
    offers: Vec<Offer>,
    /// What their clients say about inputs.
    inputs: Vec<Value>,
}

struct Offer {
    client: Client,
    name: String,
    entry: Value,
    notes: Vec<String>,
}

/// What became of one offer.
pub(super) struct Taken {
    /// As its client calls it.
    pub(super) name: String,
    /// We have it now, or had it already.
    pub(super) is_ours: bool,
    /// There is nothing to take: it is this program, or a part of its client.
    pub(super) is_built_in: bool,
    /// For people.
    pub(super) said: String,
}

/// Why an entry cannot be taken over.
enum Unfit {
    /// It runs in its client only.
    PartOfClient,
    /// In words.
    Because(String),
}

impl Import {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let path = self.config.path()?;
        let (offers, unreadable) = self.offers()?;
        let (taken, saved) = match (self.dry_run, offers.offers.is_empty()) {
            (_, true) => (Vec::new(), None),
            (true, false) => (offers.written_into(&path, file::read(&path)?.as_deref())?.1, None),
            (false, false) => {
                let (saved, taken) = file::change(&path, |there| offers.written_into(&path, there))?;
                (taken, Some(saved))
            }
        };
        taken.iter().for_each(|taken| super::print(&taken.said));
        unreadable.iter().for_each(|line| super::print(line));
        match saved {
            Some(saved) => {
                super::print(&config::said(&path, &saved));
                let findings = McpConfig::read(&path)?.findings();
                let missing = ask::for_inputs(&path, findings.missing_inputs)?;
                missing.iter().for_each(|warning| super::print(&format!("warning: {warning}")));
            }
            None if offers.offers.is_empty() => super::print("no other client has MCP servers"),
            None => super::print("nothing was changed"),
        }
        Ok(if unreadable.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The servers of the clients, and what could not be read.
    fn offers(&self) -> Result<(Offers, Vec<String>), Failure> {
        let folders = Folders::here()?;
        let mut offers = Offers::default();
        let mut unreadable = Vec::new();
        let clients = self.client.map_or_else(Client::all, |client| vec![client]);
        for client in clients {
            let mut is_found = false;
            for source in client.sources(&folders) {
                match offers.add(client, &source) {
                    Ok(is_there) => is_found |= is_there,
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

impl Offers {
    /// Adds the servers of a file; whether there is one.
    pub(super) fn add(&mut self, client: Client, source: &Source) -> Result<bool, Failure> {
        let Some((found, root)) = source.servers()? else { return Ok(false) };
        let offer = |Found { name, entry, notes }| Offer { client, name, entry, notes };
        self.offers.extend(found.into_iter().map(offer));
        let inputs = root.get("inputs").and_then(Value::as_array);
        self.inputs.extend(inputs.into_iter().flatten().cloned());
        Ok(true)
    }

    /// The names of those that are not ourselves.
    pub(super) fn names(&self) -> Vec<&str> {
        let others = self.offers.iter().filter(|offer| !is_ourselves(&offer.entry));
        others.map(|offer| offer.name.as_str()).collect()
    }

    /// The text of an mcp.json with the servers in it, and what became of each.
    pub(super) fn written_into(
        &self,
        path: &Path,
        there: Option<&str>,
    ) -> Result<(String, Vec<Taken>), Failure> {
        let mut taken = Vec::new();
        let (text, _) = with_services(path, there, |config, document| {
            let mut services = config.entries().clone();
            for offer in &self.offers {
                taken.push(offer.take(&mut services, document));
            }
            if let Some(inputs) = self.more_inputs(config, &services) {
                document.set_key("inputs", &inputs);
            }
            Ok(())
        })?;
        Ok((text, taken))
    }

    /// The inputs of an mcp.json with those that the services need, if some are new.
    fn more_inputs(&self, config: &McpConfig, services: &Map<String, Value>) -> Option<Value> {
        let text = Value::Object(services.clone()).to_string();
        let id = |input: &Value| input.get("id").and_then(Value::as_str).map(str::to_owned);
        let is_new = |input: &&Value| {
            id(input).is_some_and(|id| {
                text.contains(&format!("${{input:{id}")) && inputs::defined(config.root(), &id).is_none()
            })
        };
        let more: Vec<Value> = self.inputs.iter().filter(is_new).cloned().collect();
        let there = config.root().get("inputs").and_then(Value::as_array).cloned().unwrap_or_default();
        (!more.is_empty()).then(|| there.into_iter().chain(more).collect())
    }
}

impl Offer {
    /// Takes the server over, unless something speaks against it.
    fn take(&self, services: &mut Map<String, Value>, document: &mut jsonc::Document) -> Taken {
        let (name, client) = (legal(&self.name), self.client.title());
        let ended = |is_ours: bool, said: String| Taken {
            name: self.name.clone(),
            is_ours,
            is_built_in: false,
            said,
        };
        let skipped = |why: &str| ended(false, format!("{name}: skipped, {why} ({client})"));
        let built_in = |why: &str| Taken { is_built_in: true, ..skipped(why) };
        if check_name(&name).is_err() {
            return skipped("its name cannot be used");
        }
        if is_ourselves(&self.entry) {
            return built_in("it is mcp-all-in-one itself");
        }
        let (entry, hints) = match self.in_ours() {
            Ok(ours) => ours,
            Err(Unfit::PartOfClient) => return built_in(&format!("it is a part of {client} itself")),
            Err(Unfit::Because(why)) => return skipped(&why),
        };
        match services.get(&name) {
            Some(same) if *same == entry => {
                ended(true, format!("{name}: skipped, it is there already ({client})"))
            }
            Some(_) => skipped("there is another one of this name"),
            None => {
                document.set(&name, &entry);
                services.insert(name.clone(), entry);
                let hints: String = hints.iter().map(|hint| format!("; {hint}")).collect();
                ended(true, format!("{name}: taken from {client}{hints}"))
            }
        }
    }

    /// The entry as it is written into an mcp.json, and what cannot be said there.
    fn in_ours(&self) -> Result<(Value, Vec<String>), Unfit> {
        let Some(entry) = self.entry.as_object() else {
            return Err(Unfit::Because("it is no object".to_owned()));
        };
        let ours = self.client.dialect().in_ours(entry);
        let understood = Understood::of(&ours.entry);
        if understood.is_part_of_client {
            return Err(Unfit::PartOfClient);
        }
        if !["command", "url"].iter().any(|key| understood.settings.contains_key(*key)) {
            let is_extension = understood.rest.contains_key("settings");
            return Err(Unfit::Because(match is_extension {
                true => format!("it is an extension of {}", self.client.title()),
                false => "it has neither a command nor an address".to_owned(),
            }));
        }
        let unknown: Vec<&str> = understood.unknown.iter().map(String::as_str).collect();
        let mut hints = Vec::new();
        if !unknown.is_empty() {
            hints.push(format!("not understood: {}", unknown.join(", ")));
        }
        hints.extend(ours.notes);
        hints.extend(self.notes.iter().cloned());
        let entry = if self.client.has_our_words() { ours.entry } else { understood.into_entry() };
        Ok((Value::Object(entry), hints))
    }
}

/// A name without what names must not hold.
fn legal(name: &str) -> String {
    let is_bad = |c: char| c.is_whitespace() || c.is_control() || "${}".contains(c);
    name.trim().chars().map(|c| if is_bad(c) { '-' } else { c }).collect()
}

fn is_ourselves(entry: &Value) -> bool {
    let command = match entry.get("command").or_else(|| entry.get("cmd")) {
        Some(Value::Array(words)) => words.first(),
        other => other,
    };
    let command = command.and_then(Value::as_str).map(Path::new);
    command.and_then(Path::file_stem).is_some_and(|name| name == "mcp-all-in-one")
}
