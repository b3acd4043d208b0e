//! Flows that flows call: whose failure it is, and how long they may take.

use super::world::{Reply, World};
use super::{run, succeeded};
use flow::engine::{Ending, Fact, Failure, Stop};
use serde_json::json;

/// FL-1: what failed is the node that called, not one of the flow that it called.
#[tokio::test(start_paused = true)]
async fn the_failure_of_a_child_is_of_the_node_that_called_it() {
    let world = World::default();
    world.replies("flow://child", [Reply::Child("r2".to_owned())]);
    let start = world.start("nodes: {call: {flow: child}, second: {wait: 1h}}", json!({}));
    assert_eq!(start.drive().await, Ok(Stop::Parked));
    let within = Failure { node: Some("second".to_owned()), ..Failure::new("E", "m") };
    start.tell("call", Fact::ChildEnded(Err(within)));
    let Ending::Failed { error } = start.run().await else { panic!("it went well") };
    assert_eq!(error.node.as_deref(), Some("call"));
}

/// FL-1: the time in a flow's address is that of its node, as long as the node has no shorter one.
#[tokio::test(start_paused = true)]
async fn the_time_in_the_address_of_a_flow_counts() {
    for (node, seconds) in [
        ("exec: 'flow://child?timeout=5000'", 5),
        ("flow: 'child?timeout=5000', timeout: 2s", 2),
        ("flow: 'child?timeout=5000', timeout: 9s", 5),
    ] {
        let world = World::default();
        world.replies("flow://child?timeout=5000", [Reply::Child("r2".to_owned())]);
        let text = format!("nodes: {{a: {{{node}, fail: f}}, f: {{with: a.error.code}}}}");
        let begun = tokio::time::Instant::now();
        assert_eq!(succeeded(run(&text, json!({}), &world).await), json!("TIMEOUT"), "{node}");
        assert_eq!(begun.elapsed().as_secs(), seconds, "{node}");
    }
}
