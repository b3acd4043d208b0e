//! Agents in a real gateway, over an HTTP API in this process, with models that answer as a script says.

mod approvals;
mod guardrails;
mod handoffs;
mod limits;
mod models;
mod rights;
mod scripted;
mod tools;
mod world;
