//! Queues on real brokers.

#[cfg(feature = "grpc")]
mod brokers_rocketmq;
#[cfg(all(feature = "redis", feature = "rabbitmq"))]
mod crowd;
#[cfg(all(feature = "redis", feature = "rabbitmq"))]
mod groups;
mod ids;
#[cfg(feature = "kafka")]
mod kafka;
#[cfg(feature = "kafka")]
mod kafka_coordinator;
#[cfg(feature = "kafka")]
mod kafka_faults;
#[cfg(feature = "kafka")]
mod kafka_groups;
#[cfg(feature = "kafka")]
mod kafka_scram;
#[cfg(feature = "rabbitmq")]
mod rabbitmq;
#[cfg(feature = "redis")]
mod redis;
mod room;
pub(crate) mod support;
#[cfg(any(feature = "redis", feature = "rabbitmq"))]
mod tls;
#[cfg(any(feature = "kafka", all(feature = "redis", feature = "rabbitmq")))]
mod turns;
