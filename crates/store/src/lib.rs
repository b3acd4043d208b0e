//! The only SQL: one file per aggregate, SQLite and PostgreSQL from one text.
//!
//! The tenant is the first argument of every query. The few that serve the whole platform say so.

pub mod audit;
pub mod bindings;
mod database;
mod deadline;
pub mod documents;
pub mod error;
pub mod instances;
pub mod keys;
pub mod meta;
mod migrate;
pub mod page;
pub mod password;
mod private_file;
pub mod revisions;
mod rotation;
mod row;
pub mod search;
mod search_find;
mod search_write;
mod service_read;
mod service_row;
mod service_tools;
pub mod services;
mod sqlite;
pub mod status;
mod table_log;
pub mod tables;
pub mod tenants;
mod tool_read;
mod tool_row;
pub mod tools;
pub mod users;
pub mod vault;
mod watch;

pub use audit::{AuditRow, Filter};
pub use bindings::{Binding, BindingStatus};
pub use database::{Options, Store};
pub use deadline::within;
pub use documents::{Documents, Loaded};
pub use error::{Error, Kind as ErrorKind, Result};
pub use instances::{Instance, InstanceChanges, NewInstance};
pub use keys::{Key, KeyChanges, KeyHash, NewKey};
pub use page::{Page, PageRequest};
pub use search::{IndexStatus, SearchIndex};
pub use search_find::{Found, Vectors};
pub use search_write::{Lease, NewChunk};
pub use services::{NewService, Service, ServiceChanges, ServiceFilter, ServiceTool};
pub use status::Status;
pub use table_log::TableVersion;
pub use tables::{MAX_DOCUMENT_BYTES, NewTable, Table, TableChanges, TableFilter};
pub use tenants::{NewTenant, Tenant, TenantChanges};
pub use tools::{NewTool, Tool, ToolChanges, ToolContent, ToolFilter, ToolStatus, ToolVersion};
pub use users::{NewUser, User, UserChanges};
pub use vault::{Rotation, Vault};
