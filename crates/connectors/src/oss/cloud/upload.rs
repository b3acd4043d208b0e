//! Writing objects: at once, or in parts where they are large. What breaks leaves neither an object nor parts.

use super::{Cloud, failure};
use crate::oss::store::SaveOptions;
use opendal::Writer;
use opendal::options::WriteOptions;
use std::time::{Duration, SystemTime};
use tokio_util::task::TaskTracker;
use tool::objects::Body;
use tool::{Object, Result};

/// What is larger goes in parts of this size.
const PART_BYTES: usize = 8 * 1024 * 1024;
/// How often parts are cleaned up before they are left to the rules of the bucket.
const CLEANING_ATTEMPTS: u32 = 6;

/// An upload under way. Unless it ends well, its parts are removed, also when the call is dropped.
struct Upload {
    writer: Option<Writer>,
    tasks: TaskTracker,
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            self.tasks.spawn(clean(writer));
        }
    }
}

/// Writes an object as a whole, or leaves what was there.
pub(super) async fn save(cloud: &Cloud, key: &str, mut body: Body, options: SaveOptions) -> Result<Object> {
    let explain = |error| failure::explain(error, key);
    let SaveOptions { content_type, metadata, if_not_exists } = options;
    let wanted = WriteOptions {
        content_type: content_type.clone(),
        user_metadata: (!metadata.is_empty()).then(|| metadata.clone().into_iter().collect()),
        if_not_exists: if_not_exists && cloud.operator.info().capability().write_with_if_not_exists,
        chunk: Some(PART_BYTES),
        ..WriteOptions::default()
    };
    // A store that cannot refuse is asked before; two at once may then both write.
    if if_not_exists
        && !wanted.if_not_exists
        && cloud.operator.exists(key).await.map_err(|error| explain(error).without_doubt())?
    {
        return Err(failure::exists());
    }
    let writer = cloud.operator.writer_options(key, wanted).await.map_err(explain)?;
    let mut upload = Upload { writer: Some(writer), tasks: cloud.tasks.clone() };
    let mut size = 0;
    while let Some(piece) = body.next().await.map_err(tool::Error::without_doubt)? {
        size += piece.len() as u64;
        if let Some(writer) = &mut upload.writer {
            // Parts alone are no object: it is made by the last request.
            writer.write(piece).await.map_err(|error| explain(error).without_doubt())?;
        }
    }
    let Some(writer) = &mut upload.writer else { return Err(tool::Error::internal("an upload is gone")) };
    let written = writer.close().await.map_err(explain)?;
    upload.writer = None;
    Ok(Object {
        key: key.to_owned(),
        size,
        content_type,
        etag: written.etag().map(|etag| etag.trim_matches('"').to_owned()),
        last_modified: Some(SystemTime::now()),
        metadata,
    })
}

/// Removes the parts of an upload that broke, as soon as the store can be reached again.
async fn clean(mut writer: Writer) {
    let mut pause = Duration::from_millis(500);
    for _ in 0..CLEANING_ATTEMPTS {
        match writer.abort().await {
            Ok(()) => return,
            Err(error) => {
                tracing::debug!(kind = %error.kind(), "parts of an upload could not be removed yet")
            }
        }
        tokio::time::sleep(pause).await;
        pause *= 3;
    }
    tracing::warn!(
        "parts of an upload that broke could not be removed; let the bucket remove them after some days"
    );
}
