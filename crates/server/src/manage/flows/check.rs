//! What a flow is checked for, and what is stored with it once it was.

use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Code, Problem, Result};
use crate::manage::words;
use flow::{Severity, Validation};
use runtime::flows::{Callable, Rights};
use serde::Serialize;
use std::time::Duration;
use store::flows::{NewDraft, NewReference, NewTrigger, Publication};
use tool::{Caller, Context, Door};
use utoipa::ToSchema;

/// Characters of a flow's name that lists show.
const MAX_NAME: usize = 128;
/// Problems that a refusal puts into words; `errors` has them all.
const TOLD: usize = 5;

/// One thing wrong with a flow.
#[derive(Serialize, ToSchema)]
pub(crate) struct FlowProblem {
    /// Where in the document, e.g. `nodes.order.exec`.
    path: String,
    /// A stable word for programs, e.g. `UnknownTool`.
    code: &'static str,
    /// What to do about it.
    message: String,
    /// Which line of the text, from 1.
    line: usize,
    /// Which character of the line, from 1.
    column: usize,
    /// Errors stop publishing, warnings do not.
    #[schema(value_type = words::Severity)]
    severity: Severity,
}

impl From<&flow::Problem> for FlowProblem {
    fn from(problem: &flow::Problem) -> Self {
        Self {
            path: problem.path.clone(),
            code: problem.code.as_str(),
            message: problem.message.clone(),
            line: problem.line,
            column: problem.column,
            severity: problem.severity,
        }
    }
}

/// A text, and what was found in it.
pub(crate) struct Checked {
    source: String,
    pub(crate) validation: Validation,
}

/// Reads a text and checks it against what the caller may call. `id` is what the flow is called, where that is known.
pub(crate) async fn check(
    state: &Shared,
    signed_in: &SignedIn,
    id: Option<&str>,
    source: String,
) -> Result<Checked> {
    let failed = |_| Problem::new(Code::Internal, "the flow could not be checked");
    // Large texts take their time: nobody else waits for them.
    let reading = tokio::task::spawn_blocking(move || (flow::read(&source).into_any(), source));
    let (flow, source) = reading.await.map_err(failed)?;
    let cx = Context::new(signed_in.tenant.clone(), signed_in.caller.clone(), Door::Rest, Duration::ZERO);
    let callable = Callable::new(state.gateway.clone(), cx);
    let callable = callable.with_flows(&state.store, id, flow.as_ref()).await?;
    let checking = tokio::task::spawn_blocking(move || {
        let validation = flow::validate(&source, &callable);
        Checked { source, validation }
    });
    checking.await.map_err(failed)
}

impl Checked {
    /// Errors and warnings, in the order of the text.
    pub(crate) fn problems(&self) -> Vec<FlowProblem> {
        self.validation.problems.iter().map(FlowProblem::from).collect()
    }

    /// The text, if it keeps to the limits: a draft may be wrong, but not without end.
    pub(crate) fn within_limits(self) -> Result<Self> {
        self.refuse_where(|problem| problem.is_error() && problem.code == flow::Code::LimitExceeded)
    }

    /// The text, if it can be published.
    pub(crate) fn publishable(self) -> Result<Self> {
        self.refuse_where(flow::Problem::is_error)
    }

    fn refuse_where(self, is_refused: impl Fn(&flow::Problem) -> bool) -> Result<Self> {
        let refused: Vec<_> = self.validation.problems.iter().filter(|problem| is_refused(problem)).collect();
        if refused.is_empty() {
            return Ok(self);
        }
        let places = refused.iter().take(TOLD).map(|problem| {
            let flow::Problem { line, column, message, .. } = problem;
            format!("line {line}, column {column}: {message}")
        });
        let mut detail = places.collect::<Vec<_>>().join("; ");
        if refused.len() > TOLD {
            detail = format!("{detail}; and {} more", refused.len() - TOLD);
        }
        let error = |problem: &&flow::Problem| {
            tool::Problem::new(problem.path.as_str(), problem.code.as_str(), problem.message.as_str())
                .at(problem.line, problem.column)
        };
        let errors = refused.iter().map(error).collect();
        Err(Problem::new(Code::ValidationFailed, detail).with_errors(errors))
    }

    /// The id that the document has.
    pub(crate) fn own_id(&self) -> Option<String> {
        self.validation.flow.as_ref()?.id.clone()
    }

    pub(crate) fn draft(&self, id: &str) -> NewDraft {
        let name = self.validation.flow.as_ref().and_then(|flow| flow.name.as_deref());
        let name: String =
            name.unwrap_or_default().chars().filter(|c| !c.is_control()).take(MAX_NAME).collect();
        NewDraft {
            name: if name.trim().is_empty() { id.to_owned() } else { name },
            source: self.source.clone(),
            references: self.references(),
        }
    }

    pub(crate) fn publication(self, publisher: &Caller) -> Publication {
        let flow = self.validation.flow.as_ref();
        let triggers =
            flow.into_iter().flat_map(|flow| flow.triggers.iter().map(move |trigger| (flow, trigger)));
        let trigger = |(flow, trigger): (&flow::Flow, &flow::Trigger)| NewTrigger {
            name: trigger.name.clone(),
            kind: trigger.kind().to_owned(),
            settings: flow.settings_of(trigger).to_string(),
        };
        Publication {
            bound: serde_json::to_string(&self.validation.bound).unwrap_or_else(|_| "[]".to_owned()),
            references: self.references(),
            triggers: triggers.map(trigger).collect(),
            published_by: publisher.identity.id().to_owned(),
            // Without any, a version would have those of managers; one whose rights cannot be read does not run.
            rights: Some(serde_json::to_string(&Rights::of(publisher)).unwrap_or_else(|_| "{}".to_owned())),
            source: self.source,
        }
    }

    /// The services that it names, as far as it can be read.
    fn references(&self) -> Vec<NewReference> {
        let reference = |found: &flow::Reference| NewReference {
            node: found.node.clone(),
            scheme: found.uri.scheme().to_owned(),
            service: found.uri.service().to_owned(),
            tool: found.uri.tool().unwrap_or_default().to_owned(),
        };
        self.validation.references.iter().map(reference).collect()
    }
}
