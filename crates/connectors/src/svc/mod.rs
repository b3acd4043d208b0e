//! `svc://`: internal services whose instances come from a registry, over HTTP or gRPC.

mod balance;
mod discovery;
mod fleet;
#[cfg(feature = "grpc")]
mod grpc;
mod http;
mod instance;
mod open;
mod settings;
#[cfg(test)]
mod tests;
mod tls;
mod tools;
mod verdict;
mod words;

pub(crate) use settings::Settings;

use crate::shared::breaker::{Breaker, TimeSetBy};
use async_trait::async_trait;
use balance::Verdict;
use http::Http;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use tokio::sync::{Semaphore, watch};
use tool::{Call, Connector, Context, Error, ErrorKind, Outcome, Output, Reason, Result, Tool};

/// One service: what it speaks, and what is answered while it is left alone.
#[derive(Debug)]
struct Svc {
    protocol: Protocol,
    breaker: Breaker,
    permits: Option<Semaphore>,
    fallback: Option<Value>,
    /// Those of tools that have their own.
    fallbacks: BTreeMap<String, Value>,
}

#[derive(Debug)]
enum Protocol {
    Http(Box<Http>),
    #[cfg(feature = "grpc")]
    Grpc(Box<grpc::Grpc>),
}

impl Svc {
    async fn run(&self, cx: &Context, call: &Call) -> (Result<Output>, TimeSetBy) {
        let _permit = match &self.permits {
            Some(permits) => match cx.within(permits.acquire()).await {
                Ok(permit) => permit.ok(),
                Err(ended) => {
                    let late = "too many calls of the service were under way all the time";
                    return (Err(ended.error(late)), TimeSetBy::Caller);
                }
            },
            None => None,
        };
        match &self.protocol {
            Protocol::Http(http) => http.call(cx, call).await,
            #[cfg(feature = "grpc")]
            Protocol::Grpc(grpc) => grpc.call(cx, call).await,
        }
    }

    /// What is answered instead of the service, if something is.
    fn fallback(&self, tool: &str, open: &Error) -> Option<Output> {
        let value = self.fallbacks.get(tool).or(self.fallback.as_ref())?;
        let json = RawValue::from_string(value.to_string()).ok()?;
        Some(Output::json_with_remark(json, &format!("fallback: {}", open.message())))
    }
}

#[async_trait]
impl Connector for Svc {
    async fn tools(&self, cx: &Context) -> Result<Vec<Tool>> {
        match &self.protocol {
            Protocol::Http(http) => {
                let _ = cx;
                http.tools()
            }
            #[cfg(feature = "grpc")]
            Protocol::Grpc(grpc) => grpc.tools(cx).await,
        }
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let pass = match self.breaker.admit() {
            Ok(pass) => pass,
            Err(open) => return self.fallback(&call.tool, &open).map(Outcome::Done).ok_or(open),
        };
        let (result, time) = self.run(cx, &call).await;
        match verdict_of(result.as_ref().err(), time) {
            Verdict::Succeeded => pass.succeeded(),
            Verdict::Failed => pass.failed(),
            Verdict::Unknown => drop(pass),
        }
        result.map(Outcome::Done)
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        match &self.protocol {
            Protocol::Http(http) => http.health(cx).await,
            #[cfg(feature = "grpc")]
            Protocol::Grpc(grpc) => grpc.health(cx).await,
        }
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        match &self.protocol {
            Protocol::Http(_) => None,
            #[cfg(feature = "grpc")]
            Protocol::Grpc(grpc) => grpc.changes(),
        }
    }
}

/// What a call says about the service. A time that the caller set says nothing.
fn verdict_of(error: Option<&Error>, time: TimeSetBy) -> Verdict {
    let is_timeout =
        |error: &Error| error.kind() == ErrorKind::Timeout && error.reason() == Some(Reason::AttemptTimedOut);
    match error {
        Some(error) if time == TimeSetBy::Caller && is_timeout(error) => Verdict::Unknown,
        _ => verdict::of(error),
    }
}
