//! Files that only their owner may read.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Opens a file for writing, with mode 0600 from its first moment.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates the file when it is missing; an existing one is left alone.
pub(crate) fn create_if_missing(path: &Path) -> io::Result<()> {
    match options().create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Replaces the file as a whole: after a crash it holds the old text or the new one.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    match std::fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = options().create_new(true).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    sync_parent(path)
}

/// Takes the lock that guards `path`; it ends with the returned file or with the process.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let file = options().create(true).truncate(false).open(path.with_extension("lock"))?;
    file.lock()?;
    Ok(file)
}

/// Whether people other than the owner may read the file.
#[cfg(unix)]
pub(crate) fn is_exposed(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(file.metadata()?.permissions().mode() & 0o077 != 0)
}

/// Elsewhere the folder's access list protects the file.
#[cfg(not(unix))]
pub(crate) fn is_exposed(_: &File) -> io::Result<bool> {
    Ok(false)
}

#[cfg(unix)]
fn sync_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

#[cfg(not(unix))]
fn sync_parent(_: &Path) -> io::Result<()> {
    Ok(())
}
