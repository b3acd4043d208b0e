//! Published versions, parsed once: the same text is the same flow for all its runs.

use super::given::Rights;
use flow::{Bound, Flow};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use store::{Store, within};
use tool::{Error, Problem, Result, TenantId};

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
    /// What its publisher might reach; unknown of drafts, and of versions that are older than this is kept.
    pub(super) rights: Option<Rights>,
    source: String,
}

impl Version {
    /// The text.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The same, as it is compared with others.
    pub(super) fn text(&self) -> flow::VersionText<'_> {
        flow::VersionText { flow: &self.flow, source: &self.source, bound: &self.bound }
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
        let rights = version.rights.as_deref().map(serde_json::from_str).transpose().map_err(|error| {
            Error::internal("the rights of a version cannot be read; publish the flow again").caused_by(error)
        })?;
        // A flow that was deleted with its runs and made again counts from 1 again.
        let is_same = |known: &Arc<Version>| known.source == version.source && known.rights == rights;
        if let Some(known) = known.filter(is_same) {
            return Ok(known);
        }
        let bound = serde_json::from_str(&version.bound).unwrap_or_default();
        let draft = parse(version.source.clone(), bound)?;
        let parsed = Arc::new(Version { number: Some(version.version), rights, ..draft });
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

/// A draft that somebody begins to run. What cannot be read in it would be replaced by what is usual, and that is not what
/// it says: only a malformed URI of a call is left to the node that makes it.
pub(super) fn parse_draft(source: String, bound: Vec<Bound>) -> Result<Version> {
    check_draft(&source)?;
    parse(source, bound)
}

/// The same without running it.
pub(super) fn check_draft(source: &str) -> Result<()> {
    let problems = flow::read(source).problems;
    let broken: Vec<_> =
        problems.iter().filter(|problem| problem.is_error() && !problem.is_of_call()).collect();
    let Some(first) = broken.first() else { return Ok(()) };
    let message = format!("the draft cannot be run: {} (line {})", first.message, first.line);
    let problem = |found: &&flow::Problem| {
        let at = format!("{} (line {}, column {})", found.message, found.line, found.column);
        Problem::new(found.path.clone(), found.code.as_str(), at)
    };
    Err(Error::invalid_input(message).with_problems(broken.iter().map(problem).collect()))
}

/// A text as it is, with what is usual in the place of what cannot be read.
pub(super) fn parse(source: String, bound: Vec<Bound>) -> Result<Version> {
    let reading = flow::read(&source);
    let Some(flow) = reading.flow else {
        let first = reading.problems.iter().find(|problem| problem.is_error());
        let first = first.map(|problem| problem.message.clone()).unwrap_or_default();
        return Err(Error::invalid_config(format!("the flow cannot be run: {first}")));
    };
    Ok(Version { number: None, flow: Arc::new(flow), bound, rights: None, source })
}
