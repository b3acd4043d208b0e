//! The program: command line and wiring. The only crate that sees all the others.

pub mod cli;
mod clients;
mod failure;
mod home;
pub mod local;
mod logging;
pub mod mcp_config;
pub mod one_server;
mod pins;
mod self_tools;
pub mod wiring;

pub use failure::Failure;
