//! Words of texts, and tools found by them: what table search and tool search share, and the ranking of tools.
//!
//! [`Index`] ranks descriptions of tools, whoever keeps them; [`find::VisibleTools`] answers `find_tools` over what one caller
//! may see; [`Toolbox`] is both over a list, for whoever has one and nobody to keep it from.

mod call;
mod define;
mod describe;
pub mod find;
mod fuse;
mod index;
mod meanings;
mod terms;
mod toolbox;
pub mod words;

pub use call::{ThroughCallTool, meant_by_call_tool, named_by_call_tool};
pub use define::{CALL_TOOL, FIND_TOOLS, call_tool, find_tools, is_reserved};
pub use describe::Description;
pub use find::{Find, Listed, VisibleTools};
pub use fuse::fuse;
pub use index::{Hit, Index};
pub use toolbox::Toolbox;
