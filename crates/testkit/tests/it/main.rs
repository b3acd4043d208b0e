//! The test kit, tested: a suite that never fails proves nothing.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod conformance;
mod http;
mod registry;
mod tcp_proxy;
mod tidy;
