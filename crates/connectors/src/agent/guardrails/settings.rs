//! Guardrails as settings write them.

use schemars::JsonSchema;
use serde::Deserialize;

/// Rules, by what they look at.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in super::super) struct GuardrailSettings {
    /// Of the prompt and the context, before anything is sent.
    #[schemars(length(max = 32))]
    pub(super) input: Vec<RuleSettings>,
    /// Of the arguments of tool calls.
    #[schemars(length(max = 32))]
    pub(super) tool_input: Vec<RuleSettings>,
    /// Of the results of tool calls, before the model reads them.
    #[schemars(length(max = 32))]
    pub(super) tool_output: Vec<RuleSettings>,
    /// Of the answer.
    #[schemars(length(max = 32))]
    pub(super) output: Vec<RuleSettings>,
}

/// One rule: exactly one of `max_chars`, `pattern`, `pii`, `links` and `tool`, and what is done.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct RuleSettings {
    /// The most characters of the text.
    #[serde(default)]
    pub(super) max_chars: Option<usize>,
    /// A regular expression that the text must not have a match of.
    #[serde(default)]
    pub(super) pattern: Option<String>,
    /// Kinds of personal data that the text must not have.
    #[serde(default)]
    pub(super) pii: Option<Vec<Pii>>,
    /// The hosts that links and pictures may lead to.
    #[serde(default)]
    pub(super) links: Option<Vec<String>>,
    /// The address of a tool that judges: called with `stage`, `text` and `agent`, it answers `allow`, and perhaps `reason`
    /// and another `text`.
    #[serde(default)]
    pub(super) tool: Option<String>,
    /// What is done: `block`; `redact`, take out what was found; or `mask`, show the model `[MAIL_1]` and everybody
    /// else the real one. `block` unless given; links are taken out.
    #[serde(default)]
    pub(super) action: Option<Action>,
}

impl RuleSettings {
    /// How many kinds of rules it would be.
    pub(super) fn kinds(&self) -> usize {
        let Self { max_chars, pattern, pii, links, tool, action: _ } = self;
        let given = [max_chars.is_some(), pattern.is_some(), pii.is_some(), links.is_some(), tool.is_some()];
        given.into_iter().filter(|is_given| *is_given).count()
    }

    /// Why its action cannot be done, if it cannot.
    pub(super) fn wrong_action(&self) -> Option<&'static str> {
        let can_only_block = self.max_chars.is_some() || self.tool.is_some();
        match self.action? {
            Action::Redact | Action::Mask if can_only_block => Some("such a rule can only block"),
            Action::Mask if self.links.is_some() => Some("links can be taken out, not masked"),
            Action::Block | Action::Redact | Action::Mask => None,
        }
    }
}

/// Kinds of personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(in super::super) enum Pii {
    Mail,
    Phone,
    Card,
    Id,
    Bank,
    Key,
}

/// What is done with what a rule finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(in super::super) enum Action {
    Block,
    Redact,
    Mask,
}
