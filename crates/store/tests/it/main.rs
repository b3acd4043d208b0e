//! The store, proven on both databases with the same tests.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on stops and says so")]

#[macro_use]
mod backend;

mod audit;
mod audit_blocks;
mod backup;
mod concurrency;
mod crash;
mod faults;
mod flows;
mod isolation;
mod keys;
mod leases;
mod migrations;
mod once;
mod queues;
mod rotation;
mod run_doors;
mod run_slots;
mod run_writer;
mod runs;
mod search;
mod service_pins;
mod services;
mod tables;
mod tenants;
mod tools;
mod users;
mod vault;
mod watch;
