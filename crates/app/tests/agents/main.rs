//! Agents at the program's public edge: saved and asked over REST, followed, recorded, traced, and called by MCP clients of
//! both eras.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops and says so")]

mod world;

#[path = "../it/guide_commands.rs"]
mod guide_commands;

mod approvals;
mod ask;
mod clients;
mod conversations;
mod crashes;
mod crowds;
mod faults;
mod guardrails;
mod guide;
mod heard;
mod inside;
mod misbehaving;
mod nodes;
mod outages;
mod questions;
mod real_clients;
mod records;
mod rest;
mod rights;
mod runs;
mod slots;
mod streams;
mod tools;
mod traces;
mod twice;
