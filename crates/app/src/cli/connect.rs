//! `connect`: puts ourselves into the file of another client.

use super::connections::{self, Connection};
use super::import::{Offers, Taken};
use super::{McpConfigPath, ask, config};
use crate::Failure;
use clap::Args;
use local::clients::{Client, Folders, Source};
use local::mcp_config::file::{self, Saved};
use local::mcp_config::format::{Change, Format};
use local::mcp_config::{self, McpConfig, jsonc};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Under this name the client sees us.
pub(super) const NAME: &str = "mcp-all-in-one";

/// Let another client start `mcp-all-in-one stdio`: writes an entry into that client's file, with a
/// backup. Its other servers stay, unless they are taken over; `disconnect` undoes it.
#[derive(Args)]
pub(super) struct Connect {
    /// Which client
    #[arg(value_name = "CLIENT")]
    client: Client,
    /// Move the client's other servers into the mcp.json, so that it has them once, through us; at a
    /// terminal you are asked
    #[arg(long)]
    take_over: bool,
    /// Print what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    config: McpConfigPath,
}

impl Connect {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let source = self.client.source(&Folders::here()?);
        let mcp_config = absolute(&self.config.path()?)?;
        self.check(&source, &mcp_config)?;
        let program = std::env::current_exe()
            .map_err(|error| Failure::new("our own program cannot be found").because(error))?;
        let path = mcp_config.to_string_lossy();
        let entry = self.client.entry(&program, &["stdio", "--mcp-config", &path]);
        self.check_format(&source, &entry)?;
        if self.dry_run {
            let (_, old) = edited(&source, file::read(&source.file)?.as_deref(), &entry, &[])?;
            super::print(&difference(&source, old.as_ref(), &entry));
            return Ok(ExitCode::SUCCESS);
        }
        let is_new = !mcp_config.exists();
        McpConfig::read_or_create(&mcp_config)?;
        if is_new {
            super::print(&format!("made {}, with no services yet", mcp_config.display()));
        }
        let gone = self.take_over(&source, &mcp_config)?;
        let saved = change(&source, &entry, &gone)?;
        super::print(&config::said(&source.file, &saved));
        if saved != Saved::Same {
            let (title, client) = (self.client.title(), self.name());
            super::print(&format!("restart {title}; `mcp-all-in-one disconnect {client}` undoes it"));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Takes the client's own servers over if somebody wants it; the names of those that we have now.
    fn take_over(&self, source: &Source, mcp_config: &Path) -> Result<Vec<String>, Failure> {
        let mut offers = Offers::default();
        offers.add(self.client, source).map_err(unchangeable(source))?;
        let names = offers.names();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let (title, names) = (self.client.title(), names.join(", "));
        let question =
            format!("{title} has servers of its own: {names}. Move them into {}?", mcp_config.display());
        let is_wanted = self.take_over || (ask::is_possible() && ask::confirm(&question)?);
        if !is_wanted {
            let command = self.config.command(&format!("connect {} --take-over", self.name()));
            super::print(&format!("{title} keeps its own servers ({names}); `{command}` moves them"));
            return Ok(Vec::new());
        }
        let (saved, taken) = file::change(mcp_config, |there| offers.written_into(mcp_config, there))?;
        taken.iter().filter(|taken| !taken.is_built_in).for_each(|taken| super::print(&taken.said));
        super::print(&config::said(mcp_config, &saved));
        ask::for_inputs(mcp_config, Vec::new())?;
        Ok(taken.into_iter().filter(|taken| taken.is_ours).map(|Taken { name, .. }| name).collect())
    }

    fn name(&self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self.client);
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn check(&self, source: &Source, mcp_config: &Path) -> Result<(), Failure> {
        let title = self.client.title();
        let folder = source.file.parent().unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(Failure::new(format!("{title} has no folder {}", folder.display()))
                .advice(format!("install {title} and start it once")));
        }
        if file_of(mcp_config) == file_of(&source.file) {
            return Err(Failure::new(format!(
                "{} is {title}'s own file; we would start ourselves",
                mcp_config.display()
            ))
            .advice(
                "choose another one with --mcp-config, and `mcp-all-in-one import` the servers into it",
            ));
        }
        Ok(())
    }

