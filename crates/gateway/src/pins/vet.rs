//! Vetting: discovered tools are compared with their pins and cleaned before anybody sees them.

use super::{Pins, Reason, Report, State, ToolReport, approved, fingerprint, noted};
use crate::Gateway;
use crate::audit::{Record, Status, Subject};
use crate::catalog::{Service, naming};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tool::{Context, Error, ErrorKind, Pinning, Result, Tool, Uri};

/// More changes of one service at once get one record together.
const MAX_RECORDS: usize = 50;

impl Gateway {
    /// The tools that may be offered, cleaned. What has changed is reported once.
    ///
    /// # Errors
    /// When pins must be kept to and cannot be read.
    pub(crate) async fn vet(
        &self,
        service: &Service,
        pinning: Pinning,
        tools: Vec<Tool>,
    ) -> Result<Vec<Tool>> {
        let mut report = Report { pinning, ..Report::default() };
        let mut cleaned = Vec::with_capacity(tools.len());
        for tool in tools {
            let fingerprint = if pinning == Pinning::Off { String::new() } else { fingerprint::of(&tool) };
            let name = tool.name().to_owned();
            let (tool, out_of_form) = match tool.in_form() {
                Ok(formed) => formed,
                Err(error) => {
                    report.left_out.insert(name, error.message().to_owned());
                    continue;
                }
            };
            let (tool, hidden) = tool.cleaned();
            report.tools.entry(tool.name().to_owned()).or_insert(ToolReport {
                fingerprint,
                state: State::Pinned,
                hidden,
                out_of_form,
            });
            cleaned.push(tool);
        }
        if pinning != Pinning::Off {
            self.compare(service, &mut report).await?;
        }
        report_odd(service, &report);
        cleaned.retain(|tool| !report.is_held(tool.name()));
        service.report.store(Arc::new(report));
        Ok(cleaned)
    }

    /// Approves definitions of a service's tools, given as fingerprints by name; a tool that has
    /// another one by now stays as it is. The names that were approved.
    ///
    /// # Errors
    /// `NotFound`, or why the approval cannot be kept.
    pub async fn approve(
        self: &Arc<Self>,
        cx: &Context,
        scheme: &str,
        id: &str,
        fingerprints: &BTreeMap<String, String>,
    ) -> Result<Vec<String>> {
        let catalog = self.catalog.tenant(&cx.tenant);
        let service = catalog.as_deref().and_then(|tenant| tenant.service(scheme, id));
        let Some(service) = service else {
            return Err(Error::not_found(format!("there is no service {scheme}://{id}")));
        };
        if fingerprints.is_empty() {
            return Ok(Vec::new());
        }
        let edit = |known: Option<&Pins>| approved(known, fingerprints);
        self.pins.change(service, Reason::Approval, &edit).await?;
        for tool in fingerprints.keys().take(MAX_RECORDS) {
            let record = Record::about(cx, subject(service, tool));
            let message = "the definition of the tool was approved".to_owned();
            self.audit.write(record.noted(Status::Ok, None, message)).await;
        }
        self.look_again(service).await;
        Ok(fingerprints.keys().cloned().collect())
    }

    /// Asks a service once more what it offers: its pins may have changed.
    pub(crate) async fn look_again(&self, service: &Service) {
        self.discover(service).await;
        self.rebuild(&service.tenant).await;
    }

