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

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
    use hickory_resolver::net::runtime::TokioRuntimeProvider;
    use hickory_resolver::proto::op::{Message, OpCode};
    use hickory_resolver::proto::rr::rdata::SRV;
    use hickory_resolver::proto::rr::{Name, Record};
    use std::net::SocketAddr;
    use std::sync::{Arc, Mutex};
    use tokio::net::UdpSocket;

    type Known = Arc<Mutex<Vec<(u16, u16, u16, &'static str)>>>;

    /// A server that has these records for `_http._tcp.loyalty.test.`, for no longer than they are asked for, and knows no
    /// other name. Once nobody else has the records it answers nobody.
    async fn server(known: &Known) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (address, known) = (socket.local_addr().unwrap(), Arc::downgrade(known));
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            while let Ok((size, from)) = socket.recv_from(&mut buffer).await {
                let Some(known) = known.upgrade() else { return };
                let query = Message::from_vec(&buffer[..size]).unwrap();
                let name = query.queries[0].name().clone();
                let is_known = name.to_utf8() == "_http._tcp.loyalty.test.";
                let mut answer = match is_known {
                    true => Message::response(query.metadata.id, OpCode::Query),
                    false => Message::error_msg(query.metadata.id, OpCode::Query, ResponseCode::NXDomain),
                };
                answer.queries.clone_from(&query.queries);
                let records = known.lock().unwrap().clone();
                for (priority, weight, port, host) in records {
                    let record = SRV::new(priority, weight, port, Name::from_utf8(host).unwrap());
                    if is_known {
                        answer.add_answer(Record::from_rdata(name.clone(), 0, RData::SRV(record)));
                    }
                }
                socket.send_to(&answer.to_vec().unwrap(), from).await.unwrap();
            }
        });
        address
    }

    fn records(name: &str, server: SocketAddr) -> Records {
        let mut connection = ConnectionConfig::udp();
        connection.port = server.port();
        let server = NameServerConfig::new(server.ip(), true, vec![connection]);
        let config = ResolverConfig::from_name_servers(vec![server]);
        let resolver = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()).build();
        Records { resolver: resolver.ok(), ..Records::new(name.to_owned(), Duration::from_millis(10)) }
    }

    /// SV-3: SRV records, with priority and weight.
    #[tokio::test]
    async fn reads_hosts_ports_priorities_and_weights() {
        let known = Known::new(Mutex::new(vec![
            (10, 3, 8080, "b.test."),
            (0, 60, 8081, "a.test."),
            (0, 0, 8082, "c.test."),
        ]));
        let server = server(&known).await;
        let found = records("_http._tcp.loyalty.test.", server).next().await.unwrap();
        let mut found: Vec<_> =
            found.iter().map(|one| (one.priority, one.host.as_str(), one.port, one.weight)).collect();
        found.sort_unstable();
        assert_eq!(found, [(0, "a.test", 8081, 60), (0, "c.test", 8082, 1), (10, "b.test", 8080, 3)]);
        assert_eq!(records("_http._tcp.other.test.", server).next().await.unwrap(), Vec::new());
    }

    /// SV-3, SV-10: what changes there is followed, and a server that is gone has said nothing.
    #[tokio::test]
    async fn follows_what_changes_and_believes_no_silence() {
        let known = Known::new(Mutex::new(vec![(0, 1, 8080, "a.test.")]));
        let mut records = records("_http._tcp.loyalty.test.", server(&known).await);
        let hosts = |found: Vec<Instance>| found.into_iter().map(|one| one.host).collect::<Vec<_>>();
        assert_eq!(hosts(records.next().await.unwrap()), ["a.test"]);
        *known.lock().unwrap() = vec![(0, 1, 8080, "b.test."), (0, 1, 8080, "c.test.")];
        assert_eq!(hosts(records.next().await.unwrap()), ["b.test", "c.test"]);
        known.lock().unwrap().clear();
        assert_eq!(hosts(records.next().await.unwrap()), Vec::<String>::new());
        drop(known);
        let error = records.next().await.unwrap_err();
        assert_eq!(error.kind(), tool::ErrorKind::Unavailable, "{error:?}");
    }
}
