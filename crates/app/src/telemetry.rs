//! Spans on their way to a collector, by OTLP over HTTP: calls hand them over and never wait.

use crate::Failure;
use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind as OtelKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value as OtelValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor,
};
use serde_json::Value;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tool::span::{FinishedSpan, SpanKind, Spans};

/// How long the collector may take for one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long spans wait for others to go along, unless OpenTelemetry's own variable says otherwise.
const DELAY: Duration = Duration::from_secs(1);
const DELAY_VARIABLE: &str = "OTEL_BSP_SCHEDULE_DELAY";
/// How long the end of the process waits for the last spans.
const LAST_SPANS: Duration = Duration::from_secs(5);
/// The most bytes of what a collector answers, which nobody needs.
const MAX_ANSWER_BYTES: usize = 64 * 1024;
/// Where a collector takes spans.
const PATH: &str = "/v1/traces";

/// Where spans go.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The collector, e.g. `http://127.0.0.1:4318`.
    pub endpoint: String,
    /// Spans hold prompts, arguments and answers.
    pub has_content: bool,
}

/// Hands spans to a thread that sends them in batches. When too many wait, further ones are dropped.
#[derive(Debug)]
pub(crate) struct OtlpSpans {
    processor: BatchSpanProcessor,
    scope: InstrumentationScope,
    has_content: bool,
}

impl OtlpSpans {
    /// Begins to take spans.
    pub(crate) fn start(settings: &Settings) -> Result<Arc<Self>, Failure> {
        let failed = |why: &str| {
            Failure::new(format!("spans cannot be sent to {}: {why}", settings.endpoint))
                .advice("give the address of a collector, e.g. --otlp-endpoint http://127.0.0.1:4318")
        };
        let url =
            traces_url(&settings.endpoint).ok_or_else(|| failed("it is no http:// or https:// address"))?;
        let client = reqwest::Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none());
        let client = client.build().map_err(|error| failed("no HTTP client can be made").because(error))?;
        let http = Http { client, runtime: Handle::current(), is_failing: AtomicBool::new(false) };
        let exporter = SpanExporter::builder().with_http().with_http_client(http).with_endpoint(url);
        let exporter = exporter.with_timeout(TIMEOUT).build();
        let exporter = exporter.map_err(|error| failed("the exporter cannot be made").because(error))?;
        let mut batches = BatchConfigBuilder::default();
        if std::env::var_os(DELAY_VARIABLE).is_none() {
            batches = batches.with_scheduled_delay(DELAY);
        }
        let mut processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches.build()).build();
        let version = env!("CARGO_PKG_VERSION");
        let about =
            [KeyValue::new("service.name", "mcp-all-in-one"), KeyValue::new("service.version", version)];
        // What the variables of OpenTelemetry say about us comes first.
        let detected = Resource::builder().build();
        let is_unsaid = |about: &KeyValue| {
            let said = detected.get(&about.key).map(|value| value.to_string());
            said.is_none_or(|said| said.starts_with("unknown_service"))
        };
        let about: Vec<_> = about.into_iter().filter(is_unsaid).collect();
        processor.set_resource(&Resource::builder().with_attributes(about).build());
        let scope = InstrumentationScope::builder("mcp-all-in-one").with_version(version).build();
        Ok(Arc::new(Self { processor, scope, has_content: settings.has_content }))
    }

    /// Sends what waits, but not for long.
    pub(crate) async fn close(self: Arc<Self>) {
        let closing = tokio::task::spawn_blocking(move || self.processor.shutdown_with_timeout(LAST_SPANS));
        if !matches!(closing.await, Ok(Ok(()))) {
            tracing::warn!("the last spans could not be sent in time");
        }
    }
}

