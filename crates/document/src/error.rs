//! Why a pointer leads nowhere, or a change cannot be made.

use std::fmt;

/// `std::result::Result` with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is wrong with a pointer, or with a change and the place it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The text is no JSON Pointer.
    BadPointer(String),
    /// There is nothing at that place; the text says how far the way goes.
    Missing(String),
    /// Something is there that does not fit.
    Conflict(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadPointer(message) | Self::Missing(message) | Self::Conflict(message) => {
                f.write_str(message)
            }
        }
    }
}

impl std::error::Error for Error {}
