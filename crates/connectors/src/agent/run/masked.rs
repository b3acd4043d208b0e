//! What a model is sent, without what it is not to see: wherever that came from, it is masked here, and the tools and the
//! caller get what it stands for.

use super::super::model::{Offer, Turn};
use super::think::Thinking;
use super::work::Run;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::PoisonError;

/// The texts of one model call.
pub(super) struct Texts<'t> {
    pub(super) system: String,
    pub(super) turns: Cow<'t, [Turn]>,
    pub(super) tools: Vec<Offer>,
}

impl Run {
    /// The text as the model may see it.
    pub(super) fn masked(&self, text: &str) -> String {
        self.masks.lock().unwrap_or_else(PoisonError::into_inner).hiding()(text)
    }
}

impl Thinking<'_> {
    /// Everything that the model is sent, as it may see it by the rules of all agents of the run.
    pub(super) fn masked(&self, system: String, tools: Vec<Offer>) -> Texts<'_> {
        let masks = self.work.run.masks.lock().unwrap_or_else(PoisonError::into_inner);
        if masks.is_empty() {
            return Texts { system, turns: Cow::Borrowed(&self.turns), tools };
        }
        let hide = masks.hiding();
        let offer = |tool: Offer| {
            let parameters = RawValue::from_string(hide(tool.parameters.get()));
            Offer {
                description: hide(&tool.description),
                parameters: parameters.map_or(tool.parameters, Into::into),
                ..tool
            }
        };
        Texts {
            system: hide(&system),
            turns: self.turns.iter().map(|turn| turn.map(&hide)).collect(),
            tools: tools.into_iter().map(offer).collect(),
        }
    }
}
