//! Tests of the crate at its public edge.

mod allocations;
mod corpus;
mod errors;
mod guide;
mod hostile;
mod properties;
mod reference;
mod semantics;
