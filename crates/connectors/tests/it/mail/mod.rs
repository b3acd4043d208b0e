//! Mail through a real server, Exim, and servers that break.

mod bulk;
mod confused;
mod exim;
mod faults;
mod meddler;
mod once;
mod support;
