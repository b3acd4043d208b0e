//! The only SQL: one file per aggregate, SQLite and PostgreSQL from one text.
//!
//! The tenant is the first argument of every query. The few that serve the whole platform say so.

mod admins;
pub mod audit;
pub mod backup;
pub mod bindings;
pub mod conversations;
mod database;
mod deadline;
pub mod error;
pub mod flows;
pub mod instances;
pub mod keys;
pub mod leases;
pub mod management;
pub mod meta;
mod migrate;
mod occupancy;
pub mod once;
mod owners;
pub mod page;
pub mod password;
mod private_file;
pub mod queues;
pub mod revisions;
mod rotation;
mod row;
pub mod runs;
pub mod search;
pub mod services;
mod sqlite;
pub mod status;
pub mod tables;
pub mod tenants;
pub mod tools;
pub mod users;
mod values;
pub mod vault;
mod watch;

pub use audit::{AuditDetails, AuditRow, Filter, Key as AuditKey, Kind as AuditKind, Tally, Window};
pub use bindings::{Binding, BindingStatus};
pub use database::{Options, Store};
pub use deadline::within;
pub use error::{Error, Kind as ErrorKind, Result};
pub use instances::{Instance, InstanceChanges, NewInstance};
pub use keys::{Key, KeyChanges, KeyHash, NewKey};
pub use leases::{Lease, Leases};
pub use once::OnceResults;
pub use page::{Page, PageRequest};
pub use queues::{DueCall, Later, QUEUE_QUOTA_BYTES, QUEUE_QUOTA_MESSAGES, Queues};
pub use search::{ClaimedIndex, Found, IndexStatus, NewChunk, SearchIndex, Vectors};
pub use services::{Announce, NewService, Service, ServiceChanges, ServiceFilter, ServicePins, ServiceTool};
pub use status::Status;
pub use tables::{
    Documents, Loaded, MAX_DOCUMENT_BYTES, NewTable, TABLE_QUOTA_BYTES, Table, TableChanges, TableFilter,
    TableStep, TableVersion,
};
pub use tenants::{NewTenant, Tenant, TenantChanges};
pub use tools::{NewTool, Tool, ToolChanges, ToolContent, ToolFilter, ToolStatus, ToolVersion};
pub use users::{NewUser, User, UserChanges};
pub use vault::{Rotation, Tokens, Vault};
