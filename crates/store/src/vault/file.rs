//! The key file: made once, readable by its owner alone, rotated without a moment of loss.

use crate::vault::ring::Ring;
use crate::{Error, Result, private_file};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

pub(super) fn path(data_dir: &Path) -> PathBuf {
    data_dir.join("master.key")
}

/// Two processes that start at once end with the same key: the lock orders them.
pub(super) fn read_or_create(path: &Path) -> Result<Ring> {
    if path.exists() {
        return read(path);
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|error| failed("create the folder of", path, &error))?;
    }
    let _lock = private_file::lock(path).map_err(|error| failed("lock", path, &error))?;
    if path.exists() {
        return read(path);
    }
    let ring = Ring::random()?;
    private_file::replace(path, &ring.to_text()).map_err(|error| failed("write", path, &error))?;
    Ok(ring)
}

pub(super) fn read(path: &Path) -> Result<Ring> {
    let mut file = File::open(path).map_err(|error| failed("read", path, &error))?;
    if private_file::is_exposed(&file).map_err(|error| failed("read", path, &error))? {
        return Err(Error::invalid(format!(
            "the master key in {path} can be read by others; make it private with: chmod 600 {path}",
            path = path.display()
        )));
    }
    let mut text = Zeroizing::new(String::new());
    file.read_to_string(&mut text).map_err(|error| failed("read", path, &error))?;
    Ring::parse(&text)
}

/// A rotation of the key file that has begun. Dropped unfinished, it leaves old and new keys
/// in the file; that is safe, and the next rotation tidies up.
pub struct Rotation {
    path: PathBuf,
    /// Keeps a second rotation waiting until this one is over.
    _lock: File,
}

impl Rotation {
    pub(super) fn begin(path: PathBuf) -> Result<Self> {
        let lock = private_file::lock(&path).map_err(|error| failed("lock", &path, &error))?;
        let ring = read(&path)?.with_new_first()?;
        private_file::replace(&path, &ring.to_text()).map_err(|error| failed("write", &path, &error))?;
        Ok(Self { path, _lock: lock })
    }

    /// Forgets the old keys. Call it only after the database has been re-sealed.
    pub fn finish(self) -> Result<()> {
        let ring = read(&self.path)?.only_first();
        private_file::replace(&self.path, &ring.to_text())
            .map_err(|error| failed("write", &self.path, &error))
    }
}

fn failed(verb: &str, path: &Path, error: &io::Error) -> Error {
    Error::invalid(format!("cannot {verb} the master key file {}: {error}", path.display()))
}
