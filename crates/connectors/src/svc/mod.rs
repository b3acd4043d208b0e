//! `svc://`: internal services whose instances come from a registry, over HTTP or gRPC.

mod balance;
mod discovery;
mod fallback;
mod fleet;
#[cfg(feature = "grpc")]
mod grpc;
mod http;
mod open;
mod settings;
#[cfg(test)]
mod tests;
mod tools;
mod verdict;
mod words;

pub(crate) use settings::Settings;

use crate::shared::breaker::{Breaker, TimeSetBy};
use crate::shared::instance;
use crate::shared::sign_in::Standing;
use async_trait::async_trait;
use balance::Verdict;
use fallback::Fallbacks;
use http::Http;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};
use tool::{Call, Connector, Context, Error, ErrorKind, Outcome, Output, Reason, Result, Tool};

/// One service: what it speaks, and what is answered while it is left alone.
#[derive(Debug)]
struct Svc {
    protocol: Protocol,
    breaker: Breaker,
    permits: Option<Semaphore>,
    fallbacks: Arc<Fallbacks>,
    standing: Standing,
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

    fn named_tools(&self) -> Vec<Tool> {
        match &self.protocol {
            Protocol::Http(_) => Vec::new(),
            #[cfg(feature = "grpc")]
            Protocol::Grpc(grpc) => grpc.named_tools(),
        }
    }

    async fn call(&self, cx: &Context, call: Call) -> Result<Outcome> {
        let pass = match self.breaker.admit() {
            Ok(pass) => pass,
            Err(open) => return self.fallbacks.answer(&call.tool, &open).map(Outcome::Done).ok_or(open),
        };
        let (result, time) = self.run(cx, &call).await;
        match verdict_of(result.as_ref().err(), time) {
            Verdict::Succeeded => pass.succeeded(),
            Verdict::Failed => pass.failed(),
            Verdict::Unknown => drop(pass),
        }
        let result = match &self.protocol {
            Protocol::Http(_) => self.standing.note_answer(result),
            #[cfg(feature = "grpc")]
            Protocol::Grpc(_) => {
                self.standing.note(&result);
                result
            }
        };
        result.map(Outcome::Done)
    }

    async fn health(&self, cx: &Context) -> Result<()> {
        match &self.protocol {
            Protocol::Http(http) => http.health(cx).await?,
            #[cfg(feature = "grpc")]
            Protocol::Grpc(grpc) => grpc.health(cx).await?,
        }
        self.standing.check()
    }

    fn trouble(&self) -> Option<String> {
        let fleet = match &self.protocol {
            Protocol::Http(http) => http.fleet(),
            #[cfg(feature = "grpc")]
            Protocol::Grpc(grpc) => grpc.fleet(),
        };
        self.breaker.trouble().or_else(|| fleet.trouble()).or_else(|| self.standing.trouble())
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
