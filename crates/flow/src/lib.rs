//! Flows: versioned graphs of tool URIs. Documents and their checks, and an engine that runs them over ports
//! for the journal, the calls and the clock.

mod check;
mod cursor;
mod document;
pub mod engine;
mod intake;
pub mod limits;
mod picture;
mod problem;
pub mod schedule;
pub mod settle;
mod source;
mod table_change;
mod versions;
pub mod webhook;

pub use check::{Bound, Lookup, Reference, Tools, Validation, references, validate};
pub use document::words;
pub use document::{
    Block, CatchUp, Concurrency, Data, Declared, Field, Flow, Formula, Key, Origin, Overflow, Overlap,
    ParsedFlow, Source, Trigger, Trouble, WebhookAuth, read,
};
pub use picture::{Picture, PictureEdge, PictureNode, picture};
pub use problem::{Code, Problem, Severity};
pub use source::{MAX_BYTES, Place};
pub use table_change::TableChange;
pub use versions::{Change, VersionText, diff, difference_before, is_same};
