//! The way to one cluster: one handle and one producer for all calls, opened at the first of them.

use super::failure;
use super::guard::Guard;
use crate::mq::broker::Options;
use crate::shared::network::Policy;
use krafka::admin::{AdminClient, CreateTopicsOptions, DescribeTopicsOptions, NewTopic};
use krafka::auth::AuthConfig;
use krafka::error::ErrorCode;
use krafka::producer::{Acks, Producer, RecordMetadata};
use krafka::{Kafka, KrafkaError, Record};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tool::{Error, Reason, Result};

/// The most bytes of one answer: a hundred large messages, and never all of a hostile one.
pub(super) const MAX_ANSWER_BYTES: usize = 128 * 1024 * 1024;
/// What a message may have beside its bytes: headers, key, framing.
const OVERHEAD_BYTES: usize = 128 * 1024;
/// The longest that one broker is waited for to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A cluster, and what the settings say of it.
pub(super) struct Client {
    servers: String,
    security: AuthConfig,
    pub(super) options: Options,
    shared: tokio::sync::Mutex<Option<Arc<Cluster>>>,
}

/// Connections to a cluster. Kafka reads one request of a connection at a time, so whoever makes it wait needs their own.
pub(super) struct Connections {
    pub(super) kafka: Kafka,
    guard: Option<Guard>,
}

/// A cluster that is connected to.
pub(super) struct Cluster {
    connections: Connections,
    producer: Producer,
    timeout: Duration,
    declares: bool,
    /// Topics that were seen.
    known: Mutex<HashSet<String>>,
}

impl Client {
    pub(super) fn new(servers: String, security: AuthConfig, options: Options) -> Self {
        Self { servers, security, options, shared: Default::default() }
    }

    /// The cluster, connected to anew where that has ended.
    pub(super) async fn cluster(&self) -> Result<Arc<Cluster>> {
        let mut shared = self.shared.lock().await;
        if let Some(cluster) = shared.as_ref().filter(|cluster| !cluster.producer.is_closed()) {
            return Ok(cluster.clone());
        }
        let connect = || async { Ok(Box::pin(self.connect()).await?) };
        let cluster = Arc::new(self.options.budget().run(connect).await?);
        *shared = Some(cluster.clone());
        Ok(cluster)
    }

    /// Forgets a cluster whose producer is of no use any more.
    pub(super) async fn forget(&self, cluster: &Arc<Cluster>) {
        let mut shared = self.shared.lock().await;
        if shared.as_ref().is_some_and(|known| Arc::ptr_eq(known, cluster)) {
            *shared = None;
        }
    }

    async fn connect(&self) -> Result<Cluster> {
        let (options, connections) = (&self.options, self.connections().await?);
        let producer = connections
            .kafka
            .producer()
            // "Sent" means that all replicas in step have it, once: both are said, not left to the library's defaults.
            .acks(Acks::All)
            .idempotent(true)
            .linger(Duration::ZERO)
            .delivery_timeout(options.timeout)
            .max_block(options.timeout)
            .max_request_size(options.max_message_bytes + OVERHEAD_BYTES)
            .metrics_push(false)
            .build();
        let producer = producer.await.map_err(|error| connections.failure(&error, ""))?;
        let (timeout, declares) = (options.timeout, options.declares);
        Ok(Cluster { connections, producer, timeout, declares, known: Mutex::default() })
    }

    /// Connections that nobody else waits for.
    pub(super) async fn connections(&self) -> Result<Connections> {
        let options = &self.options;
        let guard = match &*options.policy {
            Policy::Anywhere => None,
            _ => Some(Guard::start(options.policy.clone()).await?),
        };
        let builder = Kafka::builder(self.servers.as_str())
            .client_id("mcp-all-in-one")
            .security(self.security.clone())
            .request_timeout(options.timeout)
            .connect_timeout(options.timeout.min(CONNECT))
            .allow_auto_create_topics(false)
            .max_response_size(MAX_ANSWER_BYTES);
        let builder = match &guard {
            Some(guard) => builder.proxy(guard.proxy()),
            None => builder,
        };
        let connected = Box::pin(builder.connect()).await;
        let kafka = connected.map_err(|error| failure_of(guard.as_ref(), &error, ""))?;
        Ok(Connections { kafka, guard })
    }
}

/// The error of a call, which is the policy's where that refused a broker.
fn failure_of(guard: Option<&Guard>, error: &KrafkaError, topic: &str) -> Error {
    guard.and_then(Guard::refusal).unwrap_or_else(|| failure::of(error, topic))
}

