//! What goes on in the background of a server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops and says so")]

mod alone;
mod later_calls;