impl Spans for OtlpSpans {
    fn take(&self, span: FinishedSpan) {
        let trace = &span.trace;
        let state = trace.state().and_then(|state| TraceState::from_str(state).ok()).unwrap_or_default();
        let (id, own) = (TraceId::from(trace.id), SpanId::from(trace.span));
        let (parent, parent_span_is_remote) = span.parent.unwrap_or_default();
        let kind = match span.kind {
            SpanKind::Server => OtelKind::Server,
            SpanKind::Client => OtelKind::Client,
            SpanKind::Internal => OtelKind::Internal,
        };
        self.processor.on_end(SpanData {
            span_context: SpanContext::new(id, own, TraceFlags::SAMPLED, false, state),
            parent_span_id: SpanId::from(parent),
            parent_span_is_remote,
            span_kind: kind,
            name: span.name,
            start_time: span.begun,
            end_time: span.ended,
            attributes: span.attributes.into_iter().map(attribute).collect(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: if span.is_failure { Status::error("") } else { Status::Unset },
            instrumentation_scope: self.scope.clone(),
        });
    }

    fn has_content(&self) -> bool {
        self.has_content
    }
}

fn attribute((key, value): (&'static str, Value)) -> KeyValue {
    let value: OtelValue = match value {
        Value::String(text) => text.into(),
        Value::Bool(is) => is.into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Value::Array(items) => {
            let text = |item: Value| match item {
                Value::String(text) => text,
                other => other.to_string(),
            };
            let texts: Vec<StringValue> = items.into_iter().map(|item| text(item).into()).collect();
            OtelValue::Array(Array::String(texts))
        }
        other => other.to_string().into(),
    };
    KeyValue::new(key, value)
}

/// Spans can be sent there, if somebody is there.
pub(crate) fn is_address(endpoint: &str) -> bool {
    traces_url(endpoint).is_some()
}

/// The address of a collector's traces; given with its path or without.
fn traces_url(endpoint: &str) -> Option<String> {
    let url = reqwest::Url::parse(endpoint).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() || !is_plain {
        return None;
    }
    let base = endpoint.trim_end_matches('/');
    Some(if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") })
}

/// Sends batches from the exporter's own thread, where no runtime is.
#[derive(Debug)]
struct Http {
    client: reqwest::Client,
    runtime: Handle,
    is_failing: AtomicBool,
}

#[async_trait]
impl HttpClient for Http {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move { send(&client, request).await }).await?;
        self.tell(&sent);
        Ok(sent?)
    }
}

impl Http {
    /// Says once that the collector cannot be reached, and once that it can again.
    fn tell(&self, sent: &Result<Response<Bytes>, reqwest::Error>) {
        let why = match sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("it answered with status {}", response.status().as_u16())),
            Err(error) => Some(error.to_string()),
        };
        let was_failing = self.is_failing.swap(why.is_some(), Ordering::Relaxed);
        match why {
            Some(why) if !was_failing => tracing::warn!("spans cannot be sent to the collector: {why}"),
            None if was_failing => tracing::info!("spans are sent to the collector again"),
            _ => {}
        }
    }
}

async fn send(client: &reqwest::Client, request: Request<Bytes>) -> Result<Response<Bytes>, reqwest::Error> {
    let request = reqwest::Request::try_from(request)?;
    let mut answer = client.execute(request).await.map_err(reqwest::Error::without_url)?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(reqwest::Error::without_url)? {
        if body.len() + chunk.len() > MAX_ANSWER_BYTES {
            break;
        }
        body.extend_from_slice(&chunk);
    }
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = answer.status();
    *response.headers_mut() = std::mem::take(answer.headers_mut());
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_collector_may_be_left_out() {
        for (given, expected) in [
            ("http://127.0.0.1:4318", Some("http://127.0.0.1:4318/v1/traces")),
            ("https://otel.test/tenant/", Some("https://otel.test/tenant/v1/traces")),
            ("https://otel.test/v1/traces", Some("https://otel.test/v1/traces")),
            ("127.0.0.1:4318", None),
            ("grpc://127.0.0.1:4317", None),
            ("http://me:secret@otel.test", None),
        ] {
            assert_eq!(traces_url(given).as_deref(), expected, "{given}");
        }
    }
}