impl Connections {
    /// Sees whether the brokers that keep the topic may be spoken to. They name each other, and one that the policy refuses
    /// would be tried until the time is over, after which nobody knows what became of a message.
    ///
    /// # Errors
    /// `Denied`, naming the address.
    async fn check_leaders(&self, topic: &str) -> Result<()> {
        let Some(guard) = &self.guard else { return Ok(()) };
        let failed = |error| self.failure(&error, topic);
        let asking = self.kafka.consumer_without_group().metrics_push(false).build().await.map_err(failed)?;
        let found = asking.fetch_metadata(Some(topic)).await;
        // It has nothing to leave behind.
        let _ = asking.close().await;
        let found = found.map_err(failed)?;
        let leaders: HashSet<_> =
            found.topics.iter().flat_map(|topic| topic.partitions_iter().map(|part| part.leader)).collect();
        for broker in found.brokers.iter().filter(|broker| leaders.contains(&broker.id())) {
            if let Some(refused) = guard.refuses(broker.host()).await {
                let why = refused.message();
                let message = format!(
                    "a broker of Kafka's keeps topic '{topic}' where it may not be reached, and nothing was published: {why}"
                );
                return Err(Error::denied(message).because(Reason::AddressRefused));
            }
        }
        Ok(())
    }

    pub(super) fn failure(&self, error: &KrafkaError, topic: &str) -> Error {
        failure_of(self.guard.as_ref(), error, topic)
    }
}

impl Cluster {
    /// Returns when all replicas that are in step have the record.
    pub(super) async fn send(&self, record: Record) -> Result<RecordMetadata, KrafkaError> {
        self.producer.send(record).await
    }

    pub(super) fn kafka(&self) -> &Kafka {
        &self.connections.kafka
    }

    pub(super) fn admin(&self) -> AdminClient {
        self.kafka().admin()
    }

    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(super) fn failure(&self, error: &KrafkaError, topic: &str) -> Error {
        self.connections.failure(error, topic)
    }

    pub(super) fn refusal(&self) -> Option<Error> {
        self.connections.guard.as_ref().and_then(Guard::refusal)
    }

    /// Sees to it that the topic is there: it is made where `declare` says so.
    ///
    /// # Errors
    /// `Missing` where it is not, and must not be made.
    pub(super) async fn ensure(&self, topic: &str) -> Result<()> {
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(topic) {
            return Ok(());
        }
        if !self.has(topic).await? {
            if !self.declares {
                return Err(failure::missing(topic));
            }
            self.make(topic).await?;
            self.connections.check_leaders(topic).await?;
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(topic.to_owned());
        Ok(())
    }

    /// Looks anew before the next message: its brokers may have changed.
    pub(super) fn doubt(&self, topic: &str) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(topic);
    }

    /// Whether the cluster has the topic.
    ///
    /// # Errors
    /// `Denied` where it is kept by a broker that may not be reached.
    pub(super) async fn has(&self, topic: &str) -> Result<bool> {
        let options = DescribeTopicsOptions::default().timeout(self.timeout);
        let described = self.admin().describe_topics([topic], options).await;
        let described = described.map_err(|error| self.failure(&error, topic))?.remove(topic);
        match described {
            Some(Ok(_)) => self.connections.check_leaders(topic).await.map(|()| true),
            None
            | Some(Err(
                KrafkaError::UnknownTopic { .. }
                | KrafkaError::Broker { code: ErrorCode::UnknownTopicOrPartition, .. },
            )) => Ok(false),
            Some(Err(error)) => Err(self.failure(&error, topic)),
        }
    }

    /// Makes a topic as the cluster thinks best; somebody else may have been faster.
    async fn make(&self, topic: &str) -> Result<()> {
        let wanted = NewTopic::new(topic, -1, -1).map_err(|error| self.failure(&error, topic))?;
        let options = CreateTopicsOptions::default().timeout(self.timeout);
        let made = self.admin().create_topics([wanted], options).await;
        match made.map_err(|error| self.failure(&error, topic))?.remove(topic) {
            Some(Err(KrafkaError::Broker { code: ErrorCode::TopicAlreadyExists, .. })) => Ok(()),
            Some(Err(error)) => Err(self.failure(&error, topic)),
            Some(Ok(())) | None => Ok(()),
        }
    }
}
