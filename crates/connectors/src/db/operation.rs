//! What can be done with a table.

use super::catalog::Table;
use crate::shared::doubt::Repetition;
use schemars::JsonSchema;
use serde::Deserialize;

/// One thing that can be done with a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum Operation {
    Take,
    List,
    Page,
    Stream,
    Count,
    Create,
    Modify,
    Save,
    Delete,
    Bulk,
    /// Of the database, not of a table: statements that write.
    Execute,
}

impl Operation {
    /// As it stands in settings and in the names of tools.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Take => "take",
            Self::List => "list",
            Self::Page => "page",
            Self::Stream => "stream",
            Self::Count => "count",
            Self::Create => "create",
            Self::Modify => "modify",
            Self::Save => "save",
            Self::Delete => "delete",
            Self::Bulk => "bulk",
            Self::Execute => "execute",
        }
    }

    pub(super) fn is_reading(self) -> bool {
        self.repetition() == Repetition::Reads
    }

    /// A second time changes nothing more.
    pub(super) fn is_idempotent(self) -> bool {
        self.repetition() != Repetition::Doubles
    }

    /// What a second time does.
    pub(super) fn repetition(self) -> Repetition {
        match self {
            Self::Take | Self::List | Self::Page | Self::Stream | Self::Count => Repetition::Reads,
            Self::Modify | Self::Save | Self::Delete => Repetition::Idempotent,
            Self::Create | Self::Bulk | Self::Execute => Repetition::Doubles,
        }
    }

    /// Whether the table is made for it: some need a key, and views are not written.
    pub(super) fn fits(self, table: &Table) -> bool {
        match self {
            Self::List | Self::Page | Self::Count => true,
            Self::Take | Self::Stream => table.has_key(),
            Self::Create => !table.is_view,
            Self::Modify | Self::Save | Self::Delete | Self::Bulk => table.has_key() && !table.is_view,
            Self::Execute => false,
        }
    }

    /// What it does, for the model that chooses the tool.
    pub(super) fn description(self, table: &Table) -> String {
        let name = &table.name;
        let what = match self {
            Self::Take => format!("Takes one row of {name} by its primary key; null if there is none."),
            Self::List => format!("Lists rows of {name}, filtered and ordered as wanted."),
            Self::Page => format!("Shows one page of rows of {name}, and how many there are."),
            Self::Stream => {
                format!("Goes through the rows of {name} part by part, each from where the last ended.")
            }
            Self::Count => format!("Counts rows of {name}."),
            Self::Create => format!("Adds a row to {name}."),
            Self::Modify => format!("Changes a row of {name} that is there; columns left out stay."),
            Self::Save => format!("Changes a row of {name}, or adds it if it is not there."),
            Self::Delete => format!("Deletes a row of {name} by its primary key."),
            Self::Bulk => format!("Adds, changes and deletes many rows of {name}."),
            Self::Execute => "Runs one statement that writes.".to_owned(),
        };
        match &table.comment {
            Some(comment) => format!("{what} {name}: {comment}"),
            None => what,
        }
    }
}
