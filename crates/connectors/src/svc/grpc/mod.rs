//! gRPC services: room for what speaks to them.

use super::open::check_common;
use super::settings::Settings;
use super::tools::RequestSettings;
use crate::shared::breaker::TimeSetBy;
use tokio::sync::watch;
use tool::{Call, Context, Env, Error, Output, Problem, Result, Tool};

#[derive(Debug)]
pub(super) struct Grpc;

impl Grpc {
    /// The service; of use when there is no problem.
    pub(super) fn open(
        settings: Settings,
        _requests: Vec<RequestSettings>,
        env: &Env,
        problems: &mut Vec<Problem>,
    ) -> Option<Self> {
        check_common(settings, env, problems);
        Some(Self)
    }

    pub(super) async fn tools(&self, _: &Context) -> Result<Vec<Tool>> {
        Ok(Vec::new())
    }

    pub(super) async fn call(&self, _: &Context, _: &Call) -> (Result<Output>, TimeSetBy) {
        (Err(Error::unsupported("gRPC is still being built")), TimeSetBy::Caller)
    }

    pub(super) async fn health(&self, _: &Context) -> Result<()> {
        Err(Error::unsupported("gRPC is still being built"))
    }

    pub(super) fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }
}
