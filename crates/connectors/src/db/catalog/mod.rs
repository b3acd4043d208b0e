//! What a database holds: its tables, their columns and keys, as the tools know them.

mod kind;
mod read;
mod rights;

pub(super) use kind::Kind;
pub(super) use rights::IS_MIGHTY;

use super::client::Client;
use super::selection::Selection;
use super::settings::DbType;
use std::sync::Arc;
use tool::Result;

/// With more tables there are too many tools for anybody to choose from.
pub(super) const MAX_TABLES: usize = 60;

/// The tables that were selected.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Catalog {
    /// By the names their tools begin with, in order.
    pub(super) tables: Vec<Arc<Table>>,
    /// How many there are, where they are too many to have tools.
    pub(super) too_many: Option<usize>,
    /// What the settings name and is not as they say, in words.
    pub(super) amiss: Vec<String>,
    /// The database would let the user do anything.
    pub(super) is_superuser: bool,
}

/// One table or view.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) name: String,
    /// What the names of its tools begin with.
    pub(super) prefix: String,
    pub(super) comment: Option<String>,
    pub(super) is_view: bool,
    /// Without the tenant's, which callers neither see nor set.
    pub(super) columns: Vec<Column>,
    /// Every row belongs to the tenant that this column names.
    pub(super) tenant_column: Option<Column>,
    /// Positions in `columns`.
    pub(super) key: Vec<usize>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// As SQL writes it.
    pub(super) type_name: String,
    pub(super) kind: Kind,
    pub(super) is_nullable: bool,
    /// Rows can be made without it.
    pub(super) has_default: bool,
    /// The database fills it in, and nobody else can.
    pub(super) is_generated: bool,
    pub(super) comment: Option<String>,
}

/// A table as `tables` lists it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: String,
    pub(super) is_view: bool,
    pub(super) comment: Option<String>,
}

impl Catalog {
    /// Why there are not the tools that the settings ask for, if that is so.
    pub(super) fn trouble(&self) -> Option<String> {
        let too_many = self.too_many.map(|count| {
            format!("there are {count} tables, and only up to {MAX_TABLES} have tools of their own; choose some with 'tables'")
        });
        let said: Vec<_> = too_many.into_iter().chain(self.amiss.iter().cloned()).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// The tables that were selected, however many there are.
    ///
    /// # Errors
    /// Why they cannot be read.
    pub(super) async fn list(client: &Client, selection: &Selection) -> Result<Vec<Listed>> {
        read::names(client, selection).await
    }

    /// One of them, with its columns.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) async fn describe(
        client: &Client,
        selection: &Selection,
        name: &str,
    ) -> Result<Option<Table>> {
        read::one(client, selection, name).await
    }

    /// Reads what the database holds now.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) async fn read(client: &Client, selection: &Selection) -> Result<Self> {
        read::catalog(client, selection).await
    }
}

impl Column {
    /// Whether the engine compares values of it in the order in which it sorts them, so that a stream finds its place.
    pub(super) fn is_comparable(&self, db_type: DbType) -> bool {
        let type_name = self.type_name.to_ascii_lowercase();
        match db_type {
            // Enumerations are sorted by number and compared as texts.
            DbType::Mysql => {
                let is_enumeration = type_name.starts_with("enum(") || type_name.starts_with("set(");
                !is_enumeration && !matches!(self.kind, Kind::Json | Kind::Other)
            }
            DbType::Postgresql | DbType::Sqlite => true,
        }
    }

    /// Whether SQLite makes a number of each text that looks like one: all do that were declared as something, and as no
    /// text, bytes or number of another kind.
    pub(super) fn makes_numbers(&self) -> bool {
        self.kind == Kind::Any && !self.type_name.is_empty() && !self.type_name.eq_ignore_ascii_case("any")
    }

    /// JSON that MariaDB keeps as a text, and shows as one.
    pub(super) fn is_json_text(&self) -> bool {
        self.kind == Kind::Json && self.type_name.ends_with("(longtext)")
    }

    /// A number of 32 bits, which only one of 64 bits with the same value equals.
    pub(super) fn is_small_float(&self, db_type: DbType) -> bool {
        db_type == DbType::Mysql
            && self.kind == Kind::Float
            && self.type_name.to_ascii_lowercase().starts_with("float")
    }
}

impl Table {
    /// The column with this name.
    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The columns of the primary key.
    pub(super) fn key_columns(&self) -> impl Iterator<Item = &Column> {
        self.key.iter().filter_map(|index| self.columns.get(*index))
    }

    /// Rows can be told apart, so that one can be taken, changed or deleted.
    pub(super) fn has_key(&self) -> bool {
        !self.key.is_empty()
    }

    /// The columns that somebody may fill in.
    pub(super) fn writable_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.is_generated)
    }
}
