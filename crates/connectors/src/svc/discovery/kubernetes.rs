//! Kubernetes: the ready endpoints of a service, by listing its EndpointSlices and watching them.

mod account;
mod slice;

pub(super) use account::{Account, Pod};
pub(super) use slice::Port;

use super::web::{ANSWER_TIME, MAX_ANSWER_BYTES, Pace, Readable, Web};
use super::{Instance, Watch};
use async_trait::async_trait;
use fetch::{Response, Url};
use serde::Deserialize;
use slice::{Slice, Slices};
use std::time::{Duration, Instant};
use tool::{Error, Result};

/// How many slices one page of a list has.
const PAGE: &str = "100";
/// How long one watch lasts before the next begins where it ended.
const SHORTEST_WATCH: Duration = Duration::from_secs(30);
const LONGEST_WATCH: Duration = Duration::from_secs(300);
/// The pause after a watch that was of no use; it doubles each time, up to the time between two look-ups.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// One service in a cluster.
#[derive(Debug)]
pub(super) struct Kubernetes {
    account: Account,
    namespace: String,
    service: String,
    port: Option<Port>,
    refresh: Duration,
    watch_time: Duration,
    pace: Pace,
    state: State,
    /// Watches in a row that were of no use: refused, cut at once, or garbage.
    fruitless: u32,
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
    begun: Instant,
    /// At least one was of use.
    has_told: bool,
}

#[derive(Debug, Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMetadata,
    #[serde(default)]
    items: Readable<Slice>,
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
        let (fruitless, has_failed) = (0, false);
        Self { account, namespace, service, port, refresh, watch_time, pace, state, fruitless, has_failed }
    }

    /// How long the next question waits since the last.
    fn pause(&self) -> Duration {
        match self.fruitless {
            0 => Duration::ZERO,
            times => FIRST_PAUSE.saturating_mul(1 << (times - 1).min(16)).min(self.refresh),
        }
    }

    /// What is known may be wrong or too old: the next question is for a list, after a while.
    fn begin_anew(&mut self) {
        self.state = State::default();
        self.fruitless = self.fruitless.saturating_add(1);
    }

    async fn news(&mut self) -> Result<Vec<Instance>> {
        loop {
            let Some(known) = &self.state.known else {
                self.pace.keep(self.pause()).await;
                let known = self.list().await?;
                let instances = known.instances(self.port.as_ref());
                self.state = State { known: Some(known), events: None };
                return instances;
            };
            if self.state.events.is_none() {
                let version = known.version.clone();
                self.pace.keep(self.pause()).await;
                let Some(events) = self.watch(&version).await? else {
                    self.begin_anew();
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
                Step::Outdated => self.begin_anew(),
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
            for slice in list.items.0 {
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
        Ok(Some(Events { response, buffer: Vec::new(), begun: Instant::now(), has_told: false }))
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
            // Whoever ended it, the next watch begins where this one was; behind one that told nothing comes a list.
            Line::End if events.has_told => {
                self.state.events = None;
                return Ok(Step::Nothing);
            }
            Line::End if events.begun.elapsed() < SHORTEST_WATCH / 2 => return Ok(Step::Outdated),
            Line::End => {
                (self.state, self.fruitless) = (State::default(), 0);
                return Ok(Step::Nothing);
            }
        };
        let applied = web.parse(&line).and_then(|event| apply(known, event));
        match &applied {
            Ok(Step::Changed | Step::Nothing) => {
                events.has_told = true;
                self.fruitless = 0;
            }
            Ok(Step::Outdated) => {}
            // What could not be taken in would be missing for ever: the next question is for a list.
            Err(_) => self.begin_anew(),
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
            if self.fruitless == 0 {
                self.pace.forget();
            }
        }
        news
    }
}
