//! Messages: every process listens to the queues that flows name, and takes a message once its run is committed.

use super::OnInvalidInputs;
use crate::flows::Flows;
use async_trait::async_trait;
use chrono::{DateTime, SecondsFormat};
use flow::Source;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;
use store::flows::Trigger as KeptTrigger;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tool::{
    Connector, Context, Delivery, Error, ErrorKind, Result, Sink, Subscription, TenantId, Uri, Verdict,
};

/// What nobody says has changed is looked at so often, and who stopped listening by mistake begins again.
const LOOK: Duration = Duration::from_secs(10);
/// The pauses before a message comes again.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A message that cannot become a run for a reason that waiting does not change is dead after so many attempts.
const ATTEMPTS: u32 = 5;
/// Listening ends when it is told to.
const NO_DEADLINE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Which trigger of which flow.
type Key = (TenantId, String, String);

/// Who listens in this process.
#[derive(Default)]
pub(super) struct Listeners(HashMap<Key, Listener>);

/// Listens to one queue for one trigger, until it is dropped.
struct Listener {
    connector: Weak<dyn Connector>,
    from: Uri,
    limit: usize,
    task: JoinHandle<()>,
    _stop: DropGuard,
}

impl Listener {
    /// It does what it should, and the service is the one that it was.
    fn is_right(&self, connector: &Arc<dyn Connector>, from: &Uri, limit: usize) -> bool {
        let is_same = std::ptr::addr_eq(self.connector.as_ptr(), Arc::as_ptr(connector));
        is_same && self.from == *from && self.limit == limit && !self.task.is_finished()
    }
}

impl Flows {
    /// Keeps listening to what published flows name, whenever they or services change.
    pub(in crate::flows) async fn listen_all(self: &Arc<Self>) {
        let Some(mut changes) = self.gateway().map(|gateway| gateway.catalog().changes()) else { return };
        let mut listeners = Listeners::default();
        loop {
            changes.borrow_and_update();
            match self.answered(self.store.flows().live_triggers("message")).await {
                Ok(triggers) => self.listen_to(triggers, &mut listeners).await,
                Err(error) => tracing::warn!(%error, "message triggers are as they were: {error}"),
            }
            // Either way it is looked again.
            let _ = tokio::time::timeout(LOOK, changes.changed()).await;
        }
    }

    async fn listen_to(self: &Arc<Self>, triggers: Vec<KeptTrigger>, listeners: &mut Listeners) {
        let key_of = |kept: &KeptTrigger| (kept.tenant.clone(), kept.flow.clone(), kept.name.clone());
        listeners.0.retain(|key, _| triggers.iter().any(|kept| key_of(kept) == *key));
        for kept in triggers {
            let (key, flow, name) = (key_of(&kept), kept.flow.clone(), kept.name.clone());
            if let Err(error) = self.listen_for(kept, &key, listeners).await {
                listeners.0.remove(&key);
                tracing::warn!(flow, name, %error, "trigger {name} of flow {flow} does not listen: {error}");
            }
        }
    }

    /// Listens for one trigger, unless that is done already.
    async fn listen_for(
        self: &Arc<Self>,
        kept: KeptTrigger,
        key: &Key,
        listeners: &mut Listeners,
    ) -> Result<()> {
        let armed = self.in_time(self.armed(kept)).await?;
        let cx = armed.context(NO_DEADLINE);
        let Source::Message { from, limit } = armed.trigger.source else { return Ok(()) };
        let gateway = self.gateway().ok_or_else(|| Error::unavailable("the program is stopping"))?;
        // What could not be checked when the flow was published is checked now.
        gateway.find(&cx, &from)?;
        let connector = gateway.source(&armed.kept.tenant, &from)?;
        if listeners.0.get(key).is_some_and(|listener| listener.is_right(&connector, &from, limit)) {
            return Ok(());
        }
        // The old one lets go first.
        listeners.0.remove(key);
        let stop = self.stopping.child_token();
        let listener = Listener {
            connector: Arc::downgrade(&connector),
            task: self.tasks.spawn(self.clone().listen(
                connector,
                armed.kept,
                from.clone(),
                limit,
                stop.clone(),
            )),
            from,
            limit,
            _stop: stop.drop_guard(),
        };
        listeners.0.insert(key.clone(), listener);
        Ok(())
    }

