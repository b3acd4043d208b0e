//! RocketMQ's calls (`apache.rocketmq.v2.MessagingService`, service.proto): what is asked, and what is answered.

use super::proto::{Endpoints, FilterExpression, Message, MessageQueue, Resource, Span, Status, Timestamp};
use prost::Oneof;

pub(super) const QUERY_ROUTE: &str = "/apache.rocketmq.v2.MessagingService/QueryRoute";
pub(super) const SEND: &str = "/apache.rocketmq.v2.MessagingService/SendMessage";
pub(super) const RECEIVE: &str = "/apache.rocketmq.v2.MessagingService/ReceiveMessage";
pub(super) const ACKNOWLEDGE: &str = "/apache.rocketmq.v2.MessagingService/AckMessage";
pub(super) const CHANGE_INVISIBLE: &str = "/apache.rocketmq.v2.MessagingService/ChangeInvisibleDuration";
pub(super) const BURY: &str = "/apache.rocketmq.v2.MessagingService/ForwardMessageToDeadLetterQueue";
pub(super) const HEARTBEAT: &str = "/apache.rocketmq.v2.MessagingService/Heartbeat";
pub(super) const TELEMETRY: &str = "/apache.rocketmq.v2.MessagingService/Telemetry";
pub(super) const TERMINATE: &str = "/apache.rocketmq.v2.MessagingService/NotifyClientTermination";

/// An answer, which says whether it is good.
pub(super) trait Reply: prost::Message + Default {
    fn status(&self) -> Option<&Status>;
}

/// Writes [`Reply`] for those that have a status of their own.
macro_rules! replies {
    ($($reply:ty),*) => {
        $(impl Reply for $reply {
            fn status(&self) -> Option<&Status> {
                self.status.as_ref()
            }
        })*
    };
}

replies!(QueryRouteResponse, SendResponse, AcknowledgeResponse, ChangeInvisibleResponse, PlainResponse);

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct QueryRouteRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) topic: Option<Resource>,
    #[prost(message, optional, tag = "2")]
    pub(super) endpoints: Option<Endpoints>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct QueryRouteResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    #[prost(message, repeated, tag = "2")]
    pub(super) message_queues: Vec<MessageQueue>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SendRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) messages: Vec<Message>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SendResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    #[prost(message, repeated, tag = "2")]
    pub(super) entries: Vec<SendResult>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SendResult {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReceiveRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) group: Option<Resource>,
    #[prost(message, optional, tag = "2")]
    pub(super) message_queue: Option<MessageQueue>,
    #[prost(message, optional, tag = "3")]
    pub(super) filter_expression: Option<FilterExpression>,
    #[prost(int32, tag = "4")]
    pub(super) batch_size: i32,
    #[prost(message, optional, tag = "5")]
    pub(super) invisible_duration: Option<Span>,
    #[prost(bool, tag = "6")]
    pub(super) auto_renew: bool,
    #[prost(message, optional, tag = "7")]
    pub(super) long_polling_timeout: Option<Span>,
}

/// One of many; the messages come one by one.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReceiveResponse {
    #[prost(oneof = "Received", tags = "1, 2, 3")]
    pub(super) content: Option<Received>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Received {
    #[prost(message, tag = "1")]
    Status(Status),
    #[prost(message, boxed, tag = "2")]
    Message(Box<Message>),
    #[prost(message, tag = "3")]
    DeliveredAt(Timestamp),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AcknowledgeRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) group: Option<Resource>,
    #[prost(message, optional, tag = "2")]
    pub(super) topic: Option<Resource>,
    #[prost(message, repeated, tag = "3")]
    pub(super) entries: Vec<AcknowledgeEntry>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AcknowledgeEntry {
    #[prost(string, tag = "1")]
    pub(super) message_id: String,
    #[prost(string, tag = "2")]
    pub(super) receipt_handle: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AcknowledgeResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    #[prost(message, repeated, tag = "2")]
    pub(super) entries: Vec<AcknowledgeResult>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AcknowledgeResult {
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<Status>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ChangeInvisibleRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) group: Option<Resource>,
    #[prost(message, optional, tag = "2")]
    pub(super) topic: Option<Resource>,
    #[prost(string, tag = "3")]
    pub(super) receipt_handle: String,
    #[prost(message, optional, tag = "4")]
    pub(super) invisible_duration: Option<Span>,
    #[prost(string, tag = "5")]
    pub(super) message_id: String,
    /// The delivery does not count. Servers before 5.4 count it nevertheless.
    #[prost(bool, optional, tag = "7")]
    pub(super) suspend: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ChangeInvisibleResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    /// From now on the message is known by this.
    #[prost(string, tag = "2")]
    pub(super) receipt_handle: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BuryRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) group: Option<Resource>,
    #[prost(message, optional, tag = "2")]
    pub(super) topic: Option<Resource>,
    #[prost(string, tag = "3")]
    pub(super) receipt_handle: String,
    #[prost(string, tag = "4")]
    pub(super) message_id: String,
    #[prost(int32, tag = "5")]
    pub(super) delivery_attempt: i32,
    #[prost(int32, tag = "6")]
    pub(super) max_delivery_attempts: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HeartbeatRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) group: Option<Resource>,
    #[prost(int32, tag = "2")]
    pub(super) client_type: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TerminateRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) group: Option<Resource>,
}

/// What is answered to dead letters, heartbeats and farewells.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PlainResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
}

/// What goes to and fro on the stream that a client is known by. Commands that are not here are of no use to us.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TelemetryCommand {
    #[prost(message, optional, tag = "1")]
    pub(super) status: Option<Status>,
    #[prost(message, optional, tag = "2")]
    pub(super) settings: Option<Settings>,
}

/// What kind of client somebody is.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Settings {
    #[prost(int32, optional, tag = "1")]
    pub(super) client_type: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub(super) access_point: Option<Endpoints>,
    #[prost(message, optional, tag = "4")]
    pub(super) request_timeout: Option<Span>,
    #[prost(oneof = "Purpose", tags = "5, 6")]
    pub(super) purpose: Option<Purpose>,
    #[prost(message, optional, tag = "7")]
    pub(super) user_agent: Option<UserAgent>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Purpose {
    #[prost(message, tag = "5")]
    Publishing(Publishing),
    #[prost(message, tag = "6")]
    Subscription(Subscription),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Publishing {
    #[prost(message, repeated, tag = "1")]
    pub(super) topics: Vec<Resource>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Subscription {
    #[prost(message, optional, tag = "1")]
    pub(super) group: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) subscriptions: Vec<SubscriptionEntry>,
    #[prost(message, optional, tag = "5")]
    pub(super) long_polling_timeout: Option<Span>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SubscriptionEntry {
    #[prost(message, optional, tag = "1")]
    pub(super) topic: Option<Resource>,
    #[prost(message, optional, tag = "2")]
    pub(super) expression: Option<FilterExpression>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct UserAgent {
    #[prost(int32, tag = "1")]
    pub(super) language: i32,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}
