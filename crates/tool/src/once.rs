//! The port for what is to happen once, however often it is asked for.

use crate::{Result, TenantId};
use async_trait::async_trait;
use serde_json::value::RawValue;
use std::fmt;

/// The longest key.
pub const MAX_KEY_CHARACTERS: usize = 128;

/// What is known of a key.
#[derive(Debug)]
pub enum KeyState {
    /// Nobody has used it: the work is the caller's, who says how it ended.
    First,
    /// It was used, and this came of it.
    Done(Box<RawValue>),
    /// It was used, and nobody knows what came of it, or it is still going on.
    Unknown,
    /// It was used for other work.
    Other,
}

/// Keeps first results for 24 hours. A scope is what the keys belong to, e.g. one tool of a service.
#[async_trait]
pub trait Once: fmt::Debug + Send + Sync + 'static {
    /// Begins the work under the key, or says that it was begun before. The digest tells work from other work; an empty
    /// one is like every other.
    ///
    /// # Errors
    /// What keeps that from being known: then nothing must be done.
    async fn begin(&self, tenant: &TenantId, scope: &str, key: &str, digest: &str) -> Result<KeyState>;

    /// The work is done, and whoever asks again gets this.
    ///
    /// # Errors
    /// What keeps it from being written; the end is then unknown to whoever asks again.
    async fn finish(&self, tenant: &TenantId, scope: &str, key: &str, result: &RawValue) -> Result<()>;

    /// The work surely did not happen: whoever asks again is the first.
    ///
    /// # Errors
    /// What keeps it from being written.
    async fn forget(&self, tenant: &TenantId, scope: &str, key: &str) -> Result<()>;
}
