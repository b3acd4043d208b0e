//! Connectors against real servers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops and says so")]

mod crowd;
mod db;
mod mail;
mod mq;
mod oss;
mod sms;
mod svc;
mod tls;
