//! Published versions, parsed once: the same text is the same flow for all its runs.

use flow::{Bound, Flow};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Store, within};
use tool::{Error, Result, TenantId};

/// With so many, all are forgotten: each is a text away.
const MAX_KEPT: usize = 1000;

/// A version that can be run.
#[derive(Debug)]
pub struct Version {
    /// `None` for a draft.
    pub number: Option<i64>,
    /// What its text says.
    pub flow: Arc<Flow>,
    /// Parameters that publishing bound to names.
    pub bound: Vec<Bound>,
    source: String,
}

impl Version {
    /// The text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// The versions in use.
#[derive(Debug, Default)]
pub(super) struct Versions(Mutex<HashMap<(TenantId, String, i64), Arc<Version>>>);

impl Versions {
    /// A version whose text is at hand.
    pub(super) fn of(
        &self,
        tenant: &TenantId,
        id: &str,
        version: &store::flows::FlowVersion,
    ) -> Result<Arc<Version>> {
        let key = (tenant.clone(), id.to_owned(), version.version);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        // A flow that was deleted and made again counts from 1 again.
        if let Some(known) = known.filter(|known| known.source == version.source) {
            return Ok(known);
        }
        let bound = serde_json::from_str(&version.bound).unwrap_or_default();
        let parsed = Arc::new(parse(Some(version.version), version.source.clone(), bound)?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(key, parsed.clone());
        Ok(parsed)
    }

    /// A version from the store, which may take this time to answer.
    pub(super) async fn read(
        &self,
        store: &Store,
        tenant: &TenantId,
        id: &str,
        number: i64,
        time: Duration,
    ) -> Result<Arc<Version>> {
        let version = within(time, store.flows().version(tenant, id, number)).await?;
        self.of(tenant, id, &version)
    }
}

/// A text that is to be run.
pub(super) fn parse(number: Option<i64>, source: String, bound: Vec<Bound>) -> Result<Version> {
    let reading = flow::read(&source);
    let Some(flow) = reading.flow else {
        let first = reading.problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
        return Err(Error::invalid_config(format!("the flow cannot be run: {first}")));
    };
    Ok(Version { number, flow: Arc::new(flow), bound, source })
}
