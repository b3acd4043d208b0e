//! What is counted for all services together: handles made once, so that a call only adds to atomics.

use metrics::{Counter, Histogram, counter, describe_counter, describe_histogram, histogram};

/// The counters that belong to no service.
#[derive(Debug, Clone)]
pub(crate) struct GatewayMetrics {
    pub(crate) refused: Counter,
    pub(crate) lists: Counter,
    pub(crate) bind_seconds: Histogram,
    pub(crate) tool_search_seconds: Histogram,
}

impl GatewayMetrics {
    pub(crate) fn new() -> Self {
        describe();
        Self {
            refused: counter!("mcp_all_in_one_calls_refused_total"),
            lists: counter!("mcp_all_in_one_lists_total"),
            bind_seconds: histogram!("mcp_all_in_one_bind_seconds"),
            tool_search_seconds: histogram!("mcp_all_in_one_tool_search_seconds"),
        }
    }
}

/// The counters of response templates.
#[derive(Debug, Clone)]
pub(crate) struct TemplateMetrics {
    pub(crate) hits: Counter,
    pub(crate) render_seconds: Histogram,
}

impl TemplateMetrics {
    /// Counts the compilation that this belongs to; it is a miss of the cache, which the routes are.
    pub(crate) fn compiled() -> Self {
        counter!("mcp_all_in_one_template_compilations_total").increment(1);
        counter!("mcp_all_in_one_template_cache_misses_total").increment(1);
        Self {
            hits: counter!("mcp_all_in_one_template_cache_hits_total"),
            render_seconds: histogram!("mcp_all_in_one_template_render_seconds"),
        }
    }
}

fn describe() {
    describe_counter!(
        "mcp_all_in_one_calls_refused_total",
        "Calls turned away before they reached a service"
    );
    describe_counter!("mcp_all_in_one_lists_total", "Lists of tools given out");
    describe_histogram!("mcp_all_in_one_bind_seconds", "Time to check arguments and fill in defaults");
    describe_histogram!("mcp_all_in_one_tool_search_seconds", "Time to find tools");
    describe_counter!("mcp_all_in_one_template_compilations_total", "Response templates compiled");
    describe_counter!("mcp_all_in_one_template_cache_misses_total", "Templates that were not compiled yet");
    describe_counter!("mcp_all_in_one_template_cache_hits_total", "Renderings of a template compiled before");
    describe_histogram!("mcp_all_in_one_template_render_seconds", "Time to render a response template");
}
