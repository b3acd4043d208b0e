//! Compiled templates: made when a tool is loaded, kept while it stays the same, dropped when it changes.

use crate::support::*;
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::json;

/// HT-6.1, HT-6.2, HT-6.3, HT-6.4, HD-8
#[tokio::test]
async fn a_template_is_compiled_once_per_change_and_never_per_call() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let _recording = metrics::set_default_local_recorder(&recorder);
    let handle = recorder.handle();
    let count = |name: &str| -> u64 {
        let rendered = handle.render();
        let line =
            rendered.lines().find(|line| line.starts_with(&format!("mcp_all_in_one_template_{name} ")));
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
    };
    let with = |template: &str, version| {
        let mut service = service("m", json!({ "template": template }));
        service.version = version;
        service
    };

    let world = World::with(vec![with("n is {{ (index .items 0).n }}", 1)]).await;
    assert_eq!((count("compilations_total"), count("cache_hits_total")), (1, 0), "compiled when loaded");
    for _ in 0..10 {
        assert!(world.call("m__data", json!({})).await.unwrap().contains("n is 1"));
    }
    assert_eq!((count("compilations_total"), count("cache_hits_total")), (1, 10), "never compiled by a call");

    world.load("acme", vec![with("n is {{ (index .items 0).n }}", 1), service("other", json!({}))]).await;
    assert_eq!(count("compilations_total"), 1, "kept while another service comes");

    world.load("acme", vec![with("m is {{ (index .items 1).n }}", 2)]).await;
    assert!(world.call("m__data", json!({})).await.unwrap().contains("m is 2"));
    assert_eq!(count("compilations_total"), 2, "dropped with the change");
    assert_eq!(count("cache_misses_total"), 2);
    assert!(handle.render().contains("mcp_all_in_one_template_render_seconds"));
}
