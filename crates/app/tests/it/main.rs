//! The program at its public edge: REST over HTTP on both databases, and the binary itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops and says so")]

mod setup;

mod audit;
mod bad_input;
mod binary;
mod calls;
mod cancels;
mod churn;
mod command_line;
mod config;
mod conformance;
mod crash;
mod doors;
mod examples;
mod faults;
mod generated;
mod isolation;
mod keys;
mod lists;
mod login;
mod matrix;
mod mcp_http;
mod operations;
mod outage;
mod pipe;
mod real_peers;
mod replicas;
mod secrets;
mod service_tools;
mod services;
mod sign_in;
mod stdio;
mod tools_http;
mod tools_manage;
mod tools_uri;
mod uris;
