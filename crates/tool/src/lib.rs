//! The domain: what a tool is, how it is named, called, and fails.

pub mod call;
pub mod caller;
pub mod connector;
pub mod context;
pub mod definition;
pub mod env;
pub mod error;
pub mod headers;
pub mod id;
pub mod import;
pub mod inline;
pub mod inspection;
pub mod outcome;
pub mod schema;
pub mod secret;
pub mod uri;

pub use call::{Arguments, Call};
pub use caller::{Limits, Pattern, Role, Scope};
pub use connector::{Connector, Kind, Settings};
pub use context::{Caller, Context, Door, Event, Events, Identity};
pub use definition::{Shape, Tool};
pub use env::Env;
pub use error::{Error, Kind as ErrorKind, Problem, Result};
pub use headers::CallerHeaders;
pub use id::{InvalidId, KeyId, TenantId, ToolId, UserId};
pub use import::{Credential, Import, ImportRequest, ImportSource, Imported, ImportedTool, Skipped};
pub use inline::{Inline, InlineTool};
pub use inspection::Inspection;
pub use outcome::{Content, InputRequest, Outcome, Output, TaskId};
pub use secret::Secret;
pub use uri::Uri;
