//! `connect`: puts ourselves into the file of another client.

use super::{McpConfigPath, config};
use crate::Failure;
use crate::clients::{Client, Folders, Source};
use crate::mcp_config::file::{self, Saved};
use crate::mcp_config::jsonc::{self, Document};
use crate::mcp_config::{self, McpConfig};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Under this name the client sees us.
const NAME: &str = "mcp-all-in-one";

/// Let another client start `mcp-all-in-one stdio`: writes an entry into that client's file, with a
/// backup. Its other servers stay.
#[derive(Args)]
pub(super) struct Connect {
    /// Which client
    #[arg(value_name = "CLIENT")]
    client: Client,
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
        let edit = |there: Option<&str>| edited(&source, there.unwrap_or_default(), &entry);
        if self.dry_run {
            let (_, old) = edit(file::read(&source.file)?.as_deref())?;
            super::print(&difference(&source, old.as_ref(), &entry));
            return Ok(ExitCode::SUCCESS);
        }
        let is_new = !mcp_config.exists();
        McpConfig::read_or_create(&mcp_config)?;
        if is_new {
            super::print(&format!("made {}, with no services yet", mcp_config.display()));
        }
        let (saved, _) = file::change(&source.file, edit)?;
        super::print(&config::said(&source.file, &saved));
        if saved != Saved::Same {
            let title = self.client.title();
            super::print(&format!("restart {title}; `mcp-all-in-one import` takes its other servers over"));
        }
        Ok(ExitCode::SUCCESS)
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
}

/// The client's text with our entry, and the entry that was there.
fn edited(source: &Source, text: &str, entry: &Value) -> Result<(String, Option<Value>), Failure> {
    let wrong = |why: String| {
        Failure::new(format!("{} cannot be changed: {why}", source.file.display()))
            .advice("mend it by hand; nothing was written")
    };
    let old =
        jsonc::at(&jsonc::parse(text).map_err(wrong)?, source.place).and_then(|all| all.get(NAME)).cloned();
    if old.as_ref() == Some(entry) {
        return Ok((text.to_owned(), old));
    }
    let mut document = Document::open(text, source.place).map_err(wrong)?;
    document.set(NAME, entry);
    Ok((document.text().map_err(wrong)?, old))
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
