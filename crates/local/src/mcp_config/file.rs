//! Files that others read too: changed as a whole, one writer at a time, with a backup beside them.

use crate::Failure;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// The most bytes of a file.
pub const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Older backups of the same file are deleted.
const BACKUPS: usize = 20;
/// How often a change is tried when others change the file at the same time.
const ATTEMPTS: usize = 10;
/// How long to wait for others of us that change a file in the same folder.
const TURN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// What came of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    /// The file said so already.
    Same,
    /// The file is new.
    Made,
    /// What was there before stands in this file now.
    Replaced(PathBuf),
}

/// The text of a file; nothing when there is none.
pub fn read(path: &Path) -> Result<Option<String>, Failure> {
    read_up_to(path, MAX_BYTES)
}

/// The same, of at most so many bytes.
pub fn read_up_to(path: &Path, max_bytes: u64) -> Result<Option<String>, Failure> {
    let unreadable =
        |error: io::Error| Failure::new(format!("{} cannot be read", path.display())).because(error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut text = String::new();
    file.take(max_bytes + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > max_bytes {
        return Err(Failure::new(format!("{} has more than {max_bytes} bytes", path.display())));
    }
    Ok(Some(text))
}

/// Changes a file as a whole: whoever reads it, and whenever we are killed, it holds the old text or
/// the new one. `edit` gets what is there and may be asked again when somebody else was faster. A
/// symbolic link stays one, a file keeps its mode, a new one is for its owner alone.
pub fn change<T>(
    path: &Path,
    edit: impl FnMut(Option<&str>) -> Result<(String, T), Failure>,
) -> Result<(Saved, T), Failure> {
    swap(path, MAX_BYTES, &back_up, edit)
}

/// The same for a file that only we know, of at most so many bytes: there is no backup of it.
pub fn change_own<T>(
    path: &Path,
    max_bytes: u64,
    edit: impl FnMut(Option<&str>) -> Result<(String, T), Failure>,
) -> Result<T, Failure> {
    swap(path, max_bytes, &|target, _| Ok(target.to_owned()), edit).map(|(_, outcome)| outcome)
}

fn swap<T>(
    path: &Path,
    max_bytes: u64,
    back_up: &dyn Fn(&Path, &str) -> io::Result<PathBuf>,
    mut edit: impl FnMut(Option<&str>) -> Result<(String, T), Failure>,
) -> Result<(Saved, T), Failure> {
    let failed = |error: io::Error| {
        Failure::new(format!("{} cannot be written", path.display()))
            .because(error)
            .advice("see that the folder exists and is yours to write")
    };
    let target = target(path).map_err(failed)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let _turn = lock(folder).map_err(failed)?;
    for _ in 0..ATTEMPTS {
        let before = read_up_to(&target, max_bytes)?;
        let (after, outcome) = edit(before.as_deref())?;
        if before.as_ref() == Some(&after) {
            return Ok((Saved::Same, outcome));
        }
        if after.len() as u64 > max_bytes {
            return Err(Failure::new(format!("{} would have more than {max_bytes} bytes", path.display())));
        }
        let temporary = write_beside(&target, &after).map_err(failed)?;
        if read_up_to(&target, max_bytes)? != before {
            continue; // An editor that knows no lock was faster.
        }
        let saved = match &before {
            None => Saved::Made,
            Some(before) => Saved::Replaced(back_up(&target, before).map_err(failed)?),
        };
        fs::rename(&temporary, &target).and_then(|()| sync(folder)).map_err(failed)?;
        return Ok((saved, outcome));
    }
    Err(Failure::new(format!("{} does not stop changing", path.display())).advice("try again in a while"))
}

/// Where a path leads, through symbolic links.
fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(io::Error::new(error.kind(), "it is a link to a file that does not exist"));
            }
            Ok(path.to_owned())
        }
        found => found,
    }
}

/// Held while the file is changed. The folder itself is the lock, so that nothing is left behind in
/// other programs' folders; where folders cannot be locked, the comparison before the swap remains.
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let folder = File::open(folder)?;
    let deadline = Instant::now() + TURN;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(Some(folder)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another process keeps its folder locked",
                ));
            }
        }
    }
}

/// The new text in a file of its own, complete and on the disk.
fn write_beside(target: &Path, text: &str) -> io::Result<PathBuf> {
    let temporary = beside(target, "mcp-all-in-one.tmp");
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {} // What a killed process left behind.
    }
    let file = write_new(&temporary, text)?;
    if let Ok(metadata) = fs::metadata(target) {
        file.set_permissions(metadata.permissions())?;
    }
    file.sync_all()?;
    Ok(temporary)
}

/// What was there, for its owner alone, under a name with the time.
fn back_up(target: &Path, text: &str) -> io::Result<PathBuf> {
    let now = chrono::DateTime::<chrono::Utc>::from(SystemTime::now());
    let mut attempt = 0;
    let backup = loop {
        let number = if attempt == 0 { String::new() } else { format!("-{attempt}") };
        let backup = beside(target, &format!("{}{number}.bak", now.format("%Y%m%dT%H%M%S%3fZ")));
        match write_new(&backup, text) {
            Ok(file) => break file.sync_all().map(|()| backup)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            Err(error) => return Err(error),
        }
    };
    forget_old_backups(target);
    Ok(backup)
}

fn forget_old_backups(target: &Path) {
    let name = beside(target, "").file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = target.parent().and_then(|folder| fs::read_dir(folder).ok());
    let is_backup = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.strip_prefix(&name).and_then(|rest| rest.strip_suffix(".bak")).is_some_and(|time| {
            time.starts_with(|c: char| c.is_ascii_digit()) && time.contains('T') && time.contains('Z')
        })
    };
    let mut backups: Vec<PathBuf> =
        folder.into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_backup).collect();
    backups.sort();
    for old in backups.iter().rev().skip(BACKUPS) {
        // A backup too many harms nobody.
        let _ = fs::remove_file(old);
    }
}

/// A name beside the file, e.g. `mcp.json.<what>`.
fn beside(target: &Path, what: &str) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(what);
    target.with_file_name(name)
}

/// A file that nobody else may read, from its first moment.
fn write_new(path: &Path, text: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backs_up_what_was_there_and_keeps_no_more_than_needed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let write = |text: String| change(&path, |_| Ok((text.clone(), ()))).unwrap().0;
        assert_eq!(write("0".into()), Saved::Made);
        assert_eq!(write("0".into()), Saved::Same);
        for number in 1..=30 {
            let Saved::Replaced(backup) = write(number.to_string()) else { panic!("it was there") };
            assert_eq!(fs::read_to_string(backup).unwrap(), (number - 1).to_string());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1 + BACKUPS);
    }

    #[test]
    fn asks_again_when_somebody_else_was_faster() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        fs::write(&path, "first").unwrap();
        let mut asked = 0;
        let edit = |text: Option<&str>| {
            asked += 1;
            if asked == 1 {
                fs::write(&path, "by an editor").unwrap();
            }
            Ok((format!("{} and us", text.unwrap_or_default()), ()))
        };
        change(&path, edit).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "by an editor and us");
    }
}
