//! What starts flows by itself: from an event to a run of the current version.

mod schedule;
mod table;
mod webhook;

pub use webhook::Delivery;

use super::Flows;
use super::given::{Given, Origin};
use super::start::{NewStart, StartedRun};
use super::versions::Version;
use expression::Setting;
use flow::engine::Clock as _;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use store::flows::Trigger as KeptTrigger;
use store::runs::Slots;
use tool::{Caller, Error, Result};

/// A trigger with the document that it stands in.
struct Armed {
    kept: KeptTrigger,
    version: Arc<Version>,
    trigger: flow::Trigger,
}

/// What becomes of inputs that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Misfits {
    /// Whoever sent them is told.
    AreRefused,
    /// Nobody is there to be told: they are a run that fails.
    Fail,
}

/// How long the watch stays with a process that no longer says anything.
const LEASE: Duration = Duration::from_secs(15);
/// How often those look who do not have it.
const TURN: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_secs(1);

impl Flows {
    /// Watches over what starts flows by itself, unless another process does.
    pub(super) async fn fire_all(self: &Arc<Self>) {
        loop {
            let watch = self.store.leases().run("flow-triggers", LEASE, |_| self.watch());
            if let Err(error) = watch.await {
                tracing::debug!(%error, "triggers are left to others: {error}");
            }
            tokio::time::sleep(TURN).await;
        }
    }

    async fn watch(self: &Arc<Self>) {
        let mut plan = schedule::Plan::new();
        loop {
            let looked = self.look_at_schedules(&mut plan).await;
            if let Err(error) = looked.and(self.look_at_tables().await) {
                tracing::warn!(%error, "triggers are late: {error}");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn look_at_tables(self: &Arc<Self>) -> Result<()> {
        for trigger in self.store.flows().live_triggers("table").await? {
            let (flow, name) = (trigger.flow.clone(), trigger.name.clone());
            if let Err(error) = self.look_at_table(trigger).await {
                tracing::warn!(flow, name, %error, "trigger {name} of flow {flow} does not fire: {error}");
            }
        }
        Ok(())
    }

    /// The trigger in the document that is published now.
    async fn armed(&self, kept: KeptTrigger) -> Result<Armed> {
        let version = self.current(&kept.tenant, &kept.flow).await?;
        let found = version.flow.triggers.iter().find(|trigger| trigger.name == kept.name).cloned();
        let trigger =
            found.ok_or_else(|| Error::not_found(format!("there is no trigger '{}'", kept.name)))?;
        Ok(Armed { kept, version, trigger })
    }

    /// Starts a run with what the event says; starts with an equal key are one.
    async fn fire(
        self: &Arc<Self>,
        armed: &Armed,
        event: Value,
        key: Option<String>,
        misfits: Misfits,
        slots: Option<Slots>,
    ) -> Result<StartedRun> {
        let Armed { kept, version, trigger } = armed;
        let setting = Setting { now: self.clock.now(), ..Setting::default() };
        let inputs = trigger.inputs(&version.flow, &event, &setting);
        let inputs = inputs.map_err(|failure| super::start::invalid(&failure))?;
        let own = trigger.dedupe_key(&event, &setting).map_err(|failure| super::start::invalid(&failure))?;
        let given = Given { inputs, trigger: event, ..Given::default() };
        let kind = kept.kind.clone();
        let origin = Origin { name: Some(kept.name.clone()), kind: kind.clone(), ..Origin::default() };
        let caller = Caller { name: format!("trigger {}", kept.name), ..Caller::system() };
        let start = NewStart {
            dedupe_key: own.or(key).map(|key| format!("{kind}/{}/{key}", kept.name)),
            is_unattended: misfits == Misfits::Fail,
            slots,
            ..NewStart::new(&kept.flow, version.clone(), given, origin, &caller)
        };
        self.start(&kept.tenant, start).await
    }

    /// Fires a trigger by hand, with an event of the caller's making.
    ///
    /// # Errors
    /// `NotFound` where there is no such trigger, and those of a start.
    pub async fn fire_by_hand(self: &Arc<Self>, kept: KeptTrigger, event: Value) -> Result<StartedRun> {
        let armed = self.armed(kept).await?;
        self.fire(&armed, event, None, Misfits::AreRefused, None).await
    }
}
