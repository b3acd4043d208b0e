//! Queues on real brokers.

#[cfg(feature = "rabbitmq")]
mod rabbitmq;
#[cfg(feature = "redis")]
mod redis;
pub(crate) mod support;
