//! What starts flows by itself: from an event to a run of the current version.

mod file;
mod live;
mod message;
mod schedule;
mod table;
mod webhook;

pub use webhook::Delivery;

use super::Flows;
use super::given::{Given, Origin, Starter};
use super::start::{NewStart, StartedRun, digest};
use super::versions::Version;
use chrono::{DateTime, Utc};
use expression::Setting;
use flow::engine::{Clock as _, check_value};
use live::Live;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use store::flows::Trigger as KeptTrigger;
use store::runs::Slots;
use tool::{Caller, Context, Door, Error, Result};

/// A trigger with the document that it stands in.
struct Armed {
    kept: KeptTrigger,
    version: Arc<Version>,
    trigger: flow::Trigger,
}

impl Armed {
    /// What starts the runs of this trigger, and of no other.
    fn origin(&self) -> Origin {
        Origin { name: Some(self.kept.name.clone()), kind: self.kept.kind.clone(), ..Origin::default() }
    }

    fn caller(&self) -> Caller {
        Caller { name: format!("trigger {}", self.kept.name), ..Caller::system() }
    }

    /// What the trigger does by itself, it does with the rights of whoever published the flow, as its runs do.
    fn context(&self, time: Duration) -> Context {
        let caller = Starter::running(&self.version, &self.caller()).acting();
        Context::new(self.kept.tenant.clone(), Arc::new(caller), Door::System, time)
    }
}

/// What becomes of inputs that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnInvalidInputs {
    /// Whoever sent them is told.
    Refuse,
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
        let up_since = self.clock.now();
        loop {
            let watch = self.store.leases().run("flow-triggers", LEASE, |_| self.watch(up_since));
            if let Err(error) = Box::pin(watch).await {
                tracing::debug!(%error, "triggers are left to others: {error}");
            }
            tokio::time::sleep(TURN).await;
        }
    }

    /// Looks at everything again and again. Services that are slow to list their files keep nobody else from firing.
    async fn watch(self: &Arc<Self>, up_since: DateTime<Utc>) {
        let clocks = async {
            let (mut live, mut plan) = (Live::new(self, "schedule"), schedule::Plan::new(up_since));
            loop {
                rest(self.look_at_schedules(&mut live, &mut plan).await).await;
            }
        };
        let tables = async {
            let mut live = Live::new(self, "table");
            loop {
                rest(self.look_at_tables(&mut live).await).await;
            }
        };
        let files = async {
            let (mut live, mut plan) = (Live::new(self, "file"), file::Plan::new());
            loop {
                rest(self.look_at_files(&mut live, &mut plan).await).await;
            }
        };
        tokio::join!(clocks, tables, files);
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
        on_invalid: OnInvalidInputs,
        slots: Option<Slots>,
    ) -> Result<StartedRun> {
        let Armed { kept, version, trigger } = armed;
        let setting = Setting { now: self.clock.now(), ..Setting::default() };
        let fits = check_value(&event);
        // What is more than a value may be is not kept.
        let event = if fits.is_ok() { event } else { Value::Null };
        let made = fits.and_then(|()| trigger.inputs(&version.flow, &event, &setting));
        let made = made.and_then(|inputs| Ok((inputs, trigger.dedupe_key(&event, &setting)?)));
        let (inputs, own, refused) = match (made, on_invalid) {
            (Ok((inputs, own)), _) => (inputs, own, None),
            (Err(failure), OnInvalidInputs::Refuse) => return Err(super::start::invalid(&failure)),
            (Err(failure), OnInvalidInputs::Fail) => (Map::new(), None, Some(failure)),
        };
        let given = Given { inputs, trigger: event, refused, ..Given::default() };
        let start = NewStart {
            // What an expression gives may be a part of what was sent that nobody else is to read.
            dedupe_key: own
                .map(|own| digest(&own))
                .or(key)
                .map(|key| format!("{}/{}/{key}", kept.kind, kept.name)),
            is_unattended: on_invalid == OnInvalidInputs::Fail,
            slots,
            ..NewStart::new(&kept.flow, version.clone(), given, armed.origin(), &armed.caller())
        };
        self.start(&kept.tenant, start).await
    }

    /// It is set to what it was when it was read, and has come no further. To be asked once it is armed: otherwise what it was
    /// before might be taken for a document that was published since.
    async fn check_unchanged(&self, kept: &KeptTrigger) -> Result<()> {
        let now = self.store.flows().trigger(&kept.tenant, &kept.flow, &kept.name).await?;
        if (&now.settings, &now.mark) == (&kept.settings, &kept.mark) {
            return Ok(());
        }
        Err(Error::unavailable("it has changed meanwhile, and is looked at again"))
    }

    /// Remembers how far the trigger has come.
    async fn remember(&self, kept: &KeptTrigger, mark: &str) -> Result<()> {
        Ok(self.store.flows().set_trigger_mark(kept, mark).await?)
    }

    /// What the database has to do with one trigger, in a time that others can wait for.
    async fn in_time<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let late = || Error::unavailable("the database did not answer in time");
        tokio::time::timeout(self.options.store_timeout, work).await.unwrap_or_else(|_| Err(late()))
    }

    /// Fires a trigger by hand, with an event of the caller's making.
    ///
    /// # Errors
    /// `NotFound` where there is no such trigger, and those of a start.
    pub async fn fire_by_hand(self: &Arc<Self>, kept: KeptTrigger, event: Value) -> Result<StartedRun> {
        let armed = self.armed(kept).await?;
        self.fire(&armed, event, None, OnInvalidInputs::Refuse, None).await
    }
}

/// Says what keeps triggers from firing, and pauses.
async fn rest(looked: Result<()>) {
    if let Err(error) = looked {
        tracing::warn!(%error, "triggers are late: {error}");
    }
    tokio::time::sleep(LOOK).await;
}
