//! What is to be said about the tools of a service: which have changed, and in which something hides.

use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use tool::{Hidden, Pinning};

/// About the tools that a service offered when it was last asked.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What the service's settings say.
    pub pinning: Pinning,
    /// By name.
    pub tools: BTreeMap<String, ToolReport>,
    /// Why others are left out, by name.
    pub left_out: BTreeMap<String, String>,
}

/// About one tool.
#[derive(Debug, Clone)]
pub struct ToolReport {
    /// Of the definition that the service has now; empty when pins are off.
    pub fingerprint: String,
    /// How that compares with its pin.
    pub state: State,
    /// What was taken out of its words, or stands where nothing can be taken out.
    pub hidden: BTreeSet<Hidden>,
    /// Fields that were not of the types that MCP gives them.
    pub out_of_form: Vec<String>,
}

/// How a definition compares with its pin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is what it was.
    Pinned,
    /// It came after the others, and nobody has approved it.
    New,
    /// These parts are not what they were.
    Changed(Vec<&'static str>),
}

impl Report {
    /// A tool that is neither listed nor called until somebody approves its change.
    #[must_use]
    pub fn is_held(&self, tool: &str) -> bool {
        let is_changed = |tool: &ToolReport| matches!(tool.state, State::Changed(_));
        self.pinning == Pinning::Enforce && self.tools.get(tool).is_some_and(is_changed)
    }

    /// What somebody has to approve: the fingerprints by name.
    #[must_use]
    pub fn to_approve(&self) -> BTreeMap<String, String> {
        let open = self.tools.iter().filter(|(_, tool)| tool.state != State::Pinned);
        open.map(|(name, tool)| (name.clone(), tool.fingerprint.clone())).collect()
    }

    /// Everything that somebody should look at, in sentences.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let left_out =
            self.left_out.iter().map(|(name, why)| format!("tool '{}' is left out: {why}", visible(name)));
        left_out.chain(self.tools.iter().flat_map(|(name, tool)| self.about(name, tool))).collect()
    }

    fn about(&self, name: &str, tool: &ToolReport) -> Vec<String> {
        let name = visible(name);
        let mut warnings = Vec::new();
        match &tool.state {
            State::Pinned => {}
            State::New => warnings.push(format!("tool '{name}' is new and not approved")),
            State::Changed(parts) => {
                let held =
                    if self.pinning == Pinning::Enforce { "; it is held back until approved" } else { "" };
                warnings.push(format!("tool '{name}' has changed its {}{held}", parts.join(" and ")));
            }
        }
        if !tool.hidden.is_empty() {
            let kinds: Vec<String> = tool.hidden.iter().map(ToString::to_string).collect();
            warnings.push(format!("tool '{name}' hides {} in its definition", kinds.join(", ")));
        }
        if !tool.out_of_form.is_empty() {
            let fields = tool.out_of_form.join(", ");
            warnings.push(format!("tool '{name}' has fields of types that MCP does not give them: {fields}"));
        }
        warnings
    }
}

fn visible(name: &str) -> Cow<'_, str> {
    tool::sanitize::clean(name, &mut BTreeSet::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MC-2
    #[test]
    fn says_which_definitions_are_not_as_mcp_has_them() {
        let tool = ToolReport {
            fingerprint: String::new(),
            state: State::Pinned,
            hidden: BTreeSet::new(),
            out_of_form: vec!["title".to_owned(), "icons".to_owned()],
        };
        let report = Report {
            tools: [("odd".to_owned(), tool)].into(),
            left_out: [("none\u{200b}".to_owned(), "why".to_owned())].into(),
            ..Report::default()
        };
        let expected = [
            "tool 'none' is left out: why",
            "tool 'odd' has fields of types that MCP does not give them: title, icons",
        ];
        assert_eq!(report.warnings(), expected);
    }
}
