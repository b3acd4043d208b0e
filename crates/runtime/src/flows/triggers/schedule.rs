//! Schedules: whoever looks at the clock names the same instants.

use super::live::Live;
use super::{Armed, OnInvalidInputs};
use crate::flows::Flows;
use crate::flows::start::json;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use flow::engine::Clock as _;
use flow::schedule::{firing, next};
use flow::{Overlap, Source};
use std::collections::HashMap;
use std::sync::Arc;
use store::flows::Trigger as KeptTrigger;
use store::runs::{Overflow, Slots};
use tool::{ErrorKind, Result, TenantId};

/// Less than lies between two instants of any schedule.
const MOMENT: TimeDelta = TimeDelta::milliseconds(1);

/// As long nobody may have watched while the watch went from one process to another: a lease, a turn, and some time.
const HANDOVER: TimeDelta = TimeDelta::seconds(30);

/// When each schedule is due next, as long as nothing about it changes.
pub(super) struct Plan {
    /// Since when this process would have noticed that nobody watches.
    up_since: DateTime<Utc>,
    known: HashMap<(TenantId, String, String), Due>,
}

/// The settings and the mark of a trigger, and when it is due next.
type Due = (String, Option<String>, Option<DateTime<Utc>>);

impl Plan {
    pub(super) fn new(up_since: DateTime<Utc>) -> Self {
        Self { up_since, known: HashMap::new() }
    }
}

impl Flows {
    /// Fires every schedule that is due.
    pub(super) async fn look_at_schedules(self: &Arc<Self>, live: &mut Live, plan: &mut Plan) -> Result<()> {
        let triggers = live.read(self).await?;
        plan.known.retain(|(tenant, flow, name), _| {
            triggers.iter().any(|kept| (&kept.tenant, &kept.flow, &kept.name) == (tenant, flow, name))
        });
        for trigger in triggers {
            if self.look_at(trigger, plan).await {
                live.forget();
            }
        }
        Ok(())
    }

    /// False when nothing was to be done.
    async fn look_at(self: &Arc<Self>, kept: KeptTrigger, plan: &mut Plan) -> bool {
        let key = (kept.tenant.clone(), kept.flow.clone(), kept.name.clone());
        if let Some((settings, mark, due)) = plan.known.get(&key)
            && (settings, mark) == (&kept.settings, &kept.mark)
            && due.is_none_or(|due| due > self.clock.now())
        {
            return false;
        }
        let (settings, mark) = (kept.settings.clone(), kept.mark.clone());
        // What has become due since the last look is late at worst: nobody missed it. The same holds for what came while
        // this process waited for its turn.
        let looked = plan.known.get(&key).and_then(|(.., due)| *due);
        let waited = || plan.up_since.max(self.clock.now() - HANDOVER);
        let watches = looked.unwrap_or_else(waited) - MOMENT;
        let (tenant, flow, name) = &key;
        match self.in_time(self.fire_due(kept, watches)).await {
            Ok(due) => {
                plan.known.insert(key, (settings, mark, due));
            }
            // What is due stays so.
            Err(error) => {
                tracing::warn!(%tenant, flow, name, %error, "trigger {name} of flow {flow} does not fire: {error}");
            }
        }
        true
    }

    /// Fires at every instant that has come, and says when the next one is.
    async fn fire_due(
        self: &Arc<Self>,
        kept: KeptTrigger,
        watches: DateTime<Utc>,
    ) -> Result<Option<DateTime<Utc>>> {
        let now = self.clock.now();
        let last = kept.mark.as_deref().and_then(|mark| DateTime::from_timestamp_millis(mark.parse().ok()?));
        let Some(last) = last else {
            // Nothing is missed by a schedule that begins.
            self.remember(&kept, &mark_of(now)).await?;
            return Ok(Some(now));
        };
        let armed = self.armed(kept).await?;
        self.check_unchanged(&armed.kept).await?;
        let Source::Schedule { cron, catch_up, overlap, .. } = &armed.trigger.source else { return Ok(None) };
        let zone = armed.version.flow.zone_of(&armed.trigger);
        for instant in firing(cron, zone, last, watches, now, *catch_up) {
            if *overlap == Overlap::Queue && self.waits_here(&armed).await? {
                // It stays due, and those behind it wait with it.
                return Ok(Some(instant));
            }
            if !self.fire_at(&armed, instant, *overlap).await? {
                return Ok(Some(instant));
            }
            self.remember(&armed.kept, &mark_of(instant)).await?;
        }
        Ok(next(cron, zone, now))
    }

    /// False while there is no room among the runs that wait: the instant stays due.
    async fn fire_at(
        self: &Arc<Self>,
        armed: &Armed,
        instant: DateTime<Utc>,
        overlap: Overlap,
    ) -> Result<bool> {
        let slots = match overlap {
            Overlap::Skip if self.has_live_run(armed).await? => return Ok(true),
            Overlap::Queue => Some(Slots {
                key: format!("trigger {}", armed.kept.name),
                limit: 1,
                overflow: Overflow::Queue,
            }),
            Overlap::Skip | Overlap::Allow => None,
        };
        let at = instant.to_rfc3339_opts(SecondsFormat::Millis, true);
        let event = serde_json::json!({ "type": "schedule", "name": armed.kept.name, "at": at });
        match self.fire(armed, event, Some(at.clone()), OnInvalidInputs::Fail, slots).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::RateLimited => {
                let (flow, name) = (&armed.kept.flow, &armed.kept.name);
                // A flow that refuses what is too much for it has said so.
                let is_left_out = !error.is_retryable();
                let what = if is_left_out { "leaves out" } else { "waits with" };
                tracing::warn!(flow, name, %error, "trigger {name} of flow {flow} {what} {at}: {error}");
                Ok(is_left_out)
            }
            Err(error) => Err(error),
        }
    }

    /// A flow with groups of its own has none for its schedule: the next instant waits here until the run of the one
    /// before has ended.
    async fn waits_here(&self, armed: &Armed) -> Result<bool> {
        Ok(armed.version.flow.concurrency.is_some() && self.has_live_run(armed).await?)
    }

    /// A run that this trigger started before has not ended.
    async fn has_live_run(&self, armed: &Armed) -> Result<bool> {
        let (runs, kept) = (self.store.runs(), &armed.kept);
        Ok(runs.is_live(&kept.tenant, &kept.flow, &json(&armed.origin())?).await?)
    }
}

fn mark_of(instant: DateTime<Utc>) -> String {
    instant.timestamp_millis().to_string()
}
