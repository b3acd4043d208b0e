//! A collector of OpenTelemetry on loopback, which decodes what arrives by OTLP over HTTP.

use crate::http::Server;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue as Any, KeyValue};
use opentelemetry_proto::tonic::trace::v1 as proto;
use prost::Message;
use serde_json::{Map, Value};
use std::time::Duration;

/// How long spans may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running collector; it stops when dropped.
#[derive(Debug)]
pub struct Collector(Server);

/// A span as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The program that sent it.
    pub service: String,
    /// In hexadecimal digits, as are the next two.
    pub trace_id: String,
    /// Its own id.
    pub id: String,
    /// The span around it; empty where there is none.
    pub parent: String,
    /// What was done.
    pub name: String,
    /// `SERVER`, `CLIENT`, `INTERNAL`.
    pub kind: String,
    /// What is to be known of it.
    pub attributes: Map<String, Value>,
    /// It failed.
    pub is_failure: bool,
    /// What it took.
    pub duration: Duration,
}

impl Collector {
    /// Starts on a free port of 127.0.0.1.
    pub async fn start() -> Self {
        Self(Server::start().await)
    }

    /// What `--otlp-endpoint` takes.
    #[must_use]
    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Everything that has arrived so far, in order.
    ///
    /// # Panics
    /// When something else than spans has arrived.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        let requests = self.0.requests().into_iter().flat_map(|request| {
            assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/traces"));
            assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
            ExportTraceServiceRequest::decode(request.bytes).expect("spans in protobuf").resource_spans
        });
        requests.flat_map(of_resource).collect()
    }

    /// Waits for a span that is such.
    ///
    /// # Panics
    /// When none comes in time.
    pub async fn span(&self, is_it: impl Fn(&Span) -> bool) -> Span {
        let mut found = None;
        crate::eventually("a span", PATIENCE, async || {
            found = self.spans().into_iter().find(|span| is_it(span));
            found.is_some()
        })
        .await;
        found.expect("it was found")
    }
}

fn of_resource(resource: proto::ResourceSpans) -> impl Iterator<Item = Span> {
    let about = attributes(resource.resource.map(|resource| resource.attributes).unwrap_or_default());
    let service = about.get("service.name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
    spans.map(move |span| Span {
        service: service.clone(),
        trace_id: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        kind: span.kind().as_str_name().trim_start_matches("SPAN_KIND_").to_owned(),
        is_failure: span
            .status
            .as_ref()
            .is_some_and(|status| status.code() == proto::status::StatusCode::Error),
        duration: Duration::from_nanos(span.end_time_unix_nano.saturating_sub(span.start_time_unix_nano)),
        name: span.name,
        attributes: attributes(span.attributes),
    })
}

fn attributes(given: Vec<KeyValue>) -> Map<String, Value> {
    given.into_iter().map(|pair| (pair.key, value(pair.value))).collect()
}

fn value(given: Option<Any>) -> Value {
    match given.and_then(|given| given.value) {
        Some(AnyValue::StringValue(text)) => text.into(),
        Some(AnyValue::BoolValue(is)) => is.into(),
        Some(AnyValue::IntValue(number)) => number.into(),
        Some(AnyValue::DoubleValue(number)) => number.into(),
        Some(AnyValue::ArrayValue(array)) => array.values.into_iter().map(|item| value(Some(item))).collect(),
        _ => Value::Null,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
