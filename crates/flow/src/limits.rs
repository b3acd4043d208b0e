//! How large flows and their runs may be.

/// Nodes of a document.
pub const NODES: usize = 500;
/// Inputs, vars, types or triggers of a document, each.
pub const NAMES: usize = 500;
/// Blocks in one another.
pub const LEVELS: usize = 8;
/// Lists, maps and `?` of a type in one another, as `int[][]?` has three.
pub const TYPE_LEVELS: usize = 16;
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
/// Lists and objects of a value in one another.
pub const VALUE_LEVELS: usize = expression::VALUE_LEVELS;
/// Nodes of a run at work at once.
pub const RUNNING: usize = 64;
/// Handoffs of a run.
pub const HANDOFFS: usize = 5;
/// Attempts of one call.
pub const ATTEMPTS: u64 = 100;

/// All of them, for the reference: what is counted, and how much there may be.
pub const ALL: [(&str, u64); 16] = [
    ("bytes of a document", crate::MAX_BYTES as u64),
    ("nodes of a document", NODES as u64),
    ("inputs, vars, types or triggers, each", NAMES as u64),
    ("blocks in one another", LEVELS as u64),
    ("`[]`, `?` and `map<>` of a type in one another", TYPE_LEVELS as u64),
    ("items of one `each`", ITEMS as u64),
    ("passes of one loop", PASSES as u64),
    ("attempts of one call", ATTEMPTS),
    ("nodes of a run that end", STEPS as u64),
    ("nodes of a run at work at once", RUNNING as u64),
    ("handoffs of a run", HANDOFFS as u64),
    ("bytes of one value", VALUE_BYTES as u64),
    ("lists and objects of one value in one another", VALUE_LEVELS as u64),
    ("bytes of all values of a run", RUN_BYTES as u64),
    ("characters of an expression", expression::MAX_LENGTH as u64),
    ("levels of an expression", expression::MAX_DEPTH as u64),
];
