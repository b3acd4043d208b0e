//! Pins of the services in an mcp.json, in a file of the home folder.

use crate::Failure;
use crate::mcp_config::file;
use async_trait::async_trait;
use gateway::catalog::Service;
use gateway::pins::{Edit, PinStore, Pins, Reason};
use serde::{Deserialize, Serialize};
use server::StoredPins;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tool::{Error, Result};

/// The most bytes of the file.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How often a change is tried when other processes change the file.
const ATTEMPTS: usize = 20;

/// By mcp.json, then by service.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct All(BTreeMap<String, BTreeMap<String, Pins>>);

/// The pins of one mcp.json.
pub(crate) struct FilePins {
    file: PathBuf,
    mcp_config: String,
}

impl FilePins {
    /// Pins of this mcp.json in this file.
    pub(crate) fn new(file: PathBuf, mcp_config: &Path) -> Self {
        let whole = std::fs::canonicalize(mcp_config).or_else(|_| std::path::absolute(mcp_config));
        let mcp_config = whole.unwrap_or_else(|_| mcp_config.to_owned()).to_string_lossy().into_owned();
        Self { file, mcp_config }
    }

    /// Forgets a service, which is gone from the mcp.json.
    pub(crate) fn forget(&self, service: &str) -> std::result::Result<(), Failure> {
        if !self.file.exists() {
            return Ok(());
        }
        file::change_own(&self.file, MAX_BYTES, |there| {
            let mut all = parse(&self.file, there)?;
            if let Some(services) = all.0.get_mut(&self.mcp_config) {
                services.remove(service);
            }
            Ok((write(&all)?, ()))
        })
    }

    /// What the file says now.
    async fn read(&self) -> Result<Option<String>> {
        let path = self.file.clone();
        let reading = tokio::task::spawn_blocking(move || file::read_up_to(&path, MAX_BYTES));
        reading.await.map_err(lost)?.map_err(|failure| unusable(&failure))
    }

    /// Writes the file if it still says what was read; false when it does not.
    async fn write(&self, before: Option<String>, after: String) -> Result<bool> {
        let path = self.file.clone();
        let writing = tokio::task::spawn_blocking(move || {
            file::change_own(&path, MAX_BYTES, |there| {
                let is_same = there == before.as_deref();
                let text = if is_same { after.as_str() } else { there.unwrap_or("{}\n") };
                Ok((text.to_owned(), is_same))
            })
        });
        writing.await.map_err(lost)?.map_err(|failure| unusable(&failure))
    }
}

#[async_trait]
impl PinStore for FilePins {
    async fn change(&self, service: &Service, _: Reason, edit: &Edit<'_>) -> Result<(Option<Pins>, Pins)> {
        for _ in 0..ATTEMPTS {
            let text = self.read().await?;
            let mut all = parse(&self.file, text.as_deref()).map_err(|failure| unusable(&failure))?;
            let services = all.0.entry(self.mcp_config.clone()).or_default();
            let before = services.get(&service.id).cloned();
            let after = edit(before.as_ref());
            if before.as_ref() == Some(&after) {
                return Ok((before, after));
            }
            services.insert(service.id.clone(), after.clone());
            let new = write(&all).map_err(|failure| unusable(&failure))?;
            if self.write(text, new).await? {
                return Ok((before, after));
            }
        }
        Err(Error::unavailable(format!("{} does not stop changing", self.file.display())))
    }
}

/// The owner's services in the file, the configured ones in the store.
pub(crate) struct AllPins {
    pub(crate) own: Option<FilePins>,
    pub(crate) stored: StoredPins,
}

#[async_trait]
impl PinStore for AllPins {
    async fn change(
        &self,
        service: &Service,
        reason: Reason,
        edit: &Edit<'_>,
    ) -> Result<(Option<Pins>, Pins)> {
        match &self.own {
            Some(own) if service.is_trusted => own.change(service, reason, edit).await,
            _ => self.stored.change(service, reason, edit).await,
        }
    }
}

fn parse(path: &Path, text: Option<&str>) -> std::result::Result<All, Failure> {
    let text = text.filter(|text| !text.trim().is_empty()).unwrap_or("{}");
    serde_json::from_str(text).map_err(|error| {
        Failure::new(format!("{} is unreadable", path.display()))
            .because(error)
            .advice("restore it, or delete it to trust all tools as they are now")
    })
}

fn write(all: &All) -> std::result::Result<String, Failure> {
    serde_json::to_string_pretty(all)
        .map(|text| text + "\n")
        .map_err(|error| Failure::new("the pins cannot be written").because(error))
}

fn unusable(failure: &Failure) -> Error {
    let cause = std::error::Error::source(failure).map(|cause| format!(": {cause}")).unwrap_or_default();
    Error::unavailable(format!("{failure}{cause}"))
}

fn lost(error: tokio::task::JoinError) -> Error {
    Error::internal("the file of pins was not reached").caused_by(error)
}
