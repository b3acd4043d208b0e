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
mod guides;
mod instance_client;
mod instances;
mod isolation;
mod keys;
mod lists;
mod matrix;
mod mcp_http;
mod mcp_json;
mod mcp_json_faults;
mod operations;
mod other_clients;
mod outage;
mod pins;
mod pins_local;
mod pipe;
mod real_peers;
mod replicas;
mod secrets;
mod self_tools;
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
