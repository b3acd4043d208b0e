//! The client against servers that behave, and servers that do not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod bodies;
mod connections;
mod early;
mod rested;
mod server;
mod tls;
