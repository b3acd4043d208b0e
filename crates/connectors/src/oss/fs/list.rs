//! Listing objects in the order of their keys, without looking at more than the page needs.

use super::files::{Files, OWN};
use super::folder::{Folder, Kind};
use super::load::find;
use crate::oss::store::{ListRequest, Listing};
use rustix::io::Errno;
use std::io;
use tokio_util::sync::CancellationToken;
use tool::{Error, ErrorKind, Result};

/// How many files one folder may hold; their names are sorted in memory.
const MAX_ENTRIES: usize = 500_000;
/// No key is longer.
const MAX_KEY_BYTES: usize = 1024;

/// One page.
pub(super) fn list(files: &Files, request: &ListRequest, end: &CancellationToken) -> Result<Listing> {
    let after = request.after_key()?;
    let top = match files.top() {
        Ok(top) => top,
        // Nothing was saved yet.
        Err(Errno::NOENT) => return Ok(Listing::default()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut walk = Walk { files, request, after, end, listing: Listing::default() };
    walk.folder(&top, "")?;
    Ok(walk.listing)
}

struct Walk<'a> {
    files: &'a Files,
    request: &'a ListRequest,
    after: Option<&'a str>,
    end: &'a CancellationToken,
    listing: Listing,
}

impl Walk<'_> {
    /// Goes through a folder, and says whether the page is full. A folder sorts as its name with a slash, so that
    /// keys come in the order of their bytes.
    fn folder(&mut self, folder: &Folder, path: &str) -> Result<bool> {
        if self.end.is_cancelled() {
            return Err(Error::cancelled("the caller cancelled the call"));
        }
        let entries = folder.entries(MAX_ENTRIES).map_err(unreadable)?;
        let mut names: Vec<_> = entries
            .into_iter()
            .filter_map(|(name, kind)| match kind {
                Kind::File => Some(name),
                Kind::Folder if path.is_empty() && name == OWN => None,
                Kind::Folder => Some(name + "/"),
                Kind::Other => None,
            })
            .collect();
        names.sort_unstable();
        for name in names {
            let key = format!("{path}{name}");
            if key.len() > MAX_KEY_BYTES || crate::oss::key::flaw(&key).is_some() {
                continue;
            }
            let is_full = match name.strip_suffix('/') {
                Some(name) => self.child(folder, name, &key)?,
                None => self.file(&key)?,
            };
            if is_full {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A folder within one; `path` ends with a slash.
    fn child(&mut self, parent: &Folder, name: &str, path: &str) -> Result<bool> {
        let prefix = &self.request.prefix;
        let may_match = path.starts_with(prefix.as_str()) || prefix.starts_with(path);
        let is_before = self.after.is_some_and(|after| path <= after && !after.starts_with(path));
        if !may_match || is_before {
            return Ok(false);
        }
        if self.request.is_by_folder() && path.len() > prefix.len() && path.starts_with(prefix.as_str()) {
            return self.joined(parent, name, path);
        }
        match parent.child(name) {
            Ok(folder) => self.folder(&folder, path),
            // Removed meanwhile, or something else by now.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
            Err(error) => Err(unreadable(error)),
        }
    }

    /// A folder that stands for all that is in it; one that holds nothing is none.
    fn joined(&mut self, parent: &Folder, name: &str, path: &str) -> Result<bool> {
        let is_seen = self.after.is_some_and(|after| after.starts_with(path));
        let has_entries = parent.child(name).and_then(|folder| Ok(!folder.entries(MAX_ENTRIES)?.is_empty()));
        if is_seen || !has_entries.unwrap_or(false) {
            return Ok(false);
        }
        if self.is_full() {
            return Ok(true);
        }
        self.listing.prefixes.push(path.to_owned());
        Ok(false)
    }

    fn file(&mut self, key: &str) -> Result<bool> {
        let is_seen = self.after.is_some_and(|after| key <= after || self.request.is_end(key, after));
        if is_seen || !key.starts_with(&self.request.prefix) {
            return Ok(false);
        }
        let group = self.request.group(key);
        if group.is_some() && group == self.listing.prefixes.last().map(String::as_str) {
            return Ok(false);
        }
        if self.is_full() {
            return Ok(true);
        }
        if let Some(group) = group {
            self.listing.prefixes.push(group.to_owned());
            return Ok(false);
        }
        match find(self.files, key) {
            Ok((_, object)) => self.listing.objects.push(object),
            // Removed meanwhile.
            Err(error) if error.kind() == ErrorKind::Missing => {}
            Err(error) => return Err(error),
        }
        Ok(false)
    }

    /// The page has all it may have, and there is one more.
    fn is_full(&mut self) -> bool {
        self.listing.is_truncated = self.listing.len() >= self.request.limit;
        self.listing.is_truncated
    }
}

fn unreadable(error: Errno) -> Error {
    match error {
        Errno::OVERFLOW => Error::unsupported(format!(
            "a folder of the store holds more than {MAX_ENTRIES} files, which cannot be listed"
        )),
        _ => Error::unavailable("the folder of the store cannot be read").caused_by(io::Error::from(error)),
    }
}
