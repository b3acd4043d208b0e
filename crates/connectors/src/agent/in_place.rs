//! An agent that a flow defines where it asks it: the model, the key, the limits and the rules of a service, and work of its
//! own.

use super::Agent;
use super::binding::{ToolSettings, check_tools};
use super::names::check_names;
use super::output_check::OutputCheck;
use super::settings::{RunAs, check_template, default_output_retries};
use gotemplate::Missing;
use tool::connector::invalid_settings;
use tool::journal::Journaled;
use tool::{Context, InPlace, Result, Shared};

/// What the agent is to be for this call, or for the run that the call goes on with.
pub(super) fn given(cx: &Context) -> Option<InPlace> {
    let shared = cx.shared.as_ref()?;
    match shared.get::<Journaled>() {
        Some(journaled) => journaled.in_place.clone(),
        None => Shared::get::<InPlace>(shared).map(|given| InPlace::clone(&given)),
    }
}

impl Agent {
    /// The agent that uses this one's model. What it calls, it calls with the rights of the flow: those that whoever saved
    /// this one had are for its own tools.
    pub(super) fn in_place(&self, given: &InPlace) -> Result<Self> {
        let mut problems = Vec::new();
        let instructions = check_template("instructions", &given.instructions, Missing::Error, &mut problems);
        let tools: Vec<_> = given.tools.iter().cloned().map(ToolSettings::Address).collect();
        let bindings = check_tools(&tools, &mut problems);
        check_names(&bindings, &[], &mut problems);
        let schema = given.output.as_ref();
        let output = schema.map(|schema| OutputCheck::new(schema, default_output_retries(), &mut problems));
        let Some(instructions) = instructions.filter(|_| problems.is_empty()) else {
            return Err(invalid_settings("agent", problems));
        };
        Ok(Self {
            id: self.id.clone(),
            description: None,
            model: self.model.clone(),
            parameters: self.parameters.clone(),
            instructions,
            bindings,
            handoffs: Vec::new(),
            output: output.flatten(),
            parallel: self.parallel,
            approval: self.approval,
            approval_by: self.approval_by,
            approval_ttl_s: self.approval_ttl_s,
            price: self.price,
            run_as: RunAs::Caller,
            guardrails: self.guardrails.clone(),
            limits: self.limits.clone(),
            conversations: self.conversations.clone(),
            tools: self.tools.clone(),
            runs: self.runs.clone(),
        })
    }
}
