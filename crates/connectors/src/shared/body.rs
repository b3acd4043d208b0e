//! The body of an answer, of a size that can be trusted.

use fetch::Response;

/// Why a body could not be read.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// It has more bytes than it may have, counted after decompression.
    TooLong,
    Broken(fetch::Error),
}

/// The whole body, unless it has more than so many bytes.
pub(crate) async fn read(mut response: Response, max_bytes: usize) -> Result<Vec<u8>, BodyError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Broken)? {
        if body.len() + chunk.len() > max_bytes {
            return Err(BodyError::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
