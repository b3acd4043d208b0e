//! Whether a tenant, a user or a key may be used.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// In use, or switched off without being deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// In use.
    #[default]
    Active,
    /// Switched off.
    Disabled,
}

impl Status {
    /// The status as it is written in JSON and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        match text {
            "active" => Ok(Self::Active),
            "disabled" => Ok(Self::Disabled),
            _ => Err(Error::corrupt("the database holds an unknown status")),
        }
    }

    pub(crate) fn enabled(is_enabled: bool) -> Self {
        if is_enabled { Self::Active } else { Self::Disabled }
    }
}
