//! A body that ends with an error where it has more bytes than it may have.

use async_trait::async_trait;
use bytes::Bytes;
use tool::objects::{Body, Chunks};
use tool::{Error, Result};

pub(super) struct Limited {
    body: Body,
    most: u64,
    left: u64,
}

impl Limited {
    pub(super) fn body(body: Body, most: u64) -> Body {
        Box::new(Self { body, most, left: most })
    }
}

/// The error of an object that is too large.
pub(super) fn too_large(most: u64) -> Error {
    let message = format!("the object has more than {most} bytes, the limit (max_object_bytes)");
    Error::invalid_input(message).of_parameter("content")
}

#[async_trait]
impl Chunks for Limited {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        let Some(piece) = self.body.next().await? else { return Ok(None) };
        match self.left.checked_sub(piece.len() as u64) {
            Some(left) => self.left = left,
            None => return Err(too_large(self.most)),
        }
        Ok(Some(piece))
    }
}
