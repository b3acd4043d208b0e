//! `disconnect`: takes ourselves out of another client's file again, and gives back what it had.

use super::connect::{NAME, entries};
use super::{config, connections};
use crate::Failure;
use clap::Args;
use local::clients::{Client, Folders, Source};
use local::mcp_config::file;
use local::mcp_config::format::{Change, Format};
use std::process::ExitCode;

/// Undo `connect`: take our entry out of another client's file, with a backup, and put back the
/// servers that were taken over. They stay in the mcp.json, too.
#[derive(Args)]
pub(super) struct Disconnect {
    /// Which client
    #[arg(value_name = "CLIENT")]
    client: Client,
    /// Say what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// What is to become of the client's file.
enum Undo {
    /// Nobody has changed it since.
    Whole(Option<String>),
    /// Our entry goes, and these come back.
    Parts(String, Vec<String>),
}

impl Disconnect {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let title = self.client.title();
        let source = self.client.source(&Folders::here()?);
        let connection = connections::of(&source.file)?;
        let there = file::read(&source.file)?;
        let has_us = entries(&source, there.as_deref().unwrap_or_default())?.contains_key(NAME);
        if !has_us {
            return Err(Failure::new(format!(
                "{title} is not connected: {} has no entry of ours",
                source.file.display()
            )));
        }
        if self.dry_run {
            let undone = undo(&source, connection.as_ref(), there.as_deref())?;
            super::print(&undone.said(&source, title));
            return Ok(ExitCode::SUCCESS);
        }
        let mut said = String::new();
        let mut is_gone = false;
        let saved = file::change(&source.file, |there| {
            let undone = undo(&source, connection.as_ref(), there)?;
            said = undone.said(&source, title);
            is_gone = matches!(undone, Undo::Whole(None));
            Ok((undone.text(there), ()))
        })?;
        if is_gone {
            std::fs::remove_file(&source.file).map_err(|error| {
                Failure::new(format!("{} cannot be deleted", source.file.display())).because(error)
            })?;
        } else {
            super::print(&config::said(&source.file, &saved.0));
        }
        connections::remember(&source.file, None)?;
        super::print(&said);
        super::print(&format!("restart {title}"));
        Ok(ExitCode::SUCCESS)
    }
}

impl Undo {
    fn text(&self, there: Option<&str>) -> String {
        match self {
            Self::Whole(Some(text)) | Self::Parts(text, _) => text.clone(),
            Self::Whole(None) => there.unwrap_or_default().to_owned(),
        }
    }

    fn said(&self, source: &Source, title: &str) -> String {
        let file = source.file.display();
        match self {
            Self::Whole(Some(_)) => format!("{file} is as it was before"),
            Self::Whole(None) => format!("{file} was made by `connect`, and goes"),
            Self::Parts(_, back) if back.is_empty() => format!("{title} is without our entry"),
            Self::Parts(_, back) => {
                format!("{title} is without our entry, and has again: {}", back.join(", "))
            }
        }
    }
}

/// How the file was, as far as it can be told.
fn undo(
    source: &Source,
    connection: Option<&connections::Connection>,
    there: Option<&str>,
) -> Result<Undo, Failure> {
    let there = there.unwrap_or_default();
    if let Some(connection) = connection.filter(|connection| connection.is_exact && connection.after == there)
    {
        return Ok(Undo::Whole(connection.before.clone()));
    }
    let now = entries(source, there)?;
    let taken = connection.map(|connection| &connection.taken).into_iter().flatten();
    let back: Vec<_> = taken.filter(|(name, _)| !now.contains_key(*name)).collect();
    let mut changes = vec![Change::Remove(NAME)];
    changes.extend(back.iter().map(|(name, entry)| Change::Set(name, entry)));
    let text = Format::of(&source.file).edit(there, source.place, &changes).map_err(|why| {
        Failure::new(format!("{} cannot be changed: {why}", source.file.display()))
            .advice("mend it by hand; nothing was written")
    })?;
    Ok(Undo::Parts(text, back.into_iter().map(|(name, _)| name.clone()).collect()))
}
