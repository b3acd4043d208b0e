//! Flows at the public edge: runs over REST and as tools, on both databases, through crashes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops and says so")]

mod world;

mod again;
mod bounds;
mod cancels;
mod clients;
mod clocks;
mod crashes;
mod delays;
mod doors;
mod drafts;
mod examples;
mod failures;
mod faults;
mod files;
mod graphs;
#[path = "../../../connectors/tests/it/mq/kafka_coordinator.rs"]
#[expect(dead_code, reason = "tests of connectors look at groups more closely")]
mod kafka_coordinator;
mod limits;
mod mcp;
mod messages;
mod people;
mod refused;
mod results;
mod retries;
mod rights;
mod schedules;
mod steering;
mod streams;
mod tasks;
mod tenants;
mod triggers;
mod webhooks;
mod without_server;
mod zones;
