//! Runs of agents: on the journal that flows use, with the agent's own loop as the program.

mod drive;
mod journal;
mod nodes;
mod questions;
mod results;
mod rights;
mod start;
mod talk;

pub(super) use drive::KnownWork;
pub(super) use nodes::{answer, target, value};
pub(super) use results::{RunTold, cancelled, result_of};
pub(super) use talk::Talk;

use serde::{Deserialize, Serialize};
use tool::{Client, Context, InPlace, InstanceId};

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
    /// It was asked through `call_tool`, which its record says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_through_call_tool: bool,
    /// The caller's own program lets its model answer, as often as it comes back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    can_sample: bool,
    /// What the agent is for it, where a flow says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    in_place: Option<InPlace>,
}

impl Work {
    fn of(cx: &Context, new: &tool::NewWork, conversation: Option<Talk>) -> Self {
        Self {
            mark: new.mark.clone(),
            instance: cx.instance.clone(),
            conversation,
            is_waited_for: new.is_waited_for,
            is_through_call_tool: cx.via.is_some(),
            can_sample: cx.client.as_deref().is_some_and(Client::samples_as_outcome),
            in_place: new.in_place.clone(),
        }
    }
}
