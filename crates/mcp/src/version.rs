//! The versions of MCP and the two eras they fall into.

use serde::{Deserialize, Serialize};

/// A version of the protocol, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the dates of the versions")]
pub enum Version {
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

/// How a connection begins, and what every message must carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// A handshake, then sessions.
    Legacy,
    /// No handshake: each request says who asks and in which version.
    Modern,
}

impl Version {
    /// Every version we speak, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The versions that begin with a handshake, oldest first.
    pub const LEGACY: [Self; 4] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25];

    /// The newest version with a handshake: the answer to a client that asks for one we do not know.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// The version as it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// How a connection of this version begins.
    #[must_use]
    pub fn era(self) -> Era {
        match self {
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => Era::Legacy,
            Self::V2026_07_28 => Era::Modern,
        }
    }

    /// The version of that name, if it is one with a handshake.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::LEGACY.into_iter().find(|version| version.as_str() == name)
    }

    /// A version of that name is one that we speak.
    #[must_use]
    pub fn is_known(name: &str) -> bool {
        Self::ALL.into_iter().any(|version| version.as_str() == name)
    }

    /// What we answer to a client that asks for `name` in its handshake.
    #[must_use]
    pub fn negotiate(name: &str) -> Self {
        Self::find(name).unwrap_or(Self::LATEST_LEGACY)
    }

    /// Bad arguments are a failed tool result and not a protocol error.
    #[must_use]
    pub fn has_argument_errors_as_results(self) -> bool {
        self >= Self::V2025_11_25
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_an_unknown_version_with_the_latest_of_the_handshake() {
        assert_eq!(Version::negotiate("2025-06-18"), Version::V2025_06_18);
        assert_eq!(Version::negotiate("2026-07-28"), Version::V2025_11_25);
        assert_eq!(Version::negotiate("1.0"), Version::V2025_11_25);
    }
}
