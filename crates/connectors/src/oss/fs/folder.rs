//! Folders by their handles: every name is looked up within one, and no symbolic link is followed. So it does not
//! matter what somebody puts in the place of a folder between two of our steps.

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, linkat, mkdirat, open, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const PRIVATE_FOLDER: Mode = Mode::RWXU;
const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);

type Result<T> = std::result::Result<T, Errno>;

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

/// Something in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// Links, sockets and other things that are no objects.
    Other,
}

impl Folder {
    /// The folder at the top, wherever whoever manages this machine has put it.
    pub(super) fn top(path: &Path) -> Result<Self> {
        open(path, FOLDER, Mode::empty()).map(Self)
    }

    /// A folder in this one.
    pub(super) fn child(&self, name: &str) -> Result<Self> {
        openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).map(Self)
    }

    /// The same, made where it is missing.
    pub(super) fn make_child(&self, name: &str) -> Result<Self> {
        match mkdirat(&self.0, name, PRIVATE_FOLDER) {
            Ok(()) | Err(Errno::EXIST) => self.child(name),
            Err(error) => Err(error),
        }
    }

    /// A file in this folder, for reading; nothing else that has a name can be opened so.
    pub(super) fn open_file(&self, name: &str) -> Result<File> {
        // Opening a pipe would wait for somebody to write to it.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(&self.0, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(File::from(file)),
            _ => Err(Errno::NOENT),
        }
    }

    /// A new file, which nobody else may read.
    pub(super) fn create_file(&self, name: &str) -> Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.0, name, flags, PRIVATE_FILE).map(File::from)
    }

    /// Moves a file over another.
    pub(super) fn rename(&self, name: &str, to: &Self, to_name: &str) -> Result<()> {
        renameat(&self.0, name, &to.0, to_name)
    }

    /// Gives a file a second name, where nothing has it.
    pub(super) fn link(&self, name: &str, to: &Self, to_name: &str) -> Result<()> {
        linkat(&self.0, name, &to.0, to_name, AtFlags::empty())
    }

    pub(super) fn remove_file(&self, name: &str) -> Result<()> {
        unlinkat(&self.0, name, AtFlags::empty())
    }

    /// Removes a folder in which nothing is left.
    pub(super) fn remove_folder(&self, name: &str) -> Result<()> {
        unlinkat(&self.0, name, AtFlags::REMOVEDIR)
    }

    /// Puts on disk which names there are.
    pub(super) fn sync(&self) -> Result<()> {
        rustix::fs::fsync(&self.0)
    }

    pub(super) fn kind_of(&self, name: &str) -> Result<Kind> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(kind(FileType::from_raw_mode(stat.st_mode)))
    }

    /// What is in the folder, in no order, up to so many entries; names that are no text are no keys.
    pub(super) fn entries(&self, most: usize) -> Result<Vec<(String, Kind)>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if matches!(name, "." | "..") {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => self.kind_of(name).unwrap_or(Kind::Other),
                known => kind(known),
            };
            if entries.len() == most {
                return Err(Errno::OVERFLOW);
            }
            entries.push((name.to_owned(), kind));
        }
        Ok(entries)
    }
}

fn kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        _ => Kind::Other,
    }
}
