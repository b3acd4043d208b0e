//! Messages that go no further than a file: what a service does before it knows a vendor, and what tests look at.

use super::gateway::Gateway;
use super::number::Number;
use super::wording::Wording;
use crate::shared::own_folder::{make_private, private_file};
use crate::shared::sending::{Fate, Status};
use async_trait::async_trait;
use serde_json::json;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use tokio::fs;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tool::{Error, Result};

/// A file of this size makes room for a new one; the one before it stays.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A line of JSON for each message.
pub(super) struct Lines {
    folder: PathBuf,
    /// One writes at a time, so that lines do not mix.
    turn: Semaphore,
}

impl Lines {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, turn: Semaphore::new(1) }
    }

    async fn append(&self, lines: &str) -> io::Result<()> {
        make_private(&self.folder).await?;
        let path = self.folder.join("messages.jsonl");
        if fs::metadata(&path).await.is_ok_and(|file| file.len() > MAX_BYTES) {
            fs::rename(&path, self.folder.join("messages.old.jsonl")).await?;
        }
        let mut file = private_file().create(true).append(true).open(&path).await?;
        file.write_all(lines.as_bytes()).await?;
        file.flush().await
    }
}

#[async_trait]
impl Gateway for Lines {
    fn at_once(&self) -> usize {
        1000
    }

    async fn send(&self, wording: &Wording, numbers: &[Number], _: &AtomicBool) -> Result<Vec<Fate>> {
        let (content, template, params) = match wording {
            Wording::Plain(content) => (Some(content), None, None),
            Wording::Template { id, params } => (None, Some(id), Some(params.by_name_or_number())),
        };
        let (mut lines, mut fates) = (String::new(), Vec::with_capacity(numbers.len()));
        for number in numbers {
            let id: String = tool::new_id();
            let line = json!({ "id": id, "to": number.e164(), "content": content, "template": template, "params": params });
            lines.push_str(&format!("{line}\n"));
            fates.push(Fate { id: Some(id), ..Fate::new(Status::Taken, None, "written to a file") });
        }
        let _turn = self.turn.acquire().await.map_err(|_| Error::internal("nobody may write"))?;
        self.append(&lines).await.map_err(|error| {
            Error::unavailable("the file of the SMS service cannot be written").caused_by(error).retryable()
        })?;
        Ok(fates)
    }

    fn check(&self, _: &Wording) -> Result<()> {
        Ok(())
    }

    async fn probe(&self) -> Result<()> {
        make_private(&self.folder).await.map_err(|error| {
            Error::unavailable("the folder of the SMS service cannot be made").caused_by(error).retryable()
        })
    }
}
