//! What an agent's settings lead to, for those who check them when they are saved.

use super::names::model_name;
use serde_json::Value;
use tool::uses::{Naming, Right};
use tool::{Pattern, Use};

/// Every tool, agent and guardrail that the settings name, as far as they can be read.
pub(super) fn of(settings: &Value) -> Vec<Use> {
    let right = match settings["run_as"].as_str() {
        Some("agent") => Right::Saver,
        _ => Right::Caller,
    };
    let mut uses = Vec::new();
    for (at, tool) in list(&settings["tools"]) {
        let (path, uri) = match tool {
            Value::String(uri) => (format!("tools[{at}]"), Some(uri.as_str())),
            tool => (format!("tools[{at}].uri"), tool["uri"].as_str()),
        };
        let naming =
            tool["as"].as_str().map_or(Naming::Made(model_name), |name| Naming::Given(name.to_owned()));
        uses.extend(uri.map(|uri| Use { naming: Some(naming), ..found(path, uri, right, false) }));
    }
    for (at, handoff) in list(&settings["handoffs"]) {
        let to = handoff["to"].as_str();
        uses.extend(to.map(|to| found(format!("handoffs[{at}].to"), to, Right::Caller, true)));
    }
    for stage in ["input", "tool_input", "tool_output", "output"] {
        for (at, rule) in list(&settings["guardrails"][stage]) {
            let path = format!("guardrails.{stage}[{at}].tool");
            uses.extend(rule["tool"].as_str().map(|uri| found(path, uri, right, true)));
        }
    }
    uses
}

fn list(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

fn found(path: String, address: &str, right: Right, must_exist: bool) -> Use {
    Use { path, what: Pattern(address.to_owned()), right, must_exist, naming: None }
}
