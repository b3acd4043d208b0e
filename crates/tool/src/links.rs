//! The port to links: addresses of this server's own that lead to one object, with one method, until they end.

use crate::{Result, TenantId};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// What a link is for. Nobody can change it without us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Whose object it is.
    #[serde(rename = "t")]
    pub tenant: TenantId,
    /// The type of the service, e.g. `oss`.
    #[serde(rename = "y")]
    pub scheme: String,
    /// The service that keeps it.
    #[serde(rename = "s")]
    pub service: String,
    /// When that service was made: a link leads to no other one that has its name later.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    pub made_at_ms: Option<i64>,
    /// Its name there.
    #[serde(rename = "k")]
    pub key: String,
    /// What may be done with it.
    #[serde(rename = "m")]
    pub method: LinkMethod,
    /// When that ends. Milliseconds since 1970.
    #[serde(rename = "x")]
    pub expires_at_ms: u64,
    /// What it is called where it is saved, or what must be written.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The type it is shown as, or the only one that may be written.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
}

/// What a link lets its holder do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkMethod {
    /// Read.
    #[serde(rename = "GET")]
    Get,
    /// Write.
    #[serde(rename = "PUT")]
    Put,
}

impl LinkMethod {
    /// As HTTP calls it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
        }
    }
}

/// Makes links, and knows its own.
pub trait Links: Send + Sync + Debug {
    /// The address that stands for the link.
    ///
    /// # Errors
    /// When it cannot be sealed.
    fn url(&self, link: &Link) -> Result<String>;

    /// The link behind an address of ours that has not ended.
    fn open(&self, url: &str) -> Option<Link>;
}
