//! What one run of an agent may use, and what it costs.

use super::model::Usage;
use crate::shared::attempts::{Backoff, RetrySettings};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;
use tool::Problem;

/// The limits of one run, handoffs and agents inside included.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitSettings {
    /// Model calls.
    #[schemars(range(min = 1, max = 1_000))]
    pub(super) steps: u32,
    /// Tool calls.
    #[schemars(range(min = 0, max = 10_000))]
    pub(super) tool_calls: u32,
    /// Handoffs to other agents.
    #[schemars(range(min = 0, max = 100))]
    pub(super) handoffs: u32,
    /// Agents and flows inside one another, from the agent that was asked first on.
    #[schemars(range(min = 1, max = 15))]
    pub(super) depth: usize,
    /// Time, in milliseconds.
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(super) time_ms: u64,
    /// Tokens, read and written.
    #[schemars(range(min = 1))]
    pub(super) tokens: u64,
    /// Cost, in USD; needs `price`.
    #[schemars(range(min = 0))]
    pub(super) cost_usd: Option<f64>,
    /// Calls of one tool with the same arguments. The next is told to the model instead, and one more ends the run.
    #[schemars(range(min = 1, max = 1_000))]
    pub(super) repeats: u32,
    /// Bytes of one tool's result, which is cut at whole items.
    #[schemars(range(min = 256, max = 4_194_304))]
    pub(super) result_bytes: usize,
    /// Bytes of the prompt and the context together.
    #[schemars(range(min = 1, max = 4_194_304))]
    pub(super) prompt_bytes: usize,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            steps: 12,
            tool_calls: 32,
            handoffs: 5,
            depth: 5,
            time_ms: 120_000,
            tokens: 200_000,
            cost_usd: None,
            repeats: 3,
            result_bytes: 32_768,
            prompt_bytes: 262_144,
        }
    }
}

/// How long and how much is kept of what is said in conversations.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ConversationSettings {
    /// A conversation is gone so many hours after something was said in it.
    #[schemars(range(min = 1, max = 8_760))]
    pub(super) ttl_hours: u32,
    /// The most turns, each a question and its answer; the oldest go first.
    #[schemars(range(min = 1, max = 1_000))]
    pub(super) max_turns: u32,
}

impl Default for ConversationSettings {
    fn default() -> Self {
        Self { ttl_hours: 168, max_turns: 200 }
    }
}

impl ConversationSettings {
    /// How long one is kept.
    pub(super) fn time(&self) -> Duration {
        Duration::from_secs(u64::from(self.ttl_hours) * 3600)
    }
}

/// What a model costs, in USD per million tokens.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceSettings {
    /// Tokens that are read.
    #[schemars(range(min = 0))]
    pub(super) input: f64,
    /// Tokens that are written.
    #[schemars(range(min = 0))]
    pub(super) output: f64,
    /// Tokens that are read from the provider's cache; as those that are read unless given.
    #[serde(default)]
    #[schemars(range(min = 0))]
    pub(super) cached: Option<f64>,
}

impl PriceSettings {
    /// What these tokens cost.
    pub(super) fn of(self, usage: Usage) -> f64 {
        const MILLION: f64 = 1_000_000.0;
        let cached = self.cached.unwrap_or(self.input);
        let fresh = usage.input.saturating_sub(usage.cached);
        (fresh as f64 * self.input + usage.cached as f64 * cached + usage.output as f64 * self.output)
            / MILLION
    }
}

/// When and how often a model is asked again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RetryOfModels {
    /// How often a model is asked at the most.
    #[schemars(range(min = 1, max = 20))]
    pub(super) max_attempts: u32,
    /// The pause after the first failure, in milliseconds; it doubles with each one. Up to half of a pause is left out, by
    /// chance, so that many callers do not come back together.
    #[schemars(range(min = 0, max = 300_000))]
    pub(super) initial_delay_ms: u64,
    /// The longest pause, in milliseconds.
    #[schemars(range(min = 0, max = 300_000))]
    pub(super) max_delay_ms: u64,
}

impl Default for RetryOfModels {
    fn default() -> Self {
        Self { max_attempts: 3, initial_delay_ms: 500, max_delay_ms: 8_000 }
    }
}

impl RetryOfModels {
    pub(super) fn check(&self, problems: &mut Vec<Problem>) -> Backoff {
        let Self { max_attempts, initial_delay_ms, max_delay_ms } = *self;
        RetrySettings { max_attempts, initial_delay_ms, max_delay_ms }.check(problems)
    }
}
