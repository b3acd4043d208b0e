//! The body of an answer, of a size that can be trusted.

use fetch::Response;

/// Why a body could not be read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It has more bytes than it may have, counted after decompression.
    TooLong,
    Broken(fetch::Error),
}

/// The whole body, unless it has more than so many bytes.
pub(crate) async fn read(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, Unread> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(Unread::Broken)? {
        if body.len() + chunk.len() > max_bytes {
            return Err(Unread::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
