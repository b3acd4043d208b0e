//! Objects: bytes under a key, and what is known of them; read and written in pieces, as they may be larger than memory.

use crate::{Context, Error, Result};
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::SystemTime;

/// What is known of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its name within its service.
    pub key: String,
    /// How many bytes it has.
    pub size: u64,
    /// What it is, e.g. `application/pdf`.
    pub content_type: Option<String>,
    /// Changes with the content.
    pub etag: Option<String>,
    /// When it was written.
    pub last_modified: Option<SystemTime>,
    /// What whoever wrote it noted about it.
    pub metadata: BTreeMap<String, String>,
}

/// Bytes that come piece by piece.
#[async_trait]
pub trait Chunks: Send {
    /// The next piece, or nothing at the end.
    ///
    /// # Errors
    /// When the rest cannot be had. What came so far is not all.
    async fn next(&mut self) -> Result<Option<Bytes>>;
}

/// The bytes of an object on their way.
pub type Body = Box<dyn Chunks>;

/// Bytes that are there already.
#[derive(Debug)]
pub struct InMemory(Option<Bytes>);

impl InMemory {
    /// A body of one piece.
    #[must_use]
    pub fn body(bytes: impl Into<Bytes>) -> Body {
        Box::new(Self(Some(bytes.into())))
    }
}

#[async_trait]
impl Chunks for InMemory {
    async fn next(&mut self) -> Result<Option<Bytes>> {
        Ok(self.0.take().filter(|bytes| !bytes.is_empty()))
    }
}

/// Which bytes of an object are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// So many from there, or all from there.
    From(u64, Option<u64>),
    /// The last so many.
    Last(u64),
}

impl Part {
    /// All of them.
    pub const WHOLE: Self = Self::From(0, None);

    /// The same as positions in an object of this size, never behind its end.
    #[must_use]
    pub fn within(self, size: u64) -> Range<u64> {
        match self {
            Self::From(start, length) => {
                let start = start.min(size);
                start..length.map_or(size, |length| start.saturating_add(length).min(size))
            }
            Self::Last(length) => size.saturating_sub(length)..size,
        }
    }
}

/// An object that is being read.
pub struct Reading {
    /// What it is.
    pub object: Object,
    /// Which of its bytes come.
    pub range: Range<u64>,
    /// They themselves: all of them, or an error.
    pub body: Body,
}

/// A service that keeps objects.
#[async_trait]
pub trait Objects: Send + Sync {
    /// Begins to read an object.
    ///
    /// # Errors
    /// `Missing` when there is none.
    async fn read(&self, cx: &Context, key: &str, part: Part) -> Result<Reading>;

    /// Writes an object as a whole, or not at all.
    ///
    /// # Errors
    /// When the service does not take it, or `body` breaks.
    async fn write(&self, cx: &Context, key: &str, content_type: Option<&str>, body: Body) -> Result<Object>;
}

/// Reads a body that may not have more than so many bytes.
///
/// # Errors
/// Those of the body, and `InvalidInput` when it has more.
pub async fn read_whole(mut body: Body, most: u64) -> Result<Bytes> {
    let Some(first) = body.next().await? else { return Ok(Bytes::new()) };
    let mut whole = Vec::new();
    let mut next = Some(first);
    while let Some(piece) = next {
        if (whole.len() + piece.len()) as u64 > most {
            return Err(Error::invalid_input(format!("the content has more than {most} bytes")));
        }
        next = body.next().await?;
        // The usual body is one piece, which need not be copied.
        if next.is_none() && whole.is_empty() {
            return Ok(piece);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_never_goes_behind_the_end() {
        for (part, range) in [
            (Part::WHOLE, 0..10),
            (Part::From(3, Some(4)), 3..7),
            (Part::From(3, Some(u64::MAX)), 3..10),
            (Part::From(12, Some(4)), 10..10),
            (Part::Last(4), 6..10),
            (Part::Last(40), 0..10),
        ] {
            assert_eq!(part.within(10), range, "{part:?}");
        }
    }

    #[tokio::test]
    async fn reads_no_more_than_it_may() {
        assert_eq!(read_whole(InMemory::body("hello"), 5).await.unwrap(), "hello");
        assert_eq!(read_whole(InMemory::body(""), 0).await.unwrap(), "");
        let error = read_whole(InMemory::body("hello"), 4).await.unwrap_err();
        assert!(error.message().contains("more than 4 bytes"), "{error}");
    }
}
