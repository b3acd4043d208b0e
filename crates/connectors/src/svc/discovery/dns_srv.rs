//! SRV records of DNS: hosts and ports with their priorities and weights.

use super::web::Pace;
use super::{Instance, Watch};
use async_trait::async_trait;
use hickory_resolver::TokioResolver;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{RData, RecordType};
use std::time::Duration;
use tool::{Error, Result};

/// The records of one name.
pub(super) struct Records {
    name: String,
    refresh: Duration,
    pace: Pace,
    /// Made when it is first needed: it reads which servers this machine asks.
    resolver: Option<TokioResolver>,
}

impl Records {
    pub(super) fn new(name: String, refresh: Duration) -> Self {
        Self { name, refresh, pace: Pace::default(), resolver: None }
    }

    async fn ask(&mut self) -> Result<Vec<Instance>> {
        let resolver = match &self.resolver {
            Some(resolver) => resolver,
            None => self.resolver.insert(system_resolver()?),
        };
        let found = match resolver.lookup(self.name.as_str(), RecordType::SRV).await {
            Ok(found) => found,
            Err(NetError::Dns(DnsError::NoRecordsFound(none))) if is_none(none.response_code) => {
                return Ok(Vec::new());
            }
            Err(error) => {
                let message = format!("the SRV records of '{}' cannot be read", self.name);
                return Err(Error::unavailable(message).caused_by(error).retryable());
            }
        };
        let records = found.answers().iter().filter_map(|record| match &record.data {
            RData::SRV(record) => Some(record),
            _ => None,
        });
        let instances = records.map(|record| {
            let host = record.target.to_utf8().trim_end_matches('.').to_owned();
            let instance = Instance::new(host, record.port).weighing(record.weight.into());
            Instance { priority: record.priority, ..instance }
        });
        let mut instances: Vec<_> = instances.collect();
        // Servers change the order each time; whose turn it is must not.
        instances.sort_unstable();
        Ok(instances)
    }
}

/// The server says that there is nothing, and not that it does not know.
fn is_none(code: ResponseCode) -> bool {
    matches!(code, ResponseCode::NoError | ResponseCode::NXDomain)
}

fn system_resolver() -> Result<TokioResolver> {
    let built = TokioResolver::builder_tokio().and_then(|builder| builder.build());
    built.map_err(|error| Error::unavailable("this machine names no DNS server").caused_by(error))
}

impl std::fmt::Debug for Records {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl Watch for Records {
    async fn next(&mut self) -> Result<Vec<Instance>> {
        self.pace.keep(self.refresh).await;
        let asked = self.ask().await;
        if asked.is_err() {
            self.pace.forget();
        }
        asked
    }
}
