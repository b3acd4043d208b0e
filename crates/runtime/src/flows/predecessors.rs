//! Processes of this data folder that are gone: whoever starts in their place takes their runs from them at once.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use store::Store;

/// The folder with a file for each process that works on runs.
const FOLDER: &str = "processes";

/// This process, known by a locked file: the lock ends with the process, however that ends.
pub(super) struct Presence {
    path: PathBuf,
    _file: File,
}

impl Presence {
    /// Makes the file of this process and takes the runs of those that are gone.
    pub(super) async fn announce(data_dir: &Path, store: &Store) -> Option<Self> {
        let (folder, owner) = (data_dir.join(FOLDER), store.runs().owner().to_owned());
        let announced =
            tokio::task::spawn_blocking(move || Ok((gone(&folder)?, announce(&folder, &owner)?))).await;
        let announced: io::Result<_> = announced.unwrap_or_else(|error| Err(io::Error::other(error)));
        let (gone, presence) = match announced {
            Ok(announced) => announced,
            Err(error) => {
                tracing::warn!(%error, "runs of processes before this one come when their claims are over: {error}");
                return None;
            }
        };
        for (owner, path) in gone {
            match store.runs().disown(&owner).await {
                Ok(count) => {
                    tracing::info!(count, "{count} runs of a process that is gone go on here");
                    // Another process may be as fast.
                    let _ = std::fs::remove_file(path);
                }
                Err(error) => tracing::warn!(%error, "runs of a process that is gone come later: {error}"),
            }
        }
        Some(presence)
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn announce(folder: &Path, owner: &str) -> io::Result<Presence> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(owner);
    let file = OpenOptions::new().create(true).append(true).open(&path)?;
    file.try_lock().map_err(io::Error::from)?;
    Ok(Presence { path, _file: file })
}

/// Those whose files nobody holds any more, by name.
fn gone(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut gone = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(gone),
        Err(error) => return Err(error),
    };
    for entry in entries.flatten() {
        // One that is deleted just now belongs to a process that ends by itself.
        let Ok(file) = OpenOptions::new().append(true).open(entry.path()) else { continue };
        match file.try_lock() {
            Ok(()) => gone.push((entry.file_name().to_string_lossy().into_owned(), entry.path())),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processes_that_hold_their_file_are_there() {
        let folder = std::env::temp_dir().join(format!("presence-{}", tool::new_id::<String>()));
        assert!(gone(&folder).unwrap().is_empty());
        let here = announce(&folder, "here").unwrap();
        assert!(gone(&folder).unwrap().is_empty());
        std::fs::write(folder.join("killed"), "").unwrap();
        assert_eq!(gone(&folder).unwrap()[0].0, "killed");
        drop(here);
        assert_eq!(gone(&folder).unwrap().len(), 1, "whoever ends by itself leaves nothing");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
