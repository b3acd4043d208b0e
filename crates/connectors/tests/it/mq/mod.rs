//! Queues on real brokers.

#[cfg(feature = "grpc")]
mod brokers_rocketmq;
#[cfg(feature = "kafka")]
mod kafka;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
#[cfg(feature = "redis")]
mod redis;
mod room;
pub(crate) mod support;
