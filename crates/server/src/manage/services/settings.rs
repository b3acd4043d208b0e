//! What a service is checked for before it is stored.

use super::uses;
use crate::Shared;
use crate::auth::SignedIn;
use crate::error::{Problem, Result};
use crate::manage::secrets::empty_masks;
use runtime::settings_of;
use serde_json::{Map, Value};
use store::ServiceTool;
use tool::Kind;

const MAX_ID: usize = 64;

/// Everything that is wrong with a body, one problem for each place.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<tool::Problem>);

impl Findings {
    /// Takes in what a later check found, where nothing was found at that place or above it.
    pub(crate) fn add(&mut self, later: Vec<tool::Problem>) {
        let is_known = |problem: &tool::Problem| self.0.iter().any(|known| problem.is_within(&known.path));
        let new: Vec<_> = later.into_iter().filter(|problem| !is_known(problem)).collect();
        self.0.extend(new);
    }

    /// Takes in why something was refused.
    pub(crate) fn note(&mut self, checked: Result<()>) {
        self.add(checked.err().map(|refusal| refusal.errors().to_vec()).unwrap_or_default());
    }

    /// The refusal, if there is a reason for one.
    pub(crate) fn refuse(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Problem::invalid(self.0)) }
    }
}

/// Refuses ids that would not be safe in URIs and names.
pub(crate) fn check_id(path: &str, id: &str) -> Result<()> {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if (1..=MAX_ID).contains(&id.len()) && id.chars().all(is_legal) && !id.starts_with('.') {
        return Ok(());
    }
    let message = format!("'{path}' must have 1 to {MAX_ID} letters, digits, '_', '-' or '.' (not first)");
    Err(Problem::invalid_field(path, message))
}

/// Takes the ids out of the definitions, where the store wants them.
pub(crate) fn tools_of(tools: Vec<Map<String, Value>>) -> Result<Vec<ServiceTool>> {
    let mut found = Findings::default();
    let tools = read_tools(tools, &mut found);
    found.refuse().map(|()| tools)
}

/// The same, where more is to be checked before anything is refused.
pub(crate) fn read_tools(tools: Vec<Map<String, Value>>, found: &mut Findings) -> Vec<ServiceTool> {
    tools.into_iter().enumerate().map(|(at, tool)| read_tool(at, tool, found)).collect()
}

/// The tool at this place in the list. One whose id is wrong is of no use but to be checked.
pub(crate) fn read_tool(at: usize, mut definition: Map<String, Value>, found: &mut Findings) -> ServiceTool {
    let path = format!("tools[{at}].id");
    let id = match definition.shift_remove("id") {
        Some(Value::String(id)) => {
            found.note(check_id(&path, &id));
            id
        }
        other => {
            let message = match other {
                Some(_) => format!("'{path}' must be a string"),
                None => format!("Missing required setting '{path}'"),
            };
            found.note(Err(Problem::invalid_field(&path, message)));
            String::new()
        }
    };
    ServiceTool { id, definition: Value::Object(definition) }
}

/// Refuses settings that act as this machine itself to all but admins: before anything is looked up by them, whether they
/// are to be saved or only tried out.
pub(crate) fn may_open(signed_in: &SignedIn, kind: &Kind, config: &Value) -> Result<()> {
    match kind.privileged(config) {
        Some(setting) if signed_in.may_administer().is_err() => {
            let (path, role) = (format!("config.{setting}"), signed_in.caller.role.as_str());
            let message = format!(
                "'{path}' acts on the machine of this server, so only an admin may set it; you are {role}"
            );
            Err(Problem::forbidden(&message).with_errors(vec![tool::Problem::new(
                path,
                "AdminOnly",
                message,
            )]))
        }
        _ => Ok(()),
    }
}

/// Refuses what could not be opened, with every problem and its path in the body.
pub(crate) async fn check(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    config: &Value,
    tools: &[ServiceTool],
) -> Result<()> {
    check_also(state, signed_in, scheme, config, tools, Findings::default()).await
}

/// The same, where something may have been found already.
pub(crate) async fn check_also(
    state: &Shared,
    signed_in: &SignedIn,
    scheme: &str,
    config: &Value,
    mut tools: &[ServiceTool],
    mut found: Findings,
) -> Result<()> {
    let kind = state.gateway.kind(scheme).ok().filter(|kind| kind.ambient.is_none());
    let Some(kind) = kind else {
        let known = state.gateway.kinds().iter().filter(|kind| kind.ambient.is_none());
        let known: Vec<_> = known.map(|kind| kind.scheme).collect();
        let absence = state.gateway.registry().no_service_type(scheme);
        let message = format!("{absence}; use one of {}", known.join(", "));
        found.add(vec![tool::Problem::new("type", "UnknownType", message)]);
        return found.refuse();
    };
    if !kind.has_user_tools && !tools.is_empty() {
        let message = format!("services of type '{scheme}' bring their own tools; leave 'tools' out");
        found.note(Err(Problem::invalid_field("tools", message)));
        tools = &[];
    }
    may_open(signed_in, kind, config)?;
    let mut config = config.clone();
    let has_tools_in_config = kind.has_user_tools
        && config.as_object_mut().is_some_and(|config| config.shift_remove("tools").is_some());
    if has_tools_in_config {
        found.note(Err(Problem::invalid_field("config.tools", "'tools' stands beside 'config', not in it")));
    }
    let pairs = tools.iter().map(|tool| (tool.id.clone(), tool.definition.clone()));
    let settings = settings_of(config, pairs);
    let in_body = |problem| in_body(problem, kind.has_user_tools);
    let masks = empty_masks(&settings, kind.settings_schema(), "");
    let unusable = uses::problems(state, signed_in, kind, &settings);
    match state.gateway.check(&signed_in.tenant, scheme, settings).await {
        Err(error) if error.problems().is_empty() => return Err(error.into()),
        Err(error) => found.add(error.problems().iter().cloned().map(in_body).collect()),
        Ok(()) => found.add(unusable.into_iter().map(in_body).collect()),
    }
    found.add(masks.into_iter().map(in_body).collect());
    found.refuse()
}

/// A path into the settings as a path into the body, where the tools of users stand beside the others.
fn in_body(mut problem: tool::Problem, has_user_tools: bool) -> tool::Problem {
    let is_tool = has_user_tools
        && problem.path.strip_prefix("tools").is_some_and(|rest| rest.is_empty() || rest.starts_with('['));
    if !is_tool {
        problem.path =
            if problem.path.is_empty() { "config".into() } else { format!("config.{}", problem.path) };
    }
    problem
}
