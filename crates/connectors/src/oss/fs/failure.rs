//! Why work on files failed, in our words.

use rustix::io::Errno;
use std::io::{self, ErrorKind};
use tool::{Error, Result};

/// An object that could not be read.
pub(super) fn of_reading(error: Errno, key: &str) -> Error {
    match error {
        // A link is no object, and what lies under one is not there for us.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ISDIR => {
            let shown: String = key.chars().take(200).collect();
            Error::missing(format!("there is no object '{shown}'"))
        }
        Errno::ACCESS | Errno::PERM => {
            Error::unavailable("the folder of the store cannot be read by this program")
                .caused_by(io::Error::from(error))
        }
        _ => Error::unavailable("the object cannot be read").caused_by(io::Error::from(error)),
    }
}

/// A folder at the top that could not be made: no key has to do with it.
pub(super) fn of_top(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotADirectory | ErrorKind::InvalidFilename | ErrorKind::AlreadyExists => {
            Error::unavailable("the folder of the store cannot be made where it is wanted").caused_by(error)
        }
        _ => of_writing(error),
    }
}

/// An object that could not be written.
pub(super) fn of_writing(error: io::Error) -> Error {
    let wrong = |why: &str| Error::invalid_input(format!("parameter 'key' {why}")).of_parameter("key");
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Error::unavailable("the disk of the store is full; what was there is still there")
                .caused_by(error)
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            Error::unavailable("the folder of the store cannot be written by this program").caused_by(error)
        }
        ErrorKind::NotADirectory => wrong("leads through an object or a link, under which nothing can lie"),
        ErrorKind::IsADirectory => wrong("is that of a folder, in which other objects lie"),
        ErrorKind::InvalidFilename => wrong("is too long for the name of a file"),
        ErrorKind::NotFound => Error::unavailable("the folder of the store is not there").caused_by(error),
        _ if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            wrong("leads through a link, which is not followed")
        }
        _ => Error::unavailable("the object cannot be written").caused_by(error),
    }
}

/// There is one already, and it was not to be replaced.
pub(super) fn exists<T>() -> Result<T> {
    Err(Error::upstream("there is an object under that key already").with_service_code("exists"))
}
