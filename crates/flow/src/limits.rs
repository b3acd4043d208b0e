//! How large flows and their runs may be.

/// Nodes of a document.
pub const NODES: usize = 500;
/// Inputs, vars, types or triggers of a document, each.
pub const NAMES: usize = 500;
/// Blocks in one another.
pub const LEVELS: usize = 8;
/// Items of one `each`.
pub const ITEMS: usize = 10_000;
/// Passes of one `loop` at the most, whatever its `max` is.
pub const PASSES: usize = 100_000;
/// Nodes of a run that end.
pub const STEPS: usize = 50_000;
/// Bytes of all values that a run records.
pub const RUN_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of one value.
pub const VALUE_BYTES: usize = 1024 * 1024;
/// Nodes of a run at work at once.
pub const RUNNING: usize = 64;
/// Handoffs of a run.
pub const HANDOFFS: usize = 5;
/// Attempts of one call.
pub const ATTEMPTS: u64 = 100;
