//! How a door tells of its tools: all of them, or two that find and call the rest.

use crate::{Error, Pattern, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Names and patterns that may be told beside the two.
const MAX_PINNED: usize = 100;
const MAX_PATTERN_BYTES: usize = 256;

/// When tools are found instead of told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchMode {
    /// All tools are told.
    #[default]
    Off,
    /// Tools are found.
    On,
    /// Tools are found by callers who would be told of many.
    Auto,
}

impl SearchMode {
    /// The mode as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Auto => "auto",
        }
    }
}

impl FromStr for SearchMode {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let all = [Self::Off, Self::On, Self::Auto];
        let found = all.into_iter().find(|mode| mode.as_str() == text);
        found.ok_or_else(|| "it is 'off', 'on' or 'auto'".to_owned())
    }
}

/// How a door tells of its tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolSearch {
    /// When tools are found instead of told.
    pub mode: SearchMode,
    /// Tools that are told all the same, by name; `*` stands for any run of characters.
    #[serde(default)]
    pub pinned: Vec<Pattern>,
}

impl ToolSearch {
    /// Refuses what no tool could ever be told by.
    ///
    /// # Errors
    /// `InvalidInput`, naming the field.
    pub fn check(&self) -> Result<()> {
        let field = "tool_search.pinned";
        let wrong = |message: String| Err(Error::invalid_input(message).of_parameter(field));
        if self.pinned.len() > MAX_PINNED {
            return wrong(format!("'{field}' holds at most {MAX_PINNED} names; use patterns like 'Time__*'"));
        }
        for pattern in &self.pinned {
            if pattern.0.len() > MAX_PATTERN_BYTES {
                return wrong(format!("a name in '{field}' has at most {MAX_PATTERN_BYTES} bytes"));
            }
            if let Some(why) = pattern.never_matches() {
                return wrong(format!(
                    "'{field}' has '{}', which no tool can have: {why}",
                    pattern.0.escape_debug()
                ));
            }
        }
        Ok(())
    }

    /// The tool is told all the same.
    #[must_use]
    pub fn has_pinned(&self, name: &str) -> bool {
        self.pinned.iter().any(|pattern| pattern.matches(name))
    }
}