    /// Finds out which tools are not what they were, and says so.
    async fn compare(&self, service: &Service, report: &mut Report) -> Result<()> {
        let offered: BTreeMap<String, String> =
            report.tools.iter().map(|(name, tool)| (name.clone(), tool.fingerprint.clone())).collect();
        let edit = |known: Option<&Pins>| noted(known, &offered);
        let (before, after) = match self.pins.change(service, Reason::Discovery, &edit).await {
            Ok(changed) => changed,
            Err(error) if report.pinning == Pinning::Enforce => {
                return Err(Error::unavailable("its tools cannot be compared with their pins")
                    .caused_by(error)
                    .retryable());
            }
            Err(error) => {
                tracing::warn!(?service, %error, "changes of {service:?} go unnoticed for now: {error}");
                return Ok(());
            }
        };
        for (name, tool) in &mut report.tools {
            let Some(pin) = after.get(name) else { continue };
            if pin.fingerprint != tool.fingerprint {
                tool.state = State::Changed(fingerprint::changed_parts(&pin.fingerprint, &tool.fingerprint));
            } else if pin.is_new {
                tool.state = State::New;
            }
        }
        let last_seen = |name: &String| Some(before.as_ref()?.get(name)?.last_seen());
        let news = report.tools.iter().filter(|(_, tool)| tool.state != State::Pinned);
        let news = news.filter(|(name, tool)| last_seen(name) != Some(tool.fingerprint.as_str()));
        let news: Vec<(String, State)> =
            news.map(|(name, tool)| (name.clone(), tool.state.clone())).collect();
        self.report_changes(service, report.pinning, &news).await;
        Ok(())
    }

    async fn report_changes(&self, service: &Service, pinning: Pinning, news: &[(String, State)]) {
        let cx = Context::system(service.tenant.clone(), Duration::ZERO);
        for (tool, state) in news.iter().take(MAX_RECORDS) {
            let (status, code, message) = match (state, pinning) {
                (State::Changed(parts), Pinning::Enforce) => {
                    let message = format!(
                        "the tool has changed its {}; it is held back until approved",
                        parts.join(" and ")
                    );
                    (Status::Refused, Some(ErrorKind::ToolDisabled), message)
                }
                (State::Changed(parts), _) => {
                    (Status::Error, None, format!("the tool has changed its {}", parts.join(" and ")))
                }
                (State::New | State::Pinned, _) => (Status::Ok, None, "the tool is new".to_owned()),
            };
            tracing::warn!(?service, tool, "{service:?}, tool '{}': {message}", tool.escape_debug());
            self.audit.write(Record::about(&cx, subject(service, tool)).noted(status, code, message)).await;
        }
        if let Some(more) = news.len().checked_sub(MAX_RECORDS).filter(|more| *more > 0) {
            let message = format!("{more} more tools are new or have changed");
            tracing::warn!(?service, "{service:?}: {message}");
            self.audit
                .write(Record::about(&cx, subject(service, "*")).noted(Status::Error, None, message))
                .await;
        }
    }
}

/// Says what is odd about definitions, once for each state of affairs.
fn report_odd(service: &Service, report: &Report) {
    let known = service.report.load();
    for (name, why) in report.left_out.iter().take(MAX_RECORDS) {
        if known.left_out.get(name) != Some(why) {
            tracing::warn!(?service, "{service:?}, tool '{}' is left out: {why}", name.escape_debug());
        }
    }
    let odd = report.tools.iter().filter(|(_, tool)| !tool.hidden.is_empty() || !tool.out_of_form.is_empty());
    for (name, tool) in odd.take(MAX_RECORDS) {
        let known = known.tools.get(name);
        let name = name.escape_debug();
        if !tool.hidden.is_empty() && known.is_none_or(|known| known.hidden != tool.hidden) {
            let kinds: Vec<String> = tool.hidden.iter().map(ToString::to_string).collect();
            let kinds = kinds.join(", ");
            tracing::warn!(?service, "{service:?}, tool '{name}': its definition hides {kinds}");
        }
        if !tool.out_of_form.is_empty() && known.is_none_or(|known| known.out_of_form != tool.out_of_form) {
            let fields = tool.out_of_form.join(", ");
            tracing::warn!(
                ?service,
                "{service:?}, tool '{name}': fields are of types that MCP does not give them: {fields}"
            );
        }
    }
}

/// The tool in an audit record.
fn subject(service: &Service, tool: &str) -> Subject {
    Subject {
        name: naming::wire_name(&service.id, tool),
        uri: Uri::of_tool(&service.scheme, &service.id, tool).to_string(),
        service: service.id.clone(),
    }
}
