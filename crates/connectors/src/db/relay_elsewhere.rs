//! Where there are no Unix sockets, drivers have no way that is checked, so that they have none.

use super::clear_text::SignIn;
use crate::shared::network::Policy;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tool::{Error, Result};

/// What would carry the bytes.
#[derive(Debug)]
pub(super) enum Wire {}

impl Wire {
    pub(super) fn is_outgrown(&self) -> bool {
        match *self {}
    }

    pub(super) fn has_asked_in_clear(&self) -> Arc<AtomicBool> {
        match *self {}
    }
}

/// Where the socket would be.
#[derive(Debug)]
pub(super) enum Folder {}

impl Folder {
    pub(super) fn path(&self) -> &Path {
        match *self {}
    }
}

/// Refuses.
///
/// # Errors
/// `Unsupported`, always.
pub(super) async fn connect(
    _: (&str, u16),
    _: &Arc<Policy>,
    _: usize,
    _: &str,
    _: Option<SignIn>,
) -> Result<(Folder, Wire)> {
    Err(Error::unsupported(
        "databases on servers are reached from Unix systems only; SQLite works everywhere",
    ))
}
