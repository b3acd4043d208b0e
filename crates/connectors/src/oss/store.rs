//! What every provider of objects must be able to do; keys are whole here, with the service's prefix.

use super::cursor::{Cursor, unknown};
use super::key::Key;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use tool::objects::{Body, Part, Reading};
use tool::{Context, LinkMethod, Object, Result};

/// A place that keeps objects.
#[async_trait]
pub(super) trait Store: Send + Sync {
    /// Writes an object as a whole, or leaves what was there.
    async fn save(&self, cx: &Context, key: &Key, body: Body, options: SaveOptions) -> Result<Object>;

    async fn load(&self, cx: &Context, key: &Key, part: Part) -> Result<Reading>;

    async fn stat(&self, cx: &Context, key: &Key) -> Result<Object>;

    /// Objects by key, in the order of bytes, where the store has no order of its own.
    async fn list(&self, cx: &Context, request: ListRequest) -> Result<Listing>;

    /// Succeeds also where there was none.
    async fn delete(&self, cx: &Context, key: &Key) -> Result<()>;

    async fn copy(&self, cx: &Context, from: &Key, to: &Key) -> Result<Object>;

    async fn presign(&self, cx: &Context, request: PresignRequest<'_>) -> Result<Presigned>;

    /// Where an object is for those who may read the store without us; nowhere where nobody may.
    fn address(&self, key: &Key) -> Option<String>;

    /// It is reached over a network, whose failures may pass: they are repeated, and counted against it.
    fn is_remote(&self) -> bool;
}

/// How an object is written.
#[derive(Debug, Clone, Default)]
pub(super) struct SaveOptions {
    pub(super) content_type: Option<String>,
    pub(super) metadata: BTreeMap<String, String>,
    /// Not over another.
    pub(super) if_not_exists: bool,
}

/// What is to be listed.
#[derive(Debug, Clone)]
pub(super) struct ListRequest {
    pub(super) prefix: String,
    /// Only what comes behind it.
    pub(super) after: Option<Cursor>,
    pub(super) limit: usize,
    /// What has this behind the prefix is joined up to it.
    pub(super) delimiter: Option<String>,
}

impl ListRequest {
    /// The key that the page before has ended with.
    ///
    /// # Errors
    /// `InvalidInput` where it has ended with a mark, which not every list has.
    pub(super) fn after_key(&self) -> Result<Option<&str>> {
        match &self.after {
            Some(Cursor::Key(key)) => Ok(Some(key)),
            Some(Cursor::Mark(_)) => Err(unknown()),
            None => Ok(None),
        }
    }

    /// Joined as folders are.
    pub(super) fn is_by_folder(&self) -> bool {
        self.delimiter.as_deref() == Some("/")
    }

    /// What a key is joined to, where it is.
    pub(super) fn group<'k>(&self, key: &'k str) -> Option<&'k str> {
        let delimiter = self.delimiter.as_deref()?;
        let at = key.strip_prefix(&self.prefix)?.find(delimiter)?;
        key.get(..self.prefix.len() + at + delimiter.len())
    }

    /// The page before has ended with the key, or with what it is joined to.
    pub(super) fn is_end(&self, key: &str, after: &str) -> bool {
        key == after || self.group(key) == Some(after)
    }
}

/// A page of objects.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) objects: Vec<Object>,
    pub(super) prefixes: Vec<String>,
    /// There are more behind the last.
    pub(super) is_truncated: bool,
    /// Where it ended as the store has it, where that is not the last in the order of bytes.
    pub(super) end: Option<Cursor>,
}

impl Listing {
    pub(super) fn len(&self) -> usize {
        self.objects.len() + self.prefixes.len()
    }

    /// From where the next page goes on, if there is one.
    pub(super) fn cursor(&self) -> Option<Cursor> {
        if !self.is_truncated || self.end.is_some() {
            return self.end.clone().filter(|_| self.is_truncated);
        }
        let (object, prefix) = (self.objects.last().map(|object| &object.key), self.prefixes.last());
        object.max(prefix).cloned().map(Cursor::Key)
    }
}

/// A link that is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct PresignRequest<'a> {
    pub(super) key: &'a Key,
    pub(super) method: LinkMethod,
    pub(super) expires: Duration,
    pub(super) content_type: Option<&'a str>,
    pub(super) filename: Option<&'a str>,
}

/// A link for others.
#[derive(Debug)]
pub(super) struct Presigned {
    pub(super) url: String,
    /// What must be sent along.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) expires_at: SystemTime,
}
