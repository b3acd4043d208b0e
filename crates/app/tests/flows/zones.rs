//! Schedules and the clocks that they follow: those of their zones, and other ones once they are published anew.

use crate::schedules::time;
use crate::world::{PATIENCE, publish_over_rest, republish_over_rest, runs_of};
use chrono::{TimeDelta, Utc};
use testkit::{Backend, TestApp, eventually, on_both_databases};
use tool::TenantId;

on_both_databases! {
    a_schedule_that_was_changed_catches_up_with_nothing
    a_schedule_follows_the_clock_of_its_zone
}

/// FL-27: what another cron or another zone would have named before it was published was nobody's to miss.
async fn a_schedule_that_was_changed_catches_up_with_nothing(backend: Backend) {
    let app = TestApp::start(backend).await;
    let (store, tenant) = (crate::world::store(app.database()).await, TenantId::default_tenant());
    let hourly = (Utc::now() + TimeDelta::minutes(30)).format("%-M * * * *").to_string();
    // Due 90 minutes ago by UTC, and hours away by the zone before.
    let daily = (Utc::now() - TimeDelta::minutes(90)).format("%-M %-H * * *").to_string();
    let text = |cron: &str, zone: &str, more: &str| {
        format!(
            "{zone}\ntriggers: [{{type: schedule, cron: '{cron}', catch_up: all{more}}}]\nnodes: {{a: {{with: trigger.at}}}}"
        )
    };
    let far = text("0 0 29 2 *", "", "");
    let changes = [
        ("cron", far.clone(), text(&hourly, "", "")),
        ("zone", text(&daily, "timezone: Etc/GMT-12", ""), text(&daily, "timezone: UTC", "")),
        ("own", text(&daily, "", ", timezone: Etc/GMT-12"), text(&daily, "", ", timezone: UTC")),
    ];
    let schedule = async |flow: &str| store.flows().trigger(&tenant, flow, "schedule_1").await.unwrap();
    for (flow, before, after) in &changes {
        publish_over_rest(&app, flow, before).await;
        eventually("the schedule has begun", PATIENCE, async || schedule(flow).await.mark.is_some()).await;
        let mark = (Utc::now() - TimeDelta::hours(3)).timestamp_millis().to_string();
        store.flows().set_trigger_mark(&schedule(flow).await, &mark).await.unwrap();
        republish_over_rest(&app, flow, after).await;
        eventually("it has begun anew", PATIENCE, async || {
            schedule(flow).await.mark.is_some_and(|new| new != mark)
        })
        .await;
    }
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    for (flow, ..) in &changes {
        assert_eq!(app.get(&format!("runs?flow={flow}")).await.is(200).body["total"], 0, "{flow}");
    }
    store.close().await;
}

/// FL-27: the time of day is that of the trigger's zone, else of the flow's, else UTC.
async fn a_schedule_follows_the_clock_of_its_zone(backend: Backend) {
    let app = TestApp::start(backend).await;
    let at = Utc::now() + TimeDelta::seconds(12);
    // Kathmandu is 5 h 45 min ahead, all the year.
    let cron = (at + TimeDelta::minutes(345)).format("%-S %-M %-H * * *").to_string();
    let text = |zone: &str, own: &str| {
        format!(
            "{zone}\ntriggers: [{{type: schedule, cron: '{cron}'{own}}}]\nnodes: {{a: {{with: trigger.at}}}}"
        )
    };
    let (there, here) = ("Asia/Kathmandu", "UTC");
    let flows = [
        ("own", text("", &format!(", timezone: {there}")), true),
        ("whole", text(&format!("timezone: {there}"), ""), true),
        ("both", text(&format!("timezone: {there}"), &format!(", timezone: {here}")), false),
        ("none", text("", ""), false),
    ];
    for (flow, text, _) in &flows {
        publish_over_rest(&app, flow, text).await;
    }
    assert!(Utc::now() < at - TimeDelta::seconds(3), "the machine is too slow to tell");
    for (flow, _, fires) in flows {
        if fires {
            eventually("it fires", PATIENCE, async || !runs_of(&app, flow, "succeeded").await.is_empty())
                .await;
            let runs = runs_of(&app, flow, "succeeded").await;
            assert_eq!((runs.len(), time(&runs[0], "output").timestamp()), (1, at.timestamp()), "{flow}");
        } else {
            assert_eq!(app.get(&format!("runs?flow={flow}")).await.is(200).body["total"], 0, "{flow}");
        }
    }
}
