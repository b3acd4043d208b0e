//! Reading objects: the file is opened once, so that what comes is all of one content.

use super::failure;
use super::files::{Files, check};
use super::record::Record;
use crate::shared::content::guess;
use async_trait::async_trait;
use bytes::Bytes;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use tokio::io::AsyncReadExt;
use tool::objects::{Chunks, InMemory, Part, Reading};
use tool::{Error, Object, Result};

/// What is read at once; smaller objects come whole.
const PIECE_BYTES: usize = 512 * 1024;

/// An object, and its open file.
pub(super) fn find(files: &Files, key: &str) -> Result<(File, Object)> {
    check(key)?;
    let opened = files.place(key).and_then(|(folder, name)| folder.open_file(name));
    let file = opened.map_err(|error| failure::of_reading(error, key))?;
    let about =
        file.metadata().map_err(|error| Error::unavailable("the object cannot be read").caused_by(error))?;
    let object = match Record::find(files, key, &about) {
        Some(record) => Object {
            key: key.to_owned(),
            size: about.len(),
            content_type: record.content_type,
            etag: Some(record.etag),
            last_modified: about.modified().ok(),
            metadata: record.metadata,
        },
        // Somebody else has put it there.
        None => Object {
            key: key.to_owned(),
            size: about.len(),
            content_type: guess(key),
            etag: Some(format!("{:x}-{:x}-{:x}", about.mtime(), about.mtime_nsec(), about.len())),
            last_modified: about.modified().ok(),
            metadata: Default::default(),
        },
    };
    Ok((file, object))
}

/// Begins to read an object.
pub(super) fn load(files: &Files, key: &str, part: Part) -> Result<Reading> {
    let (mut file, object) = find(files, key)?;
    let range = part.within(object.size);
    let broken = |error| Error::unavailable("the object cannot be read").caused_by(error);
    if range.start > 0 {
        file.seek(SeekFrom::Start(range.start)).map_err(broken)?;
    }
    let length = range.end - range.start;
    let body: tool::objects::Body = match usize::try_from(length) {
        Ok(length) if length <= PIECE_BYTES => {
            let mut bytes = Vec::with_capacity(length);
            file.take(length as u64).read_to_end(&mut bytes).map_err(broken)?;
            if bytes.len() < length {
                return Err(cut());
            }
            InMemory::body(bytes)
        }
        _ => Box::new(Pieces { file: tokio::fs::File::from_std(file), left: length }),
    };
    Ok(Reading { object, range, body })
}

struct Pieces {
    file: tokio::fs::File,
    left: u64,
}

#[async_trait]
impl Chunks for Pieces {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.left == 0 {
            return Ok(None);
        }
        let length = usize::try_from(self.left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let mut piece = Vec::with_capacity(length);
        let read = (&mut self.file).take(length as u64).read_buf(&mut piece).await;
        match read {
            Ok(0) => Err(cut()),
            Ok(read) => {
                self.left -= read as u64;
                Ok(Some(piece.into()))
            }
            Err(error) => Err(Error::unavailable("the object cannot be read to its end").caused_by(error)),
        }
    }
}

/// Somebody else has written into the file itself.
fn cut() -> Error {
    Error::unavailable("the object became shorter while it was read").retryable()
}
