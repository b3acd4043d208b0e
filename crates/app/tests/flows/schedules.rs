//! Schedules whose runs take longer than the time between two instants.

use crate::world::{PATIENCE, publish_over_rest, runs_of, shop};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use testkit::{Backend, TestApp, eventually, http, on_both_databases};

on_both_databases! {
    instants_that_overlap_wait_or_are_left_out
}

fn time(run: &Value, key: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(run[key].as_str().unwrap()).unwrap().to_utc()
}

/// FL-27: the next instant waits for the run of the one before, also where the flow has slots to spare; or it is left out.
async fn instants_that_overlap_wait_or_are_left_out(backend: Backend) {
    let (app, upstream) = (TestApp::start(backend).await, http::Server::start().await);
    app.service(shop(&upstream)).await;
    let text = |overlap: &str, more: &str| {
        format!(
            "triggers: [{{type: schedule, name: tick, cron: '* * * * * *', overlap: {overlap}, inputs: {{at: '${{trigger.at}}'}}}}]
inputs: {{at: string}}
{more}
nodes: {{s: {{exec: 'api://shop/slow', args: {{ms: 2500}}, with: '${{at}}'}}}}
"
        )
    };
    publish_over_rest(&app, "queues", &text("queue", "")).await;
    publish_over_rest(&app, "slots", &text("queue", "concurrency: {limit: 5}")).await;
    publish_over_rest(&app, "skips", &text("skip", "")).await;
    for (flow, is_left_out) in [("queues", false), ("slots", false), ("skips", true)] {
        let mut runs = Vec::new();
        eventually(&format!("{flow} has fired"), PATIENCE, async || {
            runs = runs_of(&app, flow, "succeeded").await;
            runs.len() >= 3
        })
        .await;
        runs.sort_by_key(|run| time(run, "started_at"));
        for two in runs.windows(2) {
            let (before, behind) = (time(&two[0], "ended_at"), time(&two[1], "started_at"));
            assert!(before <= behind, "{flow}: {before} and {behind} overlap");
            let seconds = (time(&two[1], "output") - time(&two[0], "output")).num_seconds();
            assert!(if is_left_out { seconds >= 2 } else { seconds == 1 }, "{flow}: {seconds} s apart");
        }
        app.post(&format!("flows/{flow}/disable"), json!({})).await.is(200);
    }
}
