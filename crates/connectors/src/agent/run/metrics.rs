//! What runs of agents use, counted for all of them together.

use super::super::model::Usage;
use metrics::{counter, describe_counter, describe_gauge, gauge};
use std::sync::Once;

/// Counts a run that has ended in this state, or a part of one, by what it has used.
pub(super) fn count(used: Usage, cost_usd: f64, state: &'static str) {
    static DESCRIBED: Once = Once::new();
    DESCRIBED.call_once(describe);
    counter!("mcp_all_in_one_agent_runs_total", "state" => state).increment(1);
    let Usage { input, output, cached } = used;
    for (kind, count) in [("input", input), ("output", output), ("cached", cached)] {
        counter!("mcp_all_in_one_agent_tokens_total", "kind" => kind).increment(count);
    }
    // A counter of whole numbers could not tell cents.
    gauge!("mcp_all_in_one_agent_cost_usd").increment(cost_usd);
}

fn describe() {
    describe_counter!("mcp_all_in_one_agent_runs_total", "Runs of agents, by how they ended");
    describe_counter!(
        "mcp_all_in_one_agent_tokens_total",
        "Tokens that models have told of, cached ones among the input"
    );
    describe_gauge!(
        "mcp_all_in_one_agent_cost_usd",
        "What models have cost since the start, where agents have a price"
    );
}
