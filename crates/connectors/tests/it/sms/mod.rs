//! Short messages through a gateway that checks them with the vendors' SDKs.

mod faults;
mod support;
mod vendors;
