//! Mail that goes no further than a folder: what a service does before it knows a server, and what tests look at.

use super::mime::Message;
use crate::shared::own_folder::{make_private, private_file};
use crate::shared::sending::{Fate, Status};
use std::io;
use std::path::PathBuf;
use tokio::fs;
use tokio::io::AsyncWriteExt;
use tool::{Error, Result};

/// How many messages stay.
const KEPT: usize = 1000;

/// Messages as files, the oldest of which go.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Keeps one message.
    pub(super) async fn keep(&self, message: &Message) -> Result<Vec<Fate>> {
        // Ids grow with time, so that names sort by age.
        let name = format!("{}.eml", tool::new_id::<String>());
        let written = self.write(&name, message).await.map_err(|error| {
            Error::unavailable("the folder of the mail service cannot be written")
                .caused_by(error)
                .retryable()
        });
        written?;
        if let Err(error) = self.tidy().await {
            tracing::warn!(%error, "old messages of a mail service cannot be removed: {error}");
        }
        Ok(vec![Fate::new(Status::Taken, None, format!("kept as {name}")); message.recipients.len()])
    }

    pub(super) async fn check(&self) -> Result<()> {
        make_private(&self.0).await.map_err(|error| {
            Error::unavailable("the folder of the mail service cannot be made").caused_by(error).retryable()
        })
    }

    async fn write(&self, name: &str, message: &Message) -> io::Result<()> {
        make_private(&self.0).await?;
        let unfinished = self.0.join(format!("{name}.part"));
        let mut file = private_file().write(true).create_new(true).open(&unfinished).await?;
        file.write_all(message.head.as_bytes()).await?;
        file.write_all(&message.body).await?;
        file.flush().await?;
        fs::rename(&unfinished, self.0.join(name)).await
    }

    async fn tidy(&self) -> io::Result<()> {
        let mut names = Vec::new();
        let mut entries = fs::read_dir(&self.0).await?;
        while let Some(entry) = entries.next_entry().await? {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.ends_with(".eml")) {
                names.push(name);
            }
        }
        names.sort();
        for old in names.iter().rev().skip(KEPT) {
            match fs::remove_file(self.0.join(old)).await {
                // Another call was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
        Ok(())
    }
}
