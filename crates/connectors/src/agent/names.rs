//! What the model calls things by: a name that every model takes, and no two of one name.

use super::ASK;
use super::binding::{Binding, BoundTo, Handoff};
use std::collections::HashMap;
use tool::{Problem, RunKind, Uri};

/// The longest name that every model takes.
pub(super) const MAX_NAME: usize = 64;
/// What a handoff is called, before the agent's id.
const HANDOFF: &str = "handoff_to_";

/// A name as every model takes it.
pub(super) fn model_name(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    name.chars().take(MAX_NAME).map(legal).collect()
}

/// What handing over to an agent is called.
pub(super) fn handoff_name(to: &Uri) -> String {
    model_name(&format!("{HANDOFF}{}", to.service()))
}

/// No two things may have one name for the model, as far as that is known without a catalog: what patterns stand for is
/// told when it is looked up.
pub(super) fn check_names(bindings: &[Binding], handoffs: &[Handoff], problems: &mut Vec<Problem>) {
    let mut known: HashMap<String, &Binding> = HashMap::new();
    let of_handoffs: Vec<_> = handoffs.iter().map(|handoff| handoff_name(&handoff.to)).collect();
    for (at, handoff) in handoffs.iter().enumerate() {
        if of_handoffs[..at].contains(&of_handoffs[at]) {
            let message = format!(
                "{} is called like another handoff, as names are cut to {MAX_NAME} letters",
                handoff.to
            );
            problems.push(Problem::new(format!("handoffs[{at}].to"), "DuplicateName", message));
        }
    }
    for (at, binding) in bindings.iter().enumerate() {
        let path = match binding.name {
            Some(_) => format!("tools[{at}].as"),
            None => format!("tools[{at}]"),
        };
        let Some(name) = expected_name(binding) else { continue };
        if ranking::is_reserved(&name) {
            let message =
                format!("'{name}' is what tools are found with; give the tool another name in 'as'");
            problems.push(Problem::new(path.clone(), "ReservedName", message));
        }
        let is_taken = known.get(&name).is_some_and(|other| has_same_name(other, binding));
        if is_taken || of_handoffs.contains(&name) {
            let message =
                format!("two tools would be called '{name}'; give one of them another name in 'as'");
            problems.push(Problem::new(path, "DuplicateName", message));
        }
        known.insert(name, binding);
    }
}

/// What the one tool of a binding is called: as the settings say, or as catalogs name tools unless that is taken or
/// nothing that clients take.
fn expected_name(binding: &Binding) -> Option<String> {
    if let Some(name) = &binding.name {
        return Some(name.clone());
    }
    let BoundTo::One(uri) = &binding.target else { return None };
    let own = match uri.tool() {
        _ if uri.scheme() == RunKind::Agent.scheme() => format!("{}__{ASK}", uri.service()),
        Some(tool) => format!("{}__{tool}", uri.service()),
        None => uri.service().to_owned(),
    };
    let is_kept = own.len() <= MAX_NAME
        && own.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    is_kept.then(|| model_name(&own))
}

/// Names that settings give are as they are written, and so are those within one service. Of tools of different services
/// a catalog names one otherwise.
fn has_same_name(one: &Binding, other: &Binding) -> bool {
    let service = |binding: &Binding| match &binding.target {
        BoundTo::One(uri) => Some((uri.scheme().to_owned(), uri.service().to_owned())),
        BoundTo::Many(_) => None,
    };
    one.name.is_some() || other.name.is_some() || service(one) == service(other)
}

#[cfg(test)]
mod tests {
    use super::super::binding::{check_handoffs, check_tools};
    use super::*;
    use serde_json::{Value, json};

    fn problems(tools: Value, handoffs: Value) -> Vec<String> {
        let mut problems = Vec::new();
        let tools = check_tools(&serde_json::from_value::<Vec<_>>(tools).unwrap(), &mut problems);
        let handoffs: Vec<_> = serde_json::from_value(handoffs).unwrap();
        let handoffs = check_handoffs(&handoffs, None, &mut problems);
        check_names(&tools, &handoffs, &mut problems);
        problems.into_iter().map(|problem| problem.path).collect()
    }

    #[test]
    fn two_tools_of_one_name_are_refused_where_that_can_be_known() {
        let none: [&str; 0] = [];
        for (tools, expected) in [
            (json!(["api://crm/echo", { "uri": "api://crm/other", "as": "crm__echo" }]), vec!["tools[1].as"]),
            (json!([{ "uri": "api://crm/other", "as": "crm__echo" }, "api://crm/echo"]), vec!["tools[1]"]),
            (json!(["api://crm/a.b", "api://crm/a_b"]), vec!["tools[1]"]),
            (json!(["api://crm/echo", "api://crm/echo?timeout=5"]), vec!["tools[1]"]),
            (json!([{ "uri": "mcp://x/y", "as": "b__ask" }, "agent://b"]), vec!["tools[1]"]),
            (json!([{ "uri": "mcp://x/y", "as": "handoff_to_b" }]), vec!["tools[0].as"]),
            // A catalog calls one of them otherwise.
            (json!(["api://crm/echo", "mcp://crm/echo", "api://crm/*"]), none.to_vec()),
            (json!(["api://crm/echo", { "uri": "api://crm/echo", "as": "again" }]), none.to_vec()),
        ] {
            let handoffs = json!([{ "to": "agent://b", "when": "always" }]);
            assert_eq!(problems(tools.clone(), handoffs), expected, "{tools}");
        }
        let long = |end: &str| json!({ "to": format!("agent://{}{end}", "x".repeat(60)), "when": "always" });
        assert_eq!(problems(json!([]), json!([long("1"), long("2")])), ["handoffs[1].to"]);
    }
}
