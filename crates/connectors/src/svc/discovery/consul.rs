//! Consul: instances that pass their checks, by blocking queries.

use super::web::{ANSWER_TIME, Pace, Readable, Web};
use super::{Instance, Watch};
use async_trait::async_trait;
use fetch::Response;
use fetch::http::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use std::time::Duration;
use tool::Result;

pub(super) const TOKEN: HeaderName = HeaderName::from_static("x-consul-token");
const INDEX: HeaderName = HeaderName::from_static("x-consul-index");

/// One service in Consul.
#[derive(Debug)]
pub(super) struct Consul {
    web: Web,
    service: String,
    /// The parts of the query that never change.
    query: Vec<(&'static str, String)>,
    headers: HeaderMap,
    /// How long a query may block.
    wait: Duration,
    /// What the registry counted when it last answered; 0 asks without blocking.
    index: u64,
    pause: Duration,
    pace: Pace,
}

impl Consul {
    pub(super) fn new(
        web: Web,
        service: String,
        selection: [(&'static str, Option<String>); 2],
        token: Option<(HeaderName, HeaderValue)>,
        wait: Duration,
    ) -> Self {
        let selection = selection.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let query = [("passing", "true".to_owned())].into_iter().chain(selection).collect();
        let headers = token.into_iter().collect();
        Self { web, service, query, headers, wait, index: 0, pause: Duration::ZERO, pace: Pace::default() }
    }

    async fn ask(&mut self) -> Result<Vec<Instance>> {
        self.pace.keep(self.pause).await;
        let wait = format!("{}ms", self.wait.as_millis());
        let index = self.index.to_string();
        let mut query: Vec<_> = self.query.iter().map(|(name, value)| (*name, value.as_str())).collect();
        if self.index > 0 {
            query.extend([("index", index.as_str()), ("wait", &wait)]);
        }
        let url = self.web.url(&["v1", "health", "service", &self.service], &query);
        // Consul waits up to a sixteenth longer, so that not all come back at once.
        let time = if self.index > 0 { self.wait + self.wait / 16 + ANSWER_TIME } else { ANSWER_TIME };
        let response = self.web.get(url, self.headers.clone(), time).await?;
        let index = index_of(&response);
        let Readable(entries) = self.web.read::<Readable<Entry>>(response).await?;
        // A count that goes back is that of another registry, e.g. one that was restored.
        self.index = if index < self.index { 0 } else { index };
        // One that does not count cannot be waited for, so that it is asked from time to time.
        self.pause = if index == 0 { self.wait } else { Duration::ZERO };
        Ok(entries.into_iter().filter_map(Entry::into_instance).collect())
    }
}

#[async_trait]
impl Watch for Consul {
    async fn next(&mut self) -> Result<Vec<Instance>> {
        let asked = self.ask().await;
        if asked.is_err() {
            self.index = 0;
            self.pace.forget();
        }
        asked
    }
}

fn index_of(response: &Response) -> u64 {
    let header = response.headers().get(INDEX).and_then(|value| value.to_str().ok());
    header.and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(default)]
    node: Option<Node>,
    service: Service,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Node {
    #[serde(default)]
    address: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Service {
    #[serde(default)]
    address: String,
    port: u16,
    #[serde(default)]
    weights: Option<Weights>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Weights {
    #[serde(default)]
    passing: Option<u64>,
}

impl Entry {
    /// A service without an address is at that of its node.
    fn into_instance(self) -> Option<Instance> {
        let own = Some(self.service.address).filter(|address| !address.is_empty());
        let host = own.or_else(|| self.node.map(|node| node.address))?;
        let weight = self.service.weights.and_then(|weights| weights.passing).unwrap_or(1);
        // None is too large; the heaviest that we know is.
        Some(Instance::new(host, self.service.port).weighing(u32::try_from(weight).unwrap_or(u32::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_weight_is_too_large_to_be_called() {
        let entry = r#"{"Service":{"Address":"10.0.0.1","Port":80,"Weights":{"Passing":99999999999}}}"#;
        let instance = serde_json::from_str::<Entry>(entry).unwrap().into_instance().unwrap();
        assert_eq!(instance.weight, Instance::new("x", 1).weighing(u32::MAX).weight);
    }
}
