//! What a Tool is, what it was, and what a change of it says.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::{TenantId, ToolId};

/// A Tool: a name over an HTTP request, a URI, or whatever its type says.
#[derive(Clone, PartialEq, Serialize)]
pub struct Tool {
    /// Where the Tool belongs.
    pub tenant: TenantId,
    /// Never changes, whatever the Tool is called.
    pub id: ToolId,
    /// What it is called by, unique in the tenant.
    pub name: String,
    /// Another name, for people.
    pub alias: Option<String>,
    /// What the definition describes, e.g. `http` or `uri`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it can be called.
    pub status: ToolStatus,
    /// The id of the key or user that made it.
    pub owner: String,
    /// Everything else about it, secrets included.
    pub definition: Value,
    /// Milliseconds since 1970.
    pub created_at: i64,
    /// Milliseconds since 1970.
    pub updated_at: i64,
    /// Grows with every change.
    pub version: i64,
}

/// Whether a Tool can be called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// Only to be tried out by those who manage it.
    Testing,
    /// Listed and called.
    #[default]
    Active,
    /// Switched off.
    Inactive,
}

impl ToolStatus {
    /// The status as it is written in JSON and in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Testing => "testing",
            Self::Active => "active",
            Self::Inactive => "inactive",
        }
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        [Self::Testing, Self::Active, Self::Inactive]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| Error::corrupt("the database holds an unknown status of a tool"))
    }
}

/// A Tool to be. The caller has checked the name.
#[derive(Clone)]
pub struct NewTool {
    /// What it is called by.
    pub name: String,
    /// Another name, for people.
    pub alias: Option<String>,
    /// What the definition describes.
    pub kind: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it can be called.
    pub status: ToolStatus,
    /// The id of the key or user that makes it.
    pub owner: String,
    /// Everything else about it.
    pub definition: Value,
}

/// What to change; what is `None` stays.
#[derive(Clone, Default)]
pub struct ToolChanges {
    /// What it is called by.
    pub name: Option<String>,
    /// Another name, for people; `Some(None)` removes it.
    pub alias: Option<Option<String>>,
    /// What it is for; `Some(None)` removes the text.
    pub description: Option<Option<String>>,
    /// Whether it can be called.
    pub status: Option<ToolStatus>,
    /// Everything else about it, as a whole.
    pub definition: Option<Value>,
}

/// Which Tools to list; what is `None` does not matter.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    /// Of this type only.
    pub kind: Option<String>,
    /// In this status only.
    pub status: Option<ToolStatus>,
    /// Of this owner only.
    pub owner: Option<String>,
    /// With this text in name, alias or description, in any case.
    pub text: Option<String>,
}

/// A Tool as it once was.
#[derive(Clone, PartialEq)]
pub struct ToolVersion {
    /// Which version.
    pub version: i64,
    /// What could be rolled back to.
    pub content: ToolContent,
    /// The id of the key or user that made the version.
    pub changed_by: String,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// What a version of a Tool consists of.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolContent {
    /// What it was called by.
    pub name: String,
    /// Another name, for people.
    pub alias: Option<String>,
    /// What it was for.
    pub description: Option<String>,
    /// Everything else, secrets included.
    pub definition: Value,
    /// How it was switched, which no rollback changes. Older versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
}

impl From<ToolContent> for ToolChanges {
    fn from(content: ToolContent) -> Self {
        Self {
            name: Some(content.name),
            alias: Some(content.alias),
            description: Some(content.description),
            status: None,
            definition: Some(content.definition),
        }
    }
}

impl Tool {
    pub(super) fn apply(&mut self, changes: ToolChanges) {
        let ToolChanges { name, alias, description, status, definition } = changes;
        self.name = name.unwrap_or_else(|| std::mem::take(&mut self.name));
        self.alias = alias.unwrap_or_else(|| self.alias.take());
        self.description = description.unwrap_or_else(|| self.description.take());
        self.status = status.unwrap_or(self.status);
        self.definition = definition.unwrap_or_else(|| self.definition.take());
    }
}