    /// What we do not change is shown to the person who can.
    fn check_format(&self, source: &Source, entry: &Value) -> Result<(), Failure> {
        if Format::of(&source.file) != Format::Yaml {
            return Ok(());
        }
        // Continue has a list, Goose a map; JSON is YAML.
        let head =
            if self.client == Client::Continue { format!("- name: {NAME}") } else { format!("{NAME}:") };
        let fields = entry.as_object().into_iter().flatten();
        let lines: String = fields.map(|(key, value)| format!("    {key}: {value}\n")).collect();
        super::print(&format!("{}:\n  {head}\n{lines}", source.place.join(".")));
        let why = Format::Yaml.only_read().unwrap_or_default();
        Err(Failure::new(format!("{}: {why}", source.file.display())).advice("write the lines above into it"))
    }
}

/// Puts us into the client's file and takes out what we have now. How it was is remembered first, so that
/// nothing is lost whenever we are killed.
fn change(source: &Source, entry: &Value, gone: &[String]) -> Result<Saved, Failure> {
    let earlier = connections::of(&source.file)?;
    let plan = |there: Option<&str>| {
        let (text, _) = edited(source, there, entry, gone)?;
        let now = entries(source, there.unwrap_or_default())?;
        // Who has taken us out by hand begins anew.
        let earlier = earlier.clone().filter(|_| now.contains_key(NAME));
        let taken = now.into_iter().filter(|(name, _)| gone.contains(name)).collect();
        let is_same = there == Some(text.as_str());
        let connection = (!is_same).then(|| Connection::then(earlier, there, &text, taken));
        Ok::<_, Failure>((text, connection))
    };
    let (_, planned) = plan(file::read(&source.file)?.as_deref())?;
    if planned.is_some() {
        connections::remember(&source.file, planned.as_ref())?;
    }
    let (saved, done) = file::change(&source.file, plan)?;
    if done.is_some() && done != planned {
        connections::remember(&source.file, done.as_ref())?;
    }
    Ok(saved)
}

fn unchangeable(source: &Source) -> impl Fn(Failure) -> Failure {
    let file = source.file.display().to_string();
    move |failure| {
        Failure::new(format!("{file} cannot be changed: {failure}"))
            .advice("mend it by hand; nothing was written")
    }
}

/// The entries in the client's file.
pub(super) fn entries(source: &Source, text: &str) -> Result<Map<String, Value>, Failure> {
    let wrong = |why: String| Failure::new(format!("{} cannot be used: {why}", source.file.display()));
    let root = Format::of(&source.file).parse(text).map_err(wrong)?;
    match jsonc::at(&root, source.place) {
        None => Ok(Map::new()),
        Some(_) => jsonc::services_at(&root, source.place).map_err(wrong),
    }
}

/// The client's text with our entry and without others, and the entry that was there.
fn edited(
    source: &Source,
    text: Option<&str>,
    entry: &Value,
    gone: &[String],
) -> Result<(String, Option<Value>), Failure> {
    let text = text.unwrap_or_default();
    let wrong = |why: String| {
        Failure::new(format!("{} cannot be changed: {why}", source.file.display()))
            .advice("mend it by hand; nothing was written")
    };
    let now = entries(source, text).map_err(unchangeable(source))?;
    let old = now.get(NAME).cloned();
    let mut changes: Vec<Change<'_>> =
        gone.iter().filter(|name| now.contains_key(*name)).map(|name| Change::Remove(name)).collect();
    if old.as_ref() != Some(entry) {
        changes.push(Change::Set(NAME, entry));
    }
    if changes.is_empty() {
        return Ok((text.to_owned(), old));
    }
    Ok((Format::of(&source.file).edit(text, source.place, &changes).map_err(wrong)?, old))
}

/// What would change: our entry alone, because what stands around it may hold secrets.
fn difference(source: &Source, old: Option<&Value>, new: &Value) -> String {
    let file = source.file.display();
    if old == Some(new) {
        return format!("{file} says so already");
    }
    let lines = |sign: char, entry: &Value| {
        let text = serde_json::to_string_pretty(&json!({ NAME: entry })).unwrap_or_default();
        let inner = text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        inner[..inner.len().saturating_sub(1)]
            .iter()
            .map(|line| format!("{sign}{line}\n"))
            .collect::<String>()
    };
    let old = old.map(|old| lines('-', &mcp_config::masked_entry(old))).unwrap_or_default();
    format!("--- {file}\n+++ {file}\n@@ {} @@\n{old}{}", source.place.join("."), lines('+', new))
        .trim_end()
        .to_owned()
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::new(format!("{} is no path", path.display())).because(error))
}

fn file_of(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
