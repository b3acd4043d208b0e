//! The program: command line and wiring. The only crate that sees all the others.

pub mod cli;
mod logging;
pub mod memory;
mod pins;
mod telemetry;
pub mod wiring;

pub use local::Failure;
