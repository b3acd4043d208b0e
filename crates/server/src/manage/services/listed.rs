//! Tools of services for those who have an allow-list: what is not on it is not shown, as in every list of tools.

use super::ServiceView;
use gateway::catalog::naming::wire_name;
use gateway::policy::is_listed;
use serde_json::Value;
use tool::secret::MASK;
use tool::{Caller, Scope, Uri};

/// The tool is on the caller's list, or there is no such list.
pub(super) fn shows(caller: &Caller, scheme: &str, service: &str, tool: &str) -> bool {
    is_listed(caller, &wire_name(service, tool), &Uri::of_tool(scheme, service, tool).to_string())
}

impl ServiceView {
    /// The service as this caller sees it.
    pub(super) fn for_caller(mut self, caller: &Caller) -> Self {
        let Self { scheme, id, tools, .. } = &mut self;
        tools.retain(|tool| tool["id"].as_str().is_none_or(|tool| shows(caller, scheme, id, tool)));
        if !caller.may(Scope::Manage) {
            self.hide_arguments();
        }
        self
    }

    /// Behind `-p` of a command stands a port or a password, and nobody can tell which: only those who look after the
    /// service see what it is given.
    fn hide_arguments(&mut self) {
        if let Some(arguments) = self.config.get_mut("args").and_then(Value::as_array_mut) {
            arguments.iter_mut().for_each(|argument| *argument = MASK.into());
        }
    }
}
