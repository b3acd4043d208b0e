//! Schedules: cron by the clock of a time zone, over its gaps and doubled hours.

mod cron;
mod due;

pub use cron::{BadCron, Cron};
pub use due::{Instants, due, firing, next};
