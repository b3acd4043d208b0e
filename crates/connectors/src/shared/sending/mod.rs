//! What all services have in common that send messages to people: a pace, a key for what is sent once, several at a time, and
//! a fate for each recipient.

mod batch;
mod fate;
pub(crate) mod once;
mod pace;

pub(crate) use batch::{Carry, carry_all};
pub(crate) use fate::{Fate, Report, Status, is_surely_nothing, result_schema};
pub(crate) use pace::Pace;
