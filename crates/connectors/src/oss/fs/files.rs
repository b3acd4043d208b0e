//! Where everything lies below the top: objects under their keys, and in a folder of our own what belongs to them.

use super::failure;
use super::folder::Folder;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tool::{Error, Result};

/// The folder of our own; no key can lead into it.
pub(super) const OWN: &str = ".mcp-all-in-one";
/// Files that are being written.
const NEW: &str = "new";
/// What is known of objects beside their content.
const RECORDS: &str = "records";
/// Writers of one key wait for one another; more locks than this would hardly be used.
const LOCKS: usize = 64;

/// How long a file may be there before its writer has locked it.
const FRESH: Duration = Duration::from_secs(5);

/// All files of one service.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
    locks: Vec<Mutex<()>>,
    /// What others have left half written was looked for.
    is_swept: AtomicBool,
}

impl Files {
    pub(super) fn new(root: PathBuf) -> Self {
        let locks = std::iter::repeat_with(Mutex::default).take(LOCKS).collect();
        Self { root, locks, is_swept: AtomicBool::new(false) }
    }

    /// The top, if there is one.
    pub(super) fn top(&self) -> Result<Folder, Errno> {
        Folder::top(&self.root)
    }

    /// The top, made where it is missing, for its owner alone.
    fn make_top(&self) -> std::io::Result<Folder> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.root)?;
        Ok(self.top()?)
    }

    /// The folder for files that are being written.
    pub(super) fn new_files(&self) -> Result<Folder> {
        let top = self.make_top().map_err(failure::of_top)?;
        let made = top.make_child(OWN).and_then(|own| own.make_child(NEW));
        made.map_err(|error| failure::of_top(error.into()))
    }

    /// Removes once what processes have left that did not end well: nobody holds the lock of such a file any more.
    pub(super) fn sweep(&self) {
        if self.is_swept.swap(true, Ordering::Relaxed) {
            return;
        }
        let Ok(folder) = self.top().and_then(|top| top.child(OWN)?.child(NEW)) else { return };
        for (name, _) in folder.entries(10_000).unwrap_or_default() {
            let Ok(file) = folder.open_file(&name) else { continue };
            // One that was made a moment ago may not be locked yet.
            let age = file.metadata().ok().and_then(|about| about.modified().ok()?.elapsed().ok());
            let is_old = age.is_some_and(|age| age > FRESH);
            if is_old && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
                let _ = folder.remove_file(&name);
            }
        }
    }

    /// The folder of records, where there is one.
    pub(super) fn records(&self) -> Result<Folder, Errno> {
        self.top()?.child(OWN)?.child(RECORDS)
    }

    pub(super) fn make_records(&self) -> Result<Folder, Errno> {
        self.top()?.make_child(OWN)?.make_child(RECORDS)
    }

    /// The folder in which an object lies, and its name there.
    pub(super) fn place<'a>(&self, key: &'a str) -> Result<(Folder, &'a str), Errno> {
        let mut folder = self.top()?;
        let (parents, name) = split(key);
        for parent in parents {
            folder = folder.child(parent)?;
        }
        Ok((folder, name))
    }

    /// The same, with the folders that are missing.
    pub(super) fn make_place<'a>(&self, key: &'a str) -> Result<(Folder, &'a str), Errno> {
        let mut folder = self.top()?;
        let (parents, name) = split(key);
        for parent in parents {
            folder = folder.make_child(parent)?;
        }
        Ok((folder, name))
    }

    /// One writer of a key at a time, so that an object and its record belong together.
    pub(super) fn lock(&self, key: &str) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or(0);
        self.locks[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes an object, its record, and folders that are empty without it.
    pub(super) fn delete(&self, key: &str) -> Result<()> {
        check(key)?;
        let _lock = self.lock(key);
        let removed = self.place(key).and_then(|(folder, name)| folder.remove_file(name));
        match removed {
            Ok(()) => {}
            // It is gone; or there is a folder or a link, which is no object.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ISDIR | Errno::LOOP | Errno::PERM) => return Ok(()),
            Err(error) => return Err(failure::of_writing(error.into())),
        }
        super::record::remove(self, key);
        let mut path = key;
        while let Some((parent, _)) = path.rsplit_once('/') {
            let removed = self.place(parent).and_then(|(folder, name)| folder.remove_folder(name));
            if removed.is_err() {
                break;
            }
            path = parent;
        }
        Ok(())
    }
}

fn split(key: &str) -> (impl Iterator<Item = &str>, &str) {
    let (parents, name) = key.rsplit_once('/').unwrap_or(("", key));
    (parents.split('/').filter(|part| !part.is_empty()), name)
}

/// Refuses keys that files cannot have, beside those that no object may have.
pub(super) fn check(key: &str) -> Result<()> {
    const MAX_NAME_BYTES: usize = 255;
    let wrong = |why: &str| Error::invalid_input(format!("parameter 'key' {why}")).of_parameter("key");
    if key.split('/').any(|part| part.len() > MAX_NAME_BYTES) {
        return Err(wrong("has a part of more than 255 bytes, which is too long for the name of a file"));
    }
    if key.split('/').next() == Some(OWN) {
        return Err(wrong("leads into the folder that the store keeps for itself"));
    }
    Ok(())
}
