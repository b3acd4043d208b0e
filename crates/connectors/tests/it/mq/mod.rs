//! Queues on real brokers.

#[cfg(feature = "grpc")]
mod brokers_rocketmq;
#[cfg(feature = "redis")]
mod groups;
mod ids;
#[cfg(feature = "kafka")]
mod kafka;
#[cfg(feature = "kafka")]
mod kafka_faults;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
#[cfg(feature = "redis")]
mod redis;
mod room;
pub(crate) mod support;
#[cfg(any(feature = "redis", feature = "rabbitmq"))]
mod tls;
