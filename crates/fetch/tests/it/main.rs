//! The client against servers that behave, and servers that do not.

mod bodies;
mod connections;
mod server;
mod tls;
