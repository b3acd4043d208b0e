//! The program: command line and wiring. The only crate that sees all the others.

pub mod cli;
mod failure;
mod logging;
pub mod wiring;

pub use failure::Failure;
