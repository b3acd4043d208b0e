//! Agents in a real gateway, over an HTTP API in this process, with models that answer as a script says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops and says so")]

mod approvals;
mod as_written;
mod beside;
mod dialects;
mod guardrails;
mod handoffs;
mod limits;
mod masks;
mod models;
mod rights;
mod scripted;
mod streams;
mod tools;
mod world;
