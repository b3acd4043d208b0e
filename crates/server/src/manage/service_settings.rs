//! What a service is checked for before it is stored.

use super::error::{Problem, Result};
use super::masking::with_kept_secrets;
use crate::Shared;
use crate::auth::SignedIn;
use crate::reload::settings_of;
use serde_json::{Map, Value, json};
use store::ServiceTool;

const MAX_ID: usize = 64;

/// Refuses ids that would not be safe in URIs and names.
pub(super) fn check_id(path: &str, id: &str) -> Result<()> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if (1..=MAX_ID).contains(&id.len()) && id.chars().all(is_legal) && !id.starts_with('.') {
        return Ok(());
    }
    let message = format!("'{path}' must have 1 to {MAX_ID} letters, digits, '_', '-' or '.' (not first)");
    Err(Problem::invalid_field(path, message))
}

/// Takes the ids out of the definitions, where the store wants them.
pub(super) fn tools_of(tools: Vec<Map<String, Value>>) -> Result<Vec<ServiceTool>> {
    let with_id = |(at, mut definition): (usize, Map<String, Value>)| {
        let path = format!("tools[{at}].id");
        let Some(Value::String(id)) = definition.shift_remove("id") else {
            return Err(Problem::invalid_field(&path, format!("Missing required setting '{path}'")));
        };
        check_id(&path, &id)?;
        Ok(ServiceTool { id, definition: Value::Object(definition) })
    };
    tools.into_iter().enumerate().map(with_id).collect()
}

/// Each tool's secrets as they were, where the new definition leaves them out.
pub(super) fn tools_with_kept_secrets(
    new: Vec<ServiceTool>,
    old: &[ServiceTool],
    schema: &Value,
) -> Vec<ServiceTool> {
    let kept = |mut tool: ServiceTool| {
        if let Some(old) = old.iter().find(|old| old.id == tool.id) {
            let wrap = |definition: &Value| json!({ "tools": [definition] });
            let mut merged = with_kept_secrets(wrap(&tool.definition), &wrap(&old.definition), schema);
            tool.definition = merged["tools"][0].take();
        }
        tool
    };
    new.into_iter().map(kept).collect()
}

/// Refuses what could not be opened, with every problem and its path in the body.
pub(super) async fn check(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    config: &Value,
    tools: &[ServiceTool],
) -> Result<()> {
    let kind = state.gateway.kind(scheme).ok().filter(|kind| kind.ambient.is_none());
    let Some(kind) = kind else {
        let known = state.gateway.kinds().iter().filter(|kind| kind.ambient.is_none());
        let known: Vec<_> = known.map(|kind| kind.scheme).collect();
        let message = format!("there is no service type '{scheme}'; use one of {}", known.join(", "));
        return Err(Problem::invalid(vec![tool::Problem::new("type", "UnknownType", message)]));
    };
    if !kind.has_user_tools && !tools.is_empty() {
        let message = format!("services of type '{scheme}' bring their own tools; leave 'tools' out");
        return Err(Problem::invalid_field("tools", message));
    }
    if kind.is_privileged(config) {
        signed_in.may_administer()?;
    }
    if config.get("tools").is_some() {
        return Err(Problem::invalid_field("config.tools", "'tools' stands beside 'config', not in it"));
    }
    let pairs = tools.iter().map(|tool| (tool.id.clone(), tool.definition.clone()));
    let settings = settings_of(config.clone(), pairs);
    state.gateway.check(scheme, settings).await.map_err(|error| {
        let problems = error.problems().iter().cloned().map(in_body).collect::<Vec<_>>();
        if problems.is_empty() { error.into() } else { Problem::invalid(problems) }
    })
}

/// A path into the settings as a path into the body.
fn in_body(mut problem: tool::Problem) -> tool::Problem {
    let is_tool =
        problem.path.strip_prefix("tools").is_some_and(|rest| rest.is_empty() || rest.starts_with('['));
    if !is_tool {
        problem.path =
            if problem.path.is_empty() { "config".into() } else { format!("config.{}", problem.path) };
    }
    problem
}
