//! Kubernetes: the ready endpoints of a service, by listing its EndpointSlices and watching them.

mod account;
mod slice;

pub(super) use account::Account;
pub(super) use slice::Port;

use super::web::{ANSWER_TIME, MAX_ANSWER_BYTES, Pace, Web};
use super::{Instance, Watch};
use async_trait::async_trait;
use fetch::{Response, Url};
use serde::Deserialize;
use slice::{Slice, Slices};
use std::time::Duration;
use tool::{Error, Result};

/// How many slices one page of a list has.
const PAGE: &str = "100";
/// How long one watch lasts before the next begins where it ended.
const SHORTEST_WATCH: Duration = Duration::from_secs(30);
const LONGEST_WATCH: Duration = Duration::from_secs(300);

/// One service in a cluster.
#[derive(Debug)]
pub(super) struct Kubernetes {
    account: Account,
    namespace: String,
    service: String,
    port: Option<Port>,
    watch_time: Duration,
    pace: Pace,
    state: State,
    /// The last question failed: the next answer is news, whatever it says.
    has_failed: bool,
}

/// Where we are: nothing known, or so much known and the events behind it to come.
#[derive(Debug, Default)]
struct State {
    known: Option<Slices>,
    events: Option<Events>,
}

/// Events that are being read.
#[derive(Debug)]
struct Events {
    response: Response,
    buffer: Vec<u8>,
}

#[derive(Debug, Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(default)]
    items: Vec<Slice>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMetadata {
    resource_version: String,
    #[serde(rename = "continue")]
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    object: serde_json::Value,
}

/// What an event came to.
enum Step {
    /// The instances are others now, perhaps.
    Changed,
    Nothing,
    /// What we know is too old to be told what happened since.
    Outdated,
}

impl Kubernetes {
    pub(super) fn new(
        account: Account,
        namespace: String,
        service: String,
        port: Option<Port>,
        refresh: Duration,
    ) -> Self {
        let watch_time = (refresh * 6).clamp(SHORTEST_WATCH, LONGEST_WATCH);
        let (pace, state) = (Pace::default(), State::default());
        Self { account, namespace, service, port, watch_time, pace, state, has_failed: false }
    }

    async fn news(&mut self) -> Result<Vec<Instance>> {
        loop {
            let Some(known) = &self.state.known else {
                self.pace.keep(Duration::ZERO).await;
                let known = self.list().await?;
                let instances = known.instances(self.port.as_ref());
                self.state = State { known: Some(known), events: None };
                return instances;
            };
            if self.state.events.is_none() {
                let version = known.version.clone();
                self.pace.keep(Duration::ZERO).await;
                let Some(events) = self.watch(&version).await? else {
                    self.state = State::default();
                    continue;
                };
                self.state.events = Some(events);
                if self.has_failed {
                    return self.instances();
                }
            }
            match self.step().await? {
                Step::Changed => return self.instances(),
                Step::Nothing => {}
                Step::Outdated => self.state = State::default(),
            }
        }
    }

    fn instances(&self) -> Result<Vec<Instance>> {
        self.state.known.as_ref().map_or(Ok(Vec::new()), |known| known.instances(self.port.as_ref()))
    }

    fn url(&self, web: &Web, more: &[(&str, &str)]) -> Url {
        let label = format!("kubernetes.io/service-name={}", self.service);
        let mut query = vec![("labelSelector", label.as_str())];
        query.extend(more);
        let path = ["apis", "discovery.k8s.io", "v1", "namespaces", &self.namespace, "endpointslices"];
        web.url(&path, &query)
    }

    /// All slices of the service, page by page.
    async fn list(&mut self) -> Result<Slices> {
        let (web, headers) = self.account.enter().await?;
        let mut slices = Slices::default();
        let mut next = String::new();
        loop {
            let url = self.url(&web, &[("limit", PAGE), ("continue", &next)]);
            let response = web.get(url, headers.clone(), ANSWER_TIME).await?;
            let list: List = web.read(response).await?;
            slices.version = list.metadata.resource_version;
            for slice in list.items {
                slices.put(slice)?;
            }
            next = list.metadata.next.unwrap_or_default();
            if next.is_empty() {
                return Ok(slices);
            }
        }
    }

    /// Begins to watch behind `version`, unless that is too old.
    async fn watch(&mut self, version: &str) -> Result<Option<Events>> {
        let (web, headers) = self.account.enter().await?;
        let seconds = self.watch_time.as_secs().to_string();
        let query = [
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
            ("timeoutSeconds", &seconds),
        ];
        let response = web.get(self.url(&web, &query), headers, ANSWER_TIME).await?;
        if response.status().as_u16() == 410 {
            return Ok(None);
        }
        web.check(response.status())?;
        Ok(Some(Events { response, buffer: Vec::new() }))
    }

    /// Reads one event, or finds that the watch is over.
    async fn step(&mut self) -> Result<Step> {
        let (web, _) = self.account.enter().await?;
        let time = self.watch_time + ANSWER_TIME;
        let State { known: Some(known), events: Some(events) } = &mut self.state else {
            return Ok(Step::Outdated);
        };
        let line = match events.line(time).await {
            Line::Whole(line) => line,
            Line::TooLong => return Err(web.too_long()),
            // Whoever ended it, the next watch begins where this one was.
            Line::End => {
                self.state.events = None;
                return Ok(Step::Nothing);
            }
        };
        let applied = apply(known, web.parse(&line)?);
        if applied.is_err() {
            // What could not be taken in would be missing for ever: the next question is for a list.
            self.state = State::default();
        }
        applied
    }
}

/// Takes an event into what is known.
fn apply(known: &mut Slices, event: Event) -> Result<Step> {
    let unusable = |error| Error::upstream("Kubernetes sent an event that cannot be used").caused_by(error);
    match event.kind.as_str() {
        "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" => {
            let slice: Slice = serde_json::from_value(event.object).map_err(unusable)?;
            known.version.clone_from(&slice.metadata.resource_version);
            match event.kind.as_str() {
                "BOOKMARK" => return Ok(Step::Nothing),
                "DELETED" => known.remove(&slice),
                _ => known.put(slice)?,
            }
            Ok(Step::Changed)
        }
        "ERROR" if event.object["code"] == 410 => Ok(Step::Outdated),
        "ERROR" => {
            let code = event.object["code"].as_u64().unwrap_or_default();
            Err(Error::upstream(format!("Kubernetes ended the watch with code {code}")))
        }
        // What is not known yet says nothing about instances.
        _ => Ok(Step::Nothing),
    }
}

enum Line {
    Whole(Vec<u8>),
    End,
    TooLong,
}

impl Events {
    async fn line(&mut self, time: Duration) -> Line {
        loop {
            if let Some(at) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=at).collect();
                line.pop();
                if !line.trim_ascii().is_empty() {
                    return Line::Whole(line);
                }
                continue;
            }
            if self.buffer.len() > MAX_ANSWER_BYTES {
                return Line::TooLong;
            }
            match tokio::time::timeout(time, self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => self.buffer.extend_from_slice(&chunk),
                Ok(Ok(None) | Err(_)) | Err(_) => return Line::End,
            }
        }
    }
}

#[async_trait]
impl Watch for Kubernetes {
    async fn next(&mut self) -> Result<Vec<Instance>> {
        let news = self.news().await;
        self.has_failed = news.is_err();
        if news.is_err() {
            self.state.events = None;
            self.pace.forget();
        }
        news
    }
}
