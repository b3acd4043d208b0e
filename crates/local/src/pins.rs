//! Pins of the services in an mcp.json, in a file of the home folder.

use crate::Failure;
use crate::mcp_config::file;
use async_trait::async_trait;
use gateway::catalog::Service;
use gateway::pins::{Edit, PinStore, Pins, Reason};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;
use tokio::sync::{Mutex, MutexGuard};
use tool::{Error, Result};

/// The most bytes of the file.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How often a change is tried when other processes change the file.
const ATTEMPTS: usize = 20;

/// By mcp.json, then by service.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct All(BTreeMap<String, BTreeMap<String, Pins>>);

/// The pins of one mcp.json. Many services are looked at when the program starts: what comes up while the file is
/// being written is written together afterwards.
pub struct FilePins(Arc<Shared>);

struct Shared {
    file: PathBuf,
    mcp_config: String,
    draft: Mutex<Draft>,
    /// How many wait for the draft.
    waiting: AtomicUsize,
    /// Held by whoever writes the file.
    turn: Mutex<()>,
}

/// The file as it is to be.
#[derive(Default)]
struct Draft {
    /// Nothing unless somebody needs it.
    content: Option<Content>,
    /// Counts the drafts that were given up, because another process had changed the file.
    given_up: u64,
    /// Counts the changes, and those of them that are in the file.
    changes: u64,
    written: u64,
}

struct Content {
    /// What the file said.
    before: Option<String>,
    /// Which file that was.
    stamp: Option<Stamp>,
    all: All,
}

/// Tells one state of the file from the next. Each is a new file under the old name.
#[derive(PartialEq, Eq)]
struct Stamp {
    id: u64,
    modified: Option<SystemTime>,
    size_bytes: u64,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let id = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let id = 0;
        Some(Self { id, modified: metadata.modified().ok(), size_bytes: metadata.len() })
    }
}

/// Counts as one of those who wait, until dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Draft {
    /// Everything is in the file.
    fn is_kept(&self) -> bool {
        self.changes == self.written
    }
}

impl FilePins {
    /// Pins of this mcp.json in this file.
    pub fn new(file: PathBuf, mcp_config: &Path) -> Self {
        let whole = std::fs::canonicalize(mcp_config).or_else(|_| std::path::absolute(mcp_config));
        let mcp_config = whole.unwrap_or_else(|_| mcp_config.to_owned()).to_string_lossy().into_owned();
        let (draft, waiting, turn) = (Mutex::default(), AtomicUsize::new(0), Mutex::default());
        Self(Arc::new(Shared { file, mcp_config, draft, waiting, turn }))
    }

    /// Forgets a service, which is gone from the mcp.json.
    pub fn forget(&self, service: &str) -> std::result::Result<(), Failure> {
        let Shared { file, mcp_config, .. } = &*self.0;
        if !file.exists() {
            return Ok(());
        }
        file::change_own(file, MAX_BYTES, |there| {
            let mut all = parse(file, there)?;
            if let Some(services) = all.0.get_mut(mcp_config) {
                services.remove(service);
            }
            Ok((write(&all)?, ()))
        })
    }

    async fn change_of(&self, service: &str, edit: &Edit<'_>) -> Result<(Option<Pins>, Pins)> {
        let shared = &self.0;
        for _ in 0..ATTEMPTS {
            let mut draft = shared.draft().await?;
            let Some(content) = &mut draft.content else { continue };
            let services = content.all.0.entry(shared.mcp_config.clone()).or_default();
            let before = services.get(service).cloned();
            let after = edit(before.as_ref());
            if before.as_ref() == Some(&after) {
                if draft.is_kept() && shared.waiting.load(Ordering::Relaxed) == 0 {
                    draft.content = None;
                }
                return Ok((before, after));
            }
            services.insert(service.to_owned(), after.clone());
            draft.changes += 1;
            let (change, given_up) = (draft.changes, draft.given_up);
            drop(draft);
            // In a task of its own: what is in the draft gets into the file, even if the caller goes away.
            let keeping = tokio::spawn(shared.clone().keep(change, given_up));
            if keeping.await.map_err(lost)?? {
                return Ok((before, after));
            }
        }
        Err(Error::unavailable(format!("{} does not stop changing", shared.file.display())))
    }
}

