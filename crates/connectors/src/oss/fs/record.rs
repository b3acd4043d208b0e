//! What is known of an object beside its content. A record names the file it was written for, so that one that
//! belongs to another content is not believed.

use super::files::Files;
use aws_lc_rs::digest::{SHA256, digest};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::Metadata;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;

/// Records are small; what is larger is none of ours.
const MAX_BYTES: u64 = 64 * 1024;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    key: String,
    #[serde(default)]
    pub(super) content_type: Option<String>,
    #[serde(default)]
    pub(super) metadata: BTreeMap<String, String>,
    pub(super) etag: String,
    file: Identity,
    /// That of the content before, which is still read until the new one has taken its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Box<Self>>,
}

/// Which file with which content.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    inode: u64,
    size: u64,
    modified_s: i64,
    modified_ns: i64,
}

impl Identity {
    fn of(file: &Metadata) -> Self {
        Self { inode: file.ino(), size: file.len(), modified_s: file.mtime(), modified_ns: file.mtime_nsec() }
    }
}

impl Record {
    pub(super) fn new(
        key: &str,
        content_type: Option<String>,
        metadata: BTreeMap<String, String>,
        etag: String,
        file: &Metadata,
    ) -> Self {
        Self { key: key.to_owned(), content_type, metadata, etag, file: Identity::of(file), before: None }
    }

    /// The same, with the record of the content that it is to replace.
    pub(super) fn after(self, before: Option<Self>) -> Self {
        Self { before: before.map(|before| Box::new(Self { before: None, ..before })), ..self }
    }

    /// The record of an object, if there is one that belongs to this file.
    pub(super) fn find(files: &Files, key: &str, file: &Metadata) -> Option<Self> {
        let mut text = String::new();
        let found = files.records().ok()?.open_file(&name(key)).ok()?;
        found.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        let record: Self = serde_json::from_str(&text).ok()?;
        let wanted = Identity::of(file);
        let is_its = |record: &Self| record.key == key && record.file == wanted;
        if is_its(&record) {
            return Some(record);
        }
        record.before.map(|before| *before).filter(is_its)
    }

    /// Puts the record in the place of an older one. `new` is a name that nobody else uses.
    pub(super) fn write(&self, files: &Files, new: &str) -> std::io::Result<()> {
        let records = files.make_records()?;
        let new = format!("{new}.record");
        let written = records.create_file(&new).map_err(Into::into).and_then(|mut file| {
            file.write_all(&serde_json::to_vec(self).map_err(std::io::Error::other)?)?;
            Ok(records.rename(&new, &records, &name(&self.key))?)
        });
        if written.is_err() {
            let _ = records.remove_file(&new);
        }
        written
    }
}

/// Removes the record of an object that is gone; one that stays is not believed anyway.
pub(super) fn remove(files: &Files, key: &str) {
    let removed = files.records().and_then(|records| records.remove_file(&name(key)));
    if let Err(error) = removed.or_else(|error| if error == Errno::NOENT { Ok(()) } else { Err(error) }) {
        tracing::debug!(%error, "a record of an object could not be removed: {error}");
    }
}

/// The name of the file in which the record of a key lies: as long as any other.
fn name(key: &str) -> String {
    hex(digest(&SHA256, key.as_bytes()).as_ref())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
