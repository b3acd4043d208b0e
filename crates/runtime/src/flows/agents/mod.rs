//! Runs of agents: on the journal that flows use, with the agent's own loop as the program.

mod drive;
mod kept;
mod nodes;
mod results;
mod rights;
mod start;
mod talk;

pub(super) use drive::KnownWork;
pub(super) use nodes::{answer, is_one, value};
pub(super) use results::result_of;
pub(super) use talk::Talk;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool::secret::{MASK, names::is_likely_secret};
use tool::{Context, InstanceId};

/// What a run of an agent was given beside its arguments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Work {
    /// What data are known by among texts of others.
    mark: String,
    /// The instance at whose door it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<InstanceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) conversation: Option<Talk>,
    /// Somebody waits for it, so that it ends with the process that works on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_waited_for: bool,
}

impl Work {
    fn of(cx: &Context, new: &tool::NewWork, conversation: Option<Talk>) -> Self {
        Self {
            mark: new.mark.clone(),
            instance: cx.instance.clone(),
            conversation,
            is_waited_for: new.is_waited_for,
        }
    }
}

/// How deep arguments are looked into; what lies deeper is not shown.
const MAX_DEPTH: usize = 64;

/// What an agent wants to do as it may be shown: what is called like a secret is masked.
pub(super) fn shown(value: &Value) -> Value {
    masked(value, 0)
}

fn masked(value: &Value, depth: usize) -> Value {
    match value {
        Value::Object(_) | Value::Array(_) if depth > MAX_DEPTH => MASK.into(),
        Value::Object(fields) => {
            let mask = |(name, field): (&String, &Value)| {
                let is_secret = is_likely_secret(name) && !field.is_object();
                (name.clone(), if is_secret { MASK.into() } else { masked(field, depth + 1) })
            };
            Value::Object(fields.iter().map(mask).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| masked(item, depth + 1)).collect(),
        other => other.clone(),
    }
}
