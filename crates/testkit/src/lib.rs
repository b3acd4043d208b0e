//! What the tests of all crates share: the connector conformance suite and real servers in the process.

pub mod conformance;
pub mod http;
pub mod mcp;
