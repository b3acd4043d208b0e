//! Writing objects: into a new file first, which then takes the place of the old one at once.

use super::files::{Files, check};
use super::folder::Folder;
use super::record::{Record, hex};
use super::{blocking, failure};
use crate::oss::store::SaveOptions;
use aws_lc_rs::digest::{self, SHA256};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tool::objects::Body;
use tool::{Context, Object, Result};

/// How often the way to the place is gone again because somebody has removed a folder that was empty.
const MAX_TRIES: usize = 8;
/// A file that is being written. It is gone unless it is put in its place.
#[derive(Debug)]
struct NewFile {
    folder: Folder,
    name: String,
}

impl Drop for NewFile {
    fn drop(&mut self) {
        let _ = self.folder.remove_file(&self.name);
    }
}

/// Writes an object as a whole, or leaves what was there.
pub(super) async fn save(
    _: &Context,
    files: &Arc<Files>,
    key: &str,
    body: Body,
    options: SaveOptions,
) -> Result<Object> {
    check(key)?;
    let (new, file) = {
        let files = files.clone();
        blocking(move || begin(&files)).await?
    };
    let (file, etag) = write(file, body).await?;
    let (files, key) = (files.clone(), key.to_owned());
    blocking(move || finish(&files, &key, &new, &file, etag, options)).await
}

fn begin(files: &Files) -> Result<(NewFile, File)> {
    let folder = files.new_files()?;
    files.sweep();
    let name: String = tool::new_id();
    let file = folder.create_file(&name).map_err(|error| failure::of_writing(error.into()))?;
    // Held for as long as somebody writes, so that nobody takes it for a leftover.
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|error| failure::of_writing(error.into()))?;
    Ok((NewFile { folder, name }, file))
}

/// Writes the content, and names it by its hash.
async fn write(file: File, mut body: Body) -> Result<(File, String)> {
    let mut file = tokio::fs::File::from_std(file);
    let mut hash = digest::Context::new(&SHA256);
    while let Some(piece) = body.next().await? {
        hash.update(&piece);
        file.write_all(&piece).await.map_err(failure::of_writing)?;
    }
    file.flush().await.map_err(failure::of_writing)?;
    Ok((file.into_std().await, hex(&hash.finish().as_ref()[..16])))
}

fn finish(
    files: &Files,
    key: &str,
    new: &NewFile,
    file: &File,
    etag: String,
    options: SaveOptions,
) -> Result<Object> {
    // A new name must not lead to half a content when the power fails.
    let about = file.sync_data().and_then(|()| file.metadata()).map_err(failure::of_writing)?;
    let _lock = files.lock(key);
    // Written first, and with what is known of the old content: whoever reads meanwhile finds what belongs to either.
    let record =
        Record::new(key, options.content_type, options.metadata, etag, &about).after(present(files, key));
    if let Err(error) = record.write(files, &new.name) {
        // The content is what counts; its type is guessed from now on.
        tracing::warn!(%error, "what is known of an object could not be written: {error}");
    }
    match put(files, key, new, options.if_not_exists) {
        Err(Errno::EXIST) if options.if_not_exists => return failure::exists(),
        placed => placed.map_err(|error| failure::of_writing(error.into()))?,
    }
    Ok(to_object(key, record, &about))
}

/// What is known of the content that is there now.
fn present(files: &Files, key: &str) -> Option<Record> {
    let (folder, name) = files.place(key).ok()?;
    Record::find(files, key, &folder.open_file(name).ok()?.metadata().ok()?)
}

fn put(files: &Files, key: &str, new: &NewFile, is_only_new: bool) -> Result<(), Errno> {
    for _ in 0..MAX_TRIES {
        let (folder, name) = match files.make_place(key) {
            Err(Errno::NOENT) => continue,
            found => found?,
        };
        let placed = match is_only_new {
            true => new.folder.link(&new.name, &folder, name),
            false => new.folder.rename(&new.name, &folder, name),
        };
        match placed {
            Err(Errno::NOENT) => {}
            placed => return placed.and_then(|()| folder.sync()),
        }
    }
    Err(Errno::NOENT)
}

fn to_object(key: &str, record: Record, about: &Metadata) -> Object {
    Object {
        key: key.to_owned(),
        size: about.len(),
        content_type: record.content_type,
        etag: Some(record.etag),
        last_modified: about.modified().ok(),
        metadata: record.metadata,
    }
}
