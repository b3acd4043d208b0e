//! Documents as their users see them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops and says so")]

mod compliance;
mod queries;
mod sharing;
