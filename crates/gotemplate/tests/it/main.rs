//! Tests of the crate at its public edge.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

mod allocations;
mod corpus;
mod errors;
mod guide;
mod hostile;
mod properties;
mod reference;
mod semantics;
