//! Changes of tables: each version that adds, changes or removes something where a trigger looks is a run.

use super::OnInvalidInputs;
use super::live::Live;
use crate::flows::Flows;
use flow::{Source, TableChange};
use std::sync::Arc;
use store::flows::Trigger as KeptTrigger;
use tool::{Result, TableId};

/// As many versions as are looked at in one go.
const STEPS: u32 = 20;

impl Flows {
    /// Looks at the tables of all triggers.
    pub(super) async fn look_at_tables(self: &Arc<Self>, live: &mut Live) -> Result<()> {
        for kept in live.read(self).await? {
            let (flow, name) = (kept.flow.clone(), kept.name.clone());
            match self.in_time(self.look_at_table(kept)).await {
                Ok(true) => live.forget(),
                Ok(false) => {}
                Err(error) => {
                    live.forget();
                    tracing::warn!(flow, name, %error, "trigger {name} of flow {flow} does not fire: {error}");
                }
            }
        }
        Ok(())
    }

    /// Starts a run for versions of the trigger's table that it has not seen. True when its mark has moved.
    async fn look_at_table(self: &Arc<Self>, kept: KeptTrigger) -> Result<bool> {
        let armed = self.armed(kept).await?;
        let kept = &armed.kept;
        let Source::Table { table, .. } = &armed.trigger.source else { return Ok(false) };
        let Ok(id) = table.parse::<TableId>() else { return Ok(false) };
        let now = match self.store.tables().get(&kept.tenant, &id).await {
            Ok(table) => table.version,
            // It may come.
            Err(error) if error.kind() == store::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let Some(seen) = kept.mark.as_deref().and_then(|mark| mark.parse::<i64>().ok()) else {
            self.remember(kept, &now.to_string()).await?;
            return Ok(true);
        };
        if seen >= now {
            return Ok(false);
        }
        self.check_unchanged(kept).await?;
        let steps = self.store.tables().steps(&kept.tenant, &id, seen, STEPS).await?;
        for step in &steps {
            let version = step.version.version;
            let change = TableChange {
                table: id.as_str(),
                version,
                change: step.change.as_ref(),
                before: &step.before,
                after: &step.after,
            };
            if let Some(mut event) = armed.trigger.source.event_of(&change) {
                event["type"] = "table".into();
                event["name"] = kept.name.as_str().into();
                // A trigger may look at another table later, which has its own versions.
                let key = format!("{id}/{version}");
                self.fire(&armed, event, Some(key), OnInvalidInputs::Fail, None).await?;
            }
            self.remember(kept, &version.to_string()).await?;
        }
        if steps.is_empty() {
            // They are too old to be kept.
            self.remember(kept, &now.to_string()).await?;
        }
        Ok(true)
    }
}
