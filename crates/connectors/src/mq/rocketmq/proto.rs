//! RocketMQ's messages (`apache.rocketmq.v2`, definition.proto), as far as we send or read them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `MessageType`.
pub(super) const NORMAL: i32 = 1;
pub(super) const FIFO: i32 = 2;
pub(super) const DELAY: i32 = 3;
/// `Permission`: of queues that can be read, and of those that can be written.
pub(super) const READABLE: [i32; 2] = [2, 4];
pub(super) const WRITABLE: [i32; 2] = [3, 4];
/// `ClientType`.
pub(super) const PRODUCER: i32 = 1;
pub(super) const SIMPLE_CONSUMER: i32 = 3;
/// `Encoding`.
pub(super) const IDENTITY: i32 = 1;
pub(super) const GZIP: i32 = 2;
/// `FilterType`.
pub(super) const TAG: i32 = 1;
/// `Language`.
pub(super) const RUST: i32 = 5;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(super) nanos: i32,
}

/// A `google.protobuf.Duration`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Span {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(super) nanos: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Status {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Resource {
    #[prost(string, tag = "1")]
    pub(super) namespace: String,
    #[prost(string, tag = "2")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Address {
    #[prost(string, tag = "1")]
    pub(super) host: String,
    #[prost(int32, tag = "2")]
    pub(super) port: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Endpoints {
    #[prost(int32, tag = "1")]
    pub(super) scheme: i32,
    #[prost(message, repeated, tag = "2")]
    pub(super) addresses: Vec<Address>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Broker {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    /// 0 is the one that messages are written to.
    #[prost(int32, tag = "2")]
    pub(super) id: i32,
    #[prost(message, optional, tag = "3")]
    pub(super) endpoints: Option<Endpoints>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct MessageQueue {
    #[prost(message, optional, tag = "1")]
    pub(super) topic: Option<Resource>,
    #[prost(int32, tag = "2")]
    pub(super) id: i32,
    #[prost(int32, tag = "3")]
    pub(super) permission: i32,
    #[prost(message, optional, tag = "4")]
    pub(super) broker: Option<Broker>,
    #[prost(int32, repeated, tag = "5")]
    pub(super) accept_message_types: Vec<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FilterExpression {
    #[prost(int32, tag = "1")]
    pub(super) filter_type: i32,
    #[prost(string, tag = "2")]
    pub(super) expression: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SystemProperties {
    #[prost(string, optional, tag = "1")]
    pub(super) tag: Option<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) keys: Vec<String>,
    #[prost(string, tag = "3")]
    pub(super) message_id: String,
    #[prost(int32, tag = "5")]
    pub(super) body_encoding: i32,
    #[prost(int32, tag = "6")]
    pub(super) message_type: i32,
    #[prost(message, optional, tag = "7")]
    pub(super) born_timestamp: Option<Timestamp>,
    #[prost(string, tag = "8")]
    pub(super) born_host: String,
    #[prost(message, optional, tag = "11")]
    pub(super) delivery_timestamp: Option<Timestamp>,
    #[prost(string, optional, tag = "12")]
    pub(super) receipt_handle: Option<String>,
    #[prost(int32, optional, tag = "13")]
    pub(super) queue_id: Option<i32>,
    #[prost(int64, optional, tag = "14")]
    pub(super) queue_offset: Option<i64>,
    #[prost(int32, optional, tag = "16")]
    pub(super) delivery_attempt: Option<i32>,
    #[prost(string, optional, tag = "17")]
    pub(super) message_group: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Message {
    #[prost(message, optional, tag = "1")]
    pub(super) topic: Option<Resource>,
    #[prost(btree_map = "string, string", tag = "2")]
    pub(super) user_properties: BTreeMap<String, String>,
    #[prost(message, optional, tag = "3")]
    pub(super) system_properties: Option<SystemProperties>,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) body: Vec<u8>,
}

impl Resource {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(Self { namespace: String::new(), name: name.to_owned() })
    }
}

impl FilterExpression {
    /// What lets every message through.
    pub(super) fn everything() -> Option<Self> {
        Some(Self { filter_type: TAG, expression: "*".to_owned() })
    }
}

impl Timestamp {
    pub(super) fn at(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { seconds: whole_seconds(since), nanos: nanos(since) }
    }

    /// In milliseconds since 1970, if it is a time at all.
    pub(super) fn to_milliseconds(&self) -> Option<i64> {
        self.seconds.checked_mul(1000)?.checked_add(i64::from(self.nanos) / 1_000_000)
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self { seconds: whole_seconds(duration), nanos: nanos(duration) }
    }
}

fn whole_seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

fn nanos(duration: Duration) -> i32 {
    i32::try_from(duration.subsec_nanos()).unwrap_or(0)
}
