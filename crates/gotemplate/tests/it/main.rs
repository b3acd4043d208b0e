//! Tests of the crate at its public edge.

mod corpus;
