//! `/doctor`: what is not as it should be, and what to do about it.

use super::catalog;
use super::services::{HealthView, configured};
use super::words;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::Result;
use crate::ui;
use axum::Json as Answer;
use axum::extract::State;
use gateway::catalog::TenantCatalog;
use gateway::catalog::overview::{Entry, Status};
use serde::Serialize;
use std::time::Instant;
use store::{IndexStatus, within};
use utoipa::ToSchema;

/// Of one kind of trouble, so many are told one by one.
const MOST: usize = 50;

#[derive(Serialize, ToSchema)]
#[schema(as = Doctor)]
pub(super) struct DoctorView {
    version: &'static str,
    /// `sqlite` or `postgres`.
    database: &'static str,
    /// What is wrong first.
    checks: Vec<CheckView>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = DoctorCheck)]
pub(super) struct CheckView {
    /// What was looked at, e.g. `database` or `service api/crm`.
    id: String,
    #[schema(value_type = words::CheckState)]
    state: &'static str,
    detail: String,
    /// What to do; nothing where all is well.
    advice: Option<String>,
}

impl CheckView {
    fn ok(id: &str, detail: impl Into<String>) -> Self {
        Self { id: id.to_owned(), state: "ok", detail: detail.into(), advice: None }
    }

    fn warning(id: impl Into<String>, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { id: id.into(), state: "warning", detail: detail.into(), advice: Some(advice.into()) }
    }

    fn failed(id: impl Into<String>, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { state: "failed", ..Self::warning(id, detail, advice) }
    }
}

/// Looks at the server, the database and everything of the tenant, and says what to do.
#[utoipa::path(get, path = "/doctor", tag = "doctor", responses((status = 200, body = DoctorView)))]
pub(super) async fn get(State(state): State<Shared>, signed_in: SignedIn) -> Result<Answer<DoctorView>> {
    signed_in.may_manage()?;
    let mut checks = vec![database(&state).await, console()];
    checks.extend(search(&state, &signed_in).await);
    let known = state.gateway.catalog().tenant(&signed_in.tenant).unwrap_or_default();
    checks.extend(services(&known));
    checks.extend(names(&known));
    checks.extend(tools(&catalog::tools(&state, &signed_in).await?));
    if signed_in.may_administer().is_ok() {
        checks.extend(access(&state));
    }
    checks.sort_by_key(|check| ["failed", "warning", "ok"].iter().position(|state| *state == check.state));
    let (version, database) = (env!("CARGO_PKG_VERSION"), state.store.database_name());
    Ok(Answer(DoctorView { version, database, checks }))
}

async fn database(state: &Shared) -> CheckView {
    let begun = Instant::now();
    match within(state.options.store_timeout, state.store.ping()).await {
        Ok(()) => CheckView::ok("database", format!("it answers in {} ms", begun.elapsed().as_millis())),
        Err(error) => CheckView::failed(
            "database",
            error.to_string(),
            "start the database; calls go on meanwhile, and their records wait in a file",
        ),
    }
}

fn console() -> CheckView {
    match ui::is_built() {
        true => CheckView::ok("console", "it is built into this program"),
        false => CheckView::warning(
            "console",
            "this program was built without it",
            "run `make console` in the folder of the sources, then build and start the program again",
        ),
    }
}

/// Who can reach us, for whoever runs us.
fn access(state: &Shared) -> Vec<CheckView> {
    let advice = "put a proxy with HTTPS before it, and say with --public-url how clients reach that";
    let has_address = state.options.public_url.is_some();
    match (state.is_local(), has_address) {
        (true, _) => vec![CheckView::ok("access", "only programs on this machine reach it")],
        (false, true) => vec![CheckView::ok("access", "others reach it at its public address")],
        (false, false) => vec![CheckView::warning("access", "others reach it without encryption", advice)],
    }
}

async fn search(state: &Shared, signed_in: &SignedIn) -> Vec<CheckView> {
    let found = within(state.options.store_timeout, state.store.search().all(&signed_in.tenant)).await;
    let failed = found.unwrap_or_default().into_iter().filter(|index| index.status == IndexStatus::Error);
    let check = |index: store::SearchIndex| {
        let why = index.last_error.unwrap_or_else(|| "it could not be made".to_owned());
        let id = format!("search index {}", index.tool);
        CheckView::failed(id, why, "it is tried again by itself; check the provider of embeddings")
    };
    failed.take(MOST).map(check).collect()
}

fn services(catalog: &TenantCatalog) -> Vec<CheckView> {
    let all: Vec<_> = configured(catalog).collect();
    let failing: Vec<_> = all.iter().filter(|service| HealthView::of_service(service).is_failing()).collect();
    let told = format!("{} of {} answer or are switched off", all.len() - failing.len(), all.len());
    let mut checks = vec![match failing.is_empty() {
        true => CheckView::ok("services", told),
        false => CheckView::warning("services", told, "look at those that fail, below"),
    }];
    checks.extend(failing.into_iter().take(MOST).map(|service| {
        let why = HealthView::of_service(service).error().unwrap_or_else(|| "it does not answer".to_owned());
        let advice = "start it or correct its settings; it is asked again by itself";
        CheckView::failed(format!("service {}/{}", service.scheme, service.id), why, advice)
    }));
    let reports =
        all.iter().map(|service| (service, service.report().warnings())).filter(|(_, said)| !said.is_empty());
    checks.extend(reports.take(MOST).map(|(service, said)| {
        let id = format!("tools of {}/{}", service.scheme, service.id);
        CheckView::warning(id, said.join("; "), "look at the changes, and approve them if you trust them")
    }));
    checks
}

/// Tools under names that nobody chose.
fn names(catalog: &TenantCatalog) -> Vec<CheckView> {
    let check = |collision: &gateway::catalog::Collision| {
        let detail = format!(
            "{} is called {}, as {} has that name",
            collision.renamed, collision.renamed_to, collision.kept_by
        );
        CheckView::warning(
            format!("name {}", collision.name),
            detail,
            "give one of the two services another id",
        )
    };
    catalog.collisions().iter().take(MOST).map(check).collect()
}

/// Tools that lead nowhere.
fn tools(all: &[Entry]) -> Vec<CheckView> {
    let missing = all.iter().filter(|tool| tool.status == Status::Missing);
    let check = |tool: &Entry| {
        let advice = "make what it leads to, switch that on, or change where the tool leads";
        CheckView::failed(format!("tool {}", tool.name), "what it leads to is not there", advice)
    };
    missing.take(MOST).map(check).collect()
}