impl Shared {
    /// What the file says now.
    async fn read(&self) -> Result<Content> {
        let path = self.file.clone();
        let reading = tokio::task::spawn_blocking(move || {
            // Looked at first: what changes while it is read is seen the next time.
            let stamp = Stamp::of(&path);
            let before = file::read_up_to(&path, MAX_BYTES)?;
            let all = parse(&path, before.as_deref())?;
            Ok(Content { before, stamp, all })
        });
        reading.await.map_err(lost)?.map_err(|failure| unusable(&failure))
    }

    /// The draft, with what the file says unless it is being changed.
    async fn draft(&self) -> Result<MutexGuard<'_, Draft>> {
        let waiting = Waiting::new(&self.waiting);
        let mut draft = self.draft.lock().await;
        drop(waiting);
        let is_stale = |content: &Content| draft.is_kept() && content.stamp != Stamp::of(&self.file);
        if draft.content.as_ref().is_none_or(is_stale) {
            draft.content = Some(self.read().await?);
        }
        Ok(draft)
    }

    /// Sees to it that a change is in the file; false when its draft was given up.
    async fn keep(self: Arc<Self>, change: u64, given_up: u64) -> Result<bool> {
        let _turn = self.turn.lock().await;
        let mut draft = self.draft.lock().await;
        if draft.given_up != given_up {
            return Ok(false);
        }
        let Some(content) = draft.content.as_ref().filter(|_| draft.written < change) else {
            return Ok(true);
        };
        let (before, changes) = (content.before.clone(), draft.changes);
        let after = write(&content.all).map_err(|failure| unusable(&failure))?;
        drop(draft);
        let is_written = self.replace(before, after.clone()).await;
        draft = self.draft.lock().await;
        draft.written = changes;
        if !matches!(is_written, Ok(true)) {
            draft.given_up += 1;
            draft.written = draft.changes;
        }
        if draft.is_kept() {
            draft.content = None;
        } else if let Some(content) = &mut draft.content {
            content.before = Some(after);
        }
        is_written
    }

    /// Writes the file if it still says what was read; false when it does not.
    async fn replace(&self, before: Option<String>, after: String) -> Result<bool> {
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
        self.change_of(&service.id, edit).await
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;

    fn pins(service: usize) -> Pins {
        serde_json::from_value(serde_json::json!({ "echo": { "fingerprint": service.to_string() } })).unwrap()
    }

    async fn add(file: &FilePins, service: usize) -> Result<(Option<Pins>, Pins)> {
        file.change_of(&format!("s{service}"), &|before| before.cloned().unwrap_or_else(|| pins(service)))
            .await
    }

    /// Two processes with many services each, which all begin at once.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn keeps_what_many_services_change_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pins.json");
        let open = || FilePins::new(path.clone(), Path::new("/mcp.json"));
        let (one, other) = (open(), open());
        let all = (0..200).map(|service| add(if service % 2 == 0 { &one } else { &other }, service));
        for changed in join_all(all).await {
            assert_eq!(changed.unwrap().0, None);
        }
        let again = open();
        for service in 0..200 {
            assert_eq!(add(&again, service).await.unwrap().0, Some(pins(service)));
        }
        assert!(again.0.draft.lock().await.content.is_none(), "nothing is held when nobody needs it");
    }

    #[tokio::test]
    async fn sees_what_another_process_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let open = || FilePins::new(folder.path().join("pins.json"), Path::new("/mcp.json"));
        let (one, other) = (open(), open());
        add(&one, 1).await.unwrap();
        other.change_of("s1", &|_| pins(2)).await.unwrap();
        assert_eq!(add(&one, 1).await.unwrap().0, Some(pins(2)));
    }
}
