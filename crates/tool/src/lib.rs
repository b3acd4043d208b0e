//! The domain: what a tool is, how it is named, called, and fails.

pub mod call;
pub mod caller;
pub mod client;
pub mod connector;
pub mod context;
pub mod definition;
pub mod env;
pub mod error;
pub mod fields;
pub mod id;
pub mod inline;
pub mod inspection;
pub mod library;
pub mod outcome;
pub mod schema;
pub mod secret;
pub mod uri;

pub use call::{Arguments, Call, Extras};
pub use caller::{Limits, Pattern, Role, Scope};
pub use client::{Ability, Client, Manner, Question};
pub use connector::{Connector, Kind, Settings};
pub use context::{Caller, Context, Door, Event, Events, Identity};
pub use definition::{Shape, Tool};
pub use env::Env;
pub use error::{Error, Kind as ErrorKind, Problem, Result};
pub use fields::Fields;
pub use id::{InvalidId, KeyId, TenantId, ToolId, UserId};
pub use inline::{Inline, InlineTool};
pub use inspection::Inspection;
pub use library::{Item, Library, Offer, Reference, Update, Wanted};
pub use outcome::{Content, Outcome, Output, TaskId};
pub use secret::Secret;
pub use uri::Uri;
