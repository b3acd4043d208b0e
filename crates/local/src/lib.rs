//! What belongs to one person's machine: mcp.json in every dialect, other clients' files, pins, the home folder.

pub mod clients;
mod failure;
mod home;
mod local;
pub mod mcp_config;
mod one_server;
mod pins;
mod self_tools;

pub use failure::Failure;
pub use home::home;
pub use local::{Local, Setup};
pub use one_server::OneServer;
pub use pins::FilePins;
