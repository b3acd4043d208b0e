//! The program at its public edge: REST over HTTP on both databases, and the binary itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops and says so")]

mod setup;

mod api_services;
mod api_sign_in;
mod audit;
mod bad_input;
mod binary;
mod both_doors;
mod calls;
mod command_line;
mod config;
mod crash;
mod doors;
mod examples;
mod generated;
mod isolation;
mod keys;
mod lists;
mod mcp_http;
mod openapi_bodies;
mod openapi_command;
mod openapi_import;
mod openapi_source;
mod operations;
mod outage;
mod replicas;
mod secrets;
mod service_tools;
mod services;
mod sign_in;
mod stdio;
mod tools_any;
mod tools_http;
mod tools_manage;
mod tools_uri;
mod uris;
