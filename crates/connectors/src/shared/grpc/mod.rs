//! gRPC over connections of our own: frames, and how calls end. What the messages are is their users' matter.

pub(crate) mod connection;
pub(crate) mod exchange;
pub(crate) mod failure;
pub(crate) mod frame;
pub(crate) mod status;
#[cfg(test)]
pub(crate) mod test_server;
