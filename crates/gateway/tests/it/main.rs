//! The pipeline seen from outside: what a call meets between a door and a connector.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod audit;
mod calls;
mod catalog;
mod inside;
mod left_out;
mod policy;
mod support;
mod templates;
mod tool_search;
mod tools;
