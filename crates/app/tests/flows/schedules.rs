//! Schedules whose runs take longer than the time between two instants, and those that were missed.

use crate::world::{PATIENCE, publish_over_rest, runs_of, shop, start, until};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use testkit::{Backend, TestApp, eventually, http, on_both_databases};
use tool::TenantId;

on_both_databases! {
    instants_that_overlap_wait_or_are_left_out
    missed_instants_are_caught_up_as_told
    an_instant_waits_for_room_in_the_queue
}

pub(crate) fn time(run: &Value, key: &str) -> DateTime<Utc> {
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

/// FL-27: what nobody fired is fired later: all of it, the last of it, or nothing.
async fn missed_instants_are_caught_up_as_told(backend: Backend) {
    let app = TestApp::start(backend).await;
    let (database, tenant) = (app.database().clone(), TenantId::default_tenant());
    let wanted = [("all", 3), ("last", 1), ("none", 0)];
    // Once an hour, and not soon.
    let minute = (Utc::now() + TimeDelta::minutes(30)).format("%-M").to_string();
    for (catch_up, _) in wanted {
        let text = format!(
            "triggers: [{{type: schedule, name: tick, cron: '{minute} * * * *', catch_up: {catch_up}}}]\nnodes: {{a: {{with: trigger.at}}}}"
        );
        publish_over_rest(&app, catch_up, &text).await;
    }
    let store = crate::world::store(&database).await;
    for (catch_up, _) in wanted {
        eventually("the schedule has begun", PATIENCE, async || {
            store.flows().triggers(&tenant, catch_up).await.unwrap()[0].mark.is_some()
        })
        .await;
    }
    let key = app.key().unwrap().to_owned();
    app.stop().await;
    // As if nobody had looked for three hours.
    let mark = (Utc::now() - TimeDelta::hours(3)).timestamp_millis().to_string();
    for (catch_up, _) in wanted {
        let tick = store.flows().trigger(&tenant, catch_up, "tick").await.unwrap();
        store.flows().set_trigger_mark(&tick, &mark).await.unwrap();
    }
    store.close().await;
    let again = TestApp::restart(&database).await;
    let app = again.as_key(key);
    eventually("all is caught up", PATIENCE, async || runs_of(&app, "all", "succeeded").await.len() == 3)
        .await;
    eventually("the last is caught up", PATIENCE, async || {
        !runs_of(&app, "last", "succeeded").await.is_empty()
    })
    .await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    for (catch_up, expected) in wanted {
        let runs = runs_of(&app, catch_up, "succeeded").await;
        assert_eq!(runs.len(), expected, "{catch_up}: {runs:?}");
    }
    let hours = |run: &Value| (Utc::now() - time(run, "output")).num_minutes() / 60;
    assert_eq!(hours(&runs_of(&app, "last", "succeeded").await[0]), 0);
}

/// FL-25, FL-27: what a full queue does not take is fired when there is room, each instant of it.
async fn an_instant_waits_for_room_in_the_queue(backend: Backend) {
    let app = TestApp::start(backend).await;
    publish_over_rest(&app, "narrow", "concurrency: {limit: 1}\nnodes: {w: {wait: {signal: go}}}").await;
    let first = start(&app, "narrow", json!({})).await;
    until(&app, &first, &["waiting"]).await;
    let queued = start(&app, "narrow", json!({})).await;
    let copied = "tenant, flow, version, state, epoch, leased_until, last_seq, news_seq, group_key, is_admitted, is_secret,
        origin, caller, created_at";
    let sql = format!(
        "INSERT INTO runs (id, {copied}) WITH RECURSIVE numbers (n) AS
             (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 9999)
         SELECT 'copy-' || numbers.n, {copied} FROM numbers, runs WHERE runs.id = '{queued}'"
    );
    let mut connection = app.database().connect().await;
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
    let text = "triggers: [{type: schedule, name: tick, cron: '* * * * * *', overlap: allow, catch_up: all}]\nnodes: {a: {with: trigger.at}}";
    publish_over_rest(&app, "ticks", text).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert_eq!(app.get("runs?flow=ticks").await.is(200).body["total"], 0);
    let freed_at = Utc::now();
    sqlx::query("DELETE FROM runs WHERE id LIKE 'copy-%'").execute(&mut connection).await.unwrap();
    let mut fired = Vec::new();
    eventually("every second has fired, whichever ends first", PATIENCE, async || {
        fired = runs_of(&app, "ticks", "succeeded").await.iter().map(|run| time(run, "output")).collect();
        fired.sort();
        fired.len() >= 4 && fired.windows(2).all(|two| two[1] - two[0] == TimeDelta::seconds(1))
    })
    .await;
    app.post("flows/ticks/disable", json!({})).await.is(200);
    assert!(fired[0] < freed_at - TimeDelta::seconds(1), "{fired:?} from {freed_at} on");
}
