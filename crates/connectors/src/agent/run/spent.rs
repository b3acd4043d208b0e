//! What a run has used, and which of its limits is reached.

use super::super::limits::{LimitSettings, PriceSettings};
use super::super::model::Usage;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use tool::{Error, Reason, Result};

/// What a run has used so far.
#[derive(Debug, Default)]
pub(super) struct Spent {
    pub(super) model_calls: u32,
    pub(super) tool_calls: u32,
    usage: Usage,
    /// What of it was used before the run was taken up again.
    recalled: Usage,
    /// A model has not said what it used.
    is_unknown: bool,
    cost_usd: Option<f64>,
    /// How often each tool was asked for with the same arguments, by the digest of both: they may be long.
    repeats: HashMap<[u8; 32], u32>,
    pub(super) handoffs: Vec<HandoffDone>,
    warnings: Vec<String>,
    /// How many older turns of the conversation the model is not told of.
    pub(super) left_out: usize,
    /// A result was read that is not trusted.
    pub(super) has_untrusted: bool,
}

/// A handoff that was made.
#[derive(Debug, Clone, Serialize)]
pub(super) struct HandoffDone {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) reason: String,
}

/// What is told and recorded of what was used.
#[derive(Debug, Serialize)]
pub(super) struct UsageReport {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cached_tokens: Option<u64>,
    model_calls: u32,
    tool_calls: u32,
    cost_usd: Option<f64>,
}

/// What becomes of a call that was asked for before with the same arguments.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    Fine,
    /// It is not made again, and the model is told so.
    Told,
}

impl Spent {
    /// Another model call may be made.
    ///
    /// # Errors
    /// Which limit is reached.
    pub(super) fn may_think(&self, limits: &LimitSettings) -> Result<()> {
        let ended =
            |reason, what: String| Err(Error::upstream(format!("the run has ended: {what}")).because(reason));
        if self.model_calls >= limits.steps {
            return ended(Reason::StepLimit, format!("it may have {} model calls", limits.steps));
        }
        if self.usage.input.saturating_add(self.usage.output) >= limits.tokens {
            return ended(Reason::TokenLimit, format!("it may use {} tokens", limits.tokens));
        }
        match (limits.cost_usd, self.cost_usd) {
            (Some(most), _) if self.is_unknown => {
                let why =
                    "and a model has not said what it used; take 'limits.cost_usd' out, or another model";
                ended(Reason::CostLimit, format!("it may cost {most} USD, {why}"))
            }
            (Some(most), Some(cost)) if cost >= most => {
                ended(Reason::CostLimit, format!("it may cost {most} USD"))
            }
            _ => Ok(()),
        }
    }

    /// Counts a model call.
    pub(super) fn thought(&mut self, usage: Option<Usage>, price: Option<PriceSettings>) {
        self.model_calls += 1;
        let Some(usage) = usage else {
            self.is_unknown = true;
            return;
        };
        self.usage = self.usage.and(usage);
        if let Some(price) = price {
            *self.cost_usd.get_or_insert_default() += price.of(usage);
        }
    }

    /// Counts a model call that was made before the run was taken up again.
    pub(super) fn recall(&mut self, usage: Option<Usage>, price: Option<PriceSettings>) {
        self.thought(usage, price);
        self.recalled = self.recalled.and(usage.unwrap_or_default());
    }

    /// Counts a call that the model asks for.
    ///
    /// # Errors
    /// `Loop` when the model was told, and asks again.
    pub(super) fn repeated(&mut self, tool: &str, arguments: &str, limits: &LimitSettings) -> Result<Repeat> {
        let count = self.repeats.entry(digest_of(tool, arguments)).or_default();
        *count += 1;
        if *count <= limits.repeats {
            return Ok(Repeat::Fine);
        }
        if *count == limits.repeats + 1 {
            return Ok(Repeat::Told);
        }
        Err(in_a_loop(tool))
    }

    /// Counts calls that are about to be made.
    ///
    /// # Errors
    /// `ToolLimit` when they are too many.
    pub(super) fn may_call(&mut self, calls: usize, limits: &LimitSettings) -> Result<()> {
        let calls = u32::try_from(calls).unwrap_or(u32::MAX);
        if self.tool_calls.saturating_add(calls) > limits.tool_calls {
            let message = format!("the run has ended: it may have {} tool calls", limits.tool_calls);
            return Err(Error::upstream(message).because(Reason::ToolLimit));
        }
        self.tool_calls += calls;
        Ok(())
    }

    /// Remembers a call that was asked for before the run was taken up again.
    pub(super) fn remember(&mut self, tool: &str, arguments: &str) {
        *self.repeats.entry(digest_of(tool, arguments)).or_default() += 1;
    }

    /// Says something once.
    pub(super) fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Everything to be told of beside the answer.
    pub(super) fn warnings(&self) -> Vec<String> {
        let left_out = self.left_out;
        let too_long =
            (left_out > 0).then(|| format!("{left_out} older turns of the conversation are left out"));
        too_long.into_iter().chain(self.warnings.iter().cloned()).collect()
    }

    /// The tokens so far, where all models have told theirs.
    pub(super) fn usage(&self) -> Option<Usage> {
        (!self.is_unknown).then_some(self.usage)
    }

    /// The tokens since the run was taken up.
    pub(super) fn usage_of_now(&self) -> Usage {
        self.usage.since(self.recalled)
    }

    /// What it has cost so far, as far as there is a price.
    pub(super) fn cost_usd(&self) -> f64 {
        self.cost_usd.unwrap_or_default()
    }

    pub(super) fn told(&self) -> UsageReport {
        let known = |count: u64| (!self.is_unknown).then_some(count);
        UsageReport {
            input_tokens: known(self.usage.input),
            output_tokens: known(self.usage.output),
            cached_tokens: known(self.usage.cached),
            model_calls: self.model_calls,
            tool_calls: self.tool_calls,
            cost_usd: self.cost_usd,
        }
    }
}

/// Why a run ends whose model repeats itself.
pub(super) fn in_a_loop(tool: &str) -> Error {
    let message =
        format!("the run has ended: the model calls '{tool}' with the same arguments again and again");
    Error::upstream(message).because(Reason::Loop)
}

fn digest_of(tool: &str, arguments: &str) -> [u8; 32] {
    Sha256::new().chain_update(tool).chain_update([0]).chain_update(arguments).finalize().into()
}
