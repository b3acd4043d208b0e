//! Mail through a real server, Exim.

mod bulk;
mod exim;
mod faults;
mod meddler;
mod once;
mod support;
