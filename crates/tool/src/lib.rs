//! The domain: what a tool is, how it is named, called, and fails.

pub mod ambient;
pub mod call;
pub mod caller;
pub mod connector;
pub mod context;
pub mod definition;
pub mod env;
pub mod error;
pub mod id;
pub mod inline;
pub mod inspection;
pub mod outcome;
pub mod schema;
pub mod search;
pub mod secret;
pub mod tables;
pub mod uri;

pub use ambient::Ambient;
pub use call::{Arguments, Call};
pub use caller::{Limits, Pattern, Role, Scope};
pub use connector::{Connector, Kind, Settings};
pub use context::{Caller, Context, Door, Event, Events, Identity};
pub use definition::{Shape, Tool};
pub use env::Env;
pub use error::{Error, Kind as ErrorKind, Problem, Result};
pub use id::{InstanceId, InvalidId, KeyId, TableId, TenantId, ToolId, UserId};
pub use inline::{Inline, InlineTool};
pub use inspection::Inspection;
pub use outcome::{Content, InputRequest, Outcome, Output, TaskId};
pub use search::{Embeddings, Hit, Search, SearchAnswer, SearchRequest};
pub use secret::Secret;
pub use tables::{Edit, Table, Tables};
pub use uri::Uri;