    async fn listen(
        self: Arc<Self>,
        connector: Arc<dyn Connector>,
        kept: KeptTrigger,
        from: Uri,
        limit: usize,
        stop: CancellationToken,
    ) {
        let cx = Context { cancel: stop, ..Context::system(kept.tenant.clone(), NO_DEADLINE) };
        let group = Subscription::default_group(&cx, &format!("{}.{}", kept.flow, kept.name));
        let wanted = Subscription {
            max_in_flight: limit,
            // What is wrong with a message, and what with us, is for the sink to tell apart.
            max_attempts: u32::MAX,
            ordered: limit == 1,
            ..Subscription::new(from.tool().unwrap_or_default(), &group)
        };
        let (flow, name) = (kept.flow.clone(), kept.name.clone());
        let sink = Arc::new(Starts { flows: Arc::downgrade(&self), kept });
        drop(self);
        let listened = match connector.triggers() {
            Some(triggers) => triggers.listen(&cx, wanted, sink).await,
            None => Err(Error::unsupported(format!("{from} cannot be listened to"))),
        };
        if let Err(error) = listened {
            tracing::warn!(flow, name, %error, "trigger {name} of flow {flow} does not listen: {error}");
        }
    }
}

/// Makes a run of every message, once.
struct Starts {
    flows: Weak<Flows>,
    kept: KeptTrigger,
}

#[async_trait]
impl Sink for Starts {
    async fn take(&self, delivery: Delivery) -> Verdict {
        let Some(flows) = self.flows.upgrade() else { return Verdict::Again(PAUSE) };
        let Err(error) = flows.start_for(&self.kept, &delivery).await else { return Verdict::Taken };
        let (flow, name, id) = (&self.kept.flow, &self.kept.name, &delivery.id);
        tracing::warn!(flow, name, id, %error, "trigger {name} of flow {flow} does not take a message yet: {error}");
        match error.kind() {
            // The database is away, too many runs wait, or the trigger is gone and whoever listens is about to end.
            ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::RateLimited | ErrorKind::NotFound => {
                Verdict::Again(pause(delivery.attempt))
            }
            _ if delivery.attempt < ATTEMPTS => Verdict::Again(pause(delivery.attempt)),
            _ => Verdict::Dead(error.message().to_owned()),
        }
    }
}

/// It doubles from attempt to attempt.
fn pause(attempt: u32) -> Duration {
    let doubled = 2u32.saturating_pow(attempt.saturating_sub(1));
    PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

impl Flows {
    async fn start_for(self: &Arc<Self>, kept: &KeptTrigger, delivery: &Delivery) -> Result<()> {
        let armed = self.in_time(self.armed(kept.clone())).await?;
        let event = event_of(&kept.name, delivery);
        let fired = self.fire(&armed, event, Some(delivery.id.clone()), OnInvalidInputs::Fail, None);
        self.in_time(fired).await.map(drop)
    }
}

/// What expressions see as `trigger`: the same each time that the message is delivered.
fn event_of(name: &str, delivery: &Delivery) -> Value {
    let message: Value = serde_json::from_str(delivery.message.get()).unwrap_or_default();
    let published_at = delivery.published_at.and_then(DateTime::from_timestamp_millis);
    let published_at = published_at.map(|at| at.to_rfc3339_opts(SecondsFormat::Millis, true));
    json!({
        "type": "message", "name": name, "message": message, "id": delivery.id, "key": delivery.key,
        "headers": delivery.headers, "published_at": published_at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let pauses: Vec<_> = [0, 1, 2, 3, 6, u32::MAX].map(|attempt| pause(attempt).as_secs()).into();
        assert_eq!(pauses, [1, 1, 2, 4, 30, 30]);
    }
}
