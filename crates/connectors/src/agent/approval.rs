//! Which calls somebody has to approve, and how that is asked.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tool::secret::names::masked_fields;
use tool::uri::Method;
use tool::{Ability, CallableTool, Context, Error, Question, Result, approving};

/// Which calls need approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Approval {
    /// Of tools that say that they destroy, and HTTP DELETE.
    #[default]
    Destructive,
    Never,
    /// Of all tools but those that say that they only read.
    Writes,
    /// Of all tools, once a result was read that is not trusted.
    AfterUntrusted,
    Always,
}

/// Who approves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum ApprovalBy {
    /// Whoever calls the agent.
    #[default]
    Caller,
    /// Managers, and never whoever calls the agent.
    Manager,
}

/// What a tool says of itself. What nobody can read counts as the answer that is more dangerous to get wrong: a tool is not
/// called unasked because one of its hints is mistyped.
#[derive(Debug, Clone, Copy)]
struct Hints {
    is_read_only: bool,
    is_destructive: bool,
    is_idempotent: bool,
}

fn hints(tool: &CallableTool) -> Hints {
    let said = tool.tool.field("annotations").map(|raw| serde_json::from_str::<Value>(raw.get()));
    let said = said.map_or(Value::Null, |said| said.unwrap_or_else(|_| Value::from("unreadable")));
    let deletes = tool.tool.methods().first() == Some(&Method::Delete)
        || tool.uri.options().method == Some(Method::Delete);
    Hints {
        is_read_only: hint(&said, "readOnlyHint") == Some(true),
        is_destructive: deletes || hint(&said, "destructiveHint") != Some(false),
        is_idempotent: hint(&said, "idempotentHint") == Some(true),
    }
}

/// One hint of the annotations, which says no where nothing is said; nothing where it cannot be read.
fn hint(said: &Value, name: &str) -> Option<bool> {
    match said {
        Value::Null => Some(false),
        Value::Object(said) => match said.get(name) {
            None | Some(Value::Null) => Some(false),
            Some(hint) => hint.as_bool(),
        },
        _ => None,
    }
}

/// Whether a call may be made again whose outcome is unknown: of tools that say so, and of what keeps to the key of a
/// call, which agents inside and flows do.
pub(super) fn is_repeatable(tool: &CallableTool) -> bool {
    let hints = hints(tool);
    hints.is_read_only || hints.is_idempotent || tool.run_kind.is_some()
}

impl Approval {
    /// Whether a call of this tool needs it now.
    pub(super) fn is_needed(self, tool: &CallableTool, has_untrusted: bool) -> bool {
        let hints = hints(tool);
        match self {
            Self::Destructive => hints.is_destructive,
            Self::Never => false,
            Self::Writes => !hints.is_read_only,
            Self::AfterUntrusted => has_untrusted,
            Self::Always => true,
        }
    }
}

/// So often a question is asked that is answered otherwise than it asks for.
const ATTEMPTS: usize = 3;

/// What was decided.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Approved,
    /// Not, for this reason if one was given.
    Denied(Option<String>),
}

/// Asks the person behind the calling client. The answer holds for this call alone.
///
/// # Errors
/// When nobody can be asked, or nobody answers.
pub(super) async fn ask(
    cx: &Context,
    agent: &str,
    uri: &str,
    arguments: &Map<String, Value>,
) -> Result<Decision> {
    let client = cx.client.as_ref().filter(|client| client.can(Ability::Elicitation));
    let client = client.ok_or_else(|| {
        Error::unsupported(
            "the call needs approval, and the calling program cannot ask anybody (elicitation)",
        )
    })?;
    let shown = masked_fields(&Value::Object(arguments.clone()));
    let message = approving::message(agent, uri, &shown);
    let params = json!({ "message": message, "requestedSchema": approving::form() });
    let params = to_raw_value(&params).ok();
    for _ in 0..ATTEMPTS {
        let question = Question { ability: Ability::Elicitation, params: params.clone() };
        if let Some(decision) = read(&client.ask(cx, question).await?) {
            return Ok(decision);
        }
    }
    let message = "the call needs approval, and the calling program has answered what nobody has asked for: 'decision' is \
                   'approve' or 'reject'";
    Err(Error::unsupported(message))
}

/// The person has said something that may be a yes: what was filled in says whether it is.
pub(super) fn is_approved(answer: &Value) -> bool {
    answer["action"] == "accept"
}

/// Whoever fills nothing in says no; what is filled in otherwise than the form asks for it says nothing.
fn read(answer: &RawValue) -> Option<Decision> {
    let answer: Value = serde_json::from_str(answer.get()).unwrap_or_default();
    let content = &answer["content"];
    match is_approved(&answer) {
        true if !approving::is_clear(content) => None,
        true if approving::is_yes(content) => Some(Decision::Approved),
        true | false => Some(Decision::Denied(approving::comment(content))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        let read = |text: &str| read(serde_json::from_str(text).unwrap());
        assert_eq!(read(r#"{"action":"accept","content":{"decision":"approve"}}"#), Some(Decision::Approved));
        for no in [r#"{"action":"decline"}"#, r#"{"action":"cancel","content":{"decision":"approve"}}"#, "[]"]
        {
            assert_eq!(read(no), Some(Decision::Denied(None)), "{no}");
        }
        for unclear in [
            r#"{"action":"accept","content":{}}"#,
            r#"{"action":"accept"}"#,
            r#"{"action":"accept","content":{"decision":"APPROVE"}}"#,
            r#"{"action":"accept","content":{"decision":"yes"}}"#,
        ] {
            assert_eq!(read(unclear), None, "{unclear}");
        }
        let no = read(r#"{"action":"accept","content":{"decision":"reject","comment":"not today"}}"#);
        assert_eq!(no, Some(Decision::Denied(Some("not today".into()))));
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown =
            masked_fields(&json!({ "to": "x", "auth": { "api_key": "S" }, "list": [{ "token": "S" }] }));
        assert!(!shown.to_string().contains("\"S\""), "{shown}");
    }
}
