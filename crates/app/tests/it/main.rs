//! The program at its public edge: REST over HTTP on both databases, and the binary itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops and says so")]

mod setup;

mod audit;
mod bad_input;
mod binary;
mod calls;
mod command_line;
mod config;
mod crash;
mod doors;
mod examples;
mod generated;
mod guides;
mod instance_client;
mod instances;
mod isolation;
mod keys;
mod lists;
mod mcp_http;
mod operations;
mod outage;
mod replicas;
mod search;
mod search_faults;
mod secrets;
mod service_tools;
mod services;
mod sign_in;
mod stdio;
mod table_isolation;
mod table_limits;
mod table_tools;
mod table_writers;
mod tables;
mod tools_http;
mod tools_manage;
mod tools_uri;
mod uris;
