//! Changes of tables: each version that adds, changes or removes something where a trigger looks is a run.

use super::Misfits;
use crate::flows::Flows;
use flow::Source;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use store::flows::Trigger as KeptTrigger;
use tool::{ErrorKind, Result, TableId, TenantId};

/// Of more versions that came at once the latest count.
const MOST: i64 = 100;

impl Flows {
    /// Starts a run for every version of the trigger's table that it has not seen.
    pub(super) async fn look_at_table(self: &Arc<Self>, kept: KeptTrigger) -> Result<()> {
        let armed = self.armed(kept).await?;
        let kept = &armed.kept;
        let Source::Table { table, json_path, on } = &armed.trigger.source else { return Ok(()) };
        let Ok(id) = table.parse::<TableId>() else { return Ok(()) };
        let now = match self.store.tables().get(&kept.tenant, &id).await {
            Ok(table) => table.version,
            // It may come.
            Err(error) if error.kind() == store::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let Some(seen) = kept.mark.as_deref().and_then(|mark| mark.parse::<i64>().ok()) else {
            return self.remember_version(kept, now).await;
        };
        for version in seen.max(now - MOST) + 1..=now {
            let (before, after) = (
                self.part(kept, &id, version - 1, json_path).await?,
                self.part(kept, &id, version, json_path).await?,
            );
            let change = change_of(before.as_ref(), after.as_ref(), on);
            if !change.is_empty() {
                let event = json!({ "type": "table", "name": kept.name, "table": table, "version": version, "change": change });
                let fired = self.fire(&armed, event, Some(version.to_string()), Misfits::Fail, None).await;
                match fired {
                    Err(error) if error.kind() != ErrorKind::InvalidInput => return Err(error),
                    _ => {}
                }
            }
            self.remember_version(kept, version).await?;
        }
        Ok(())
    }

    /// What stood at the path in a version; nothing where the version is forgotten.
    async fn part(
        &self,
        kept: &KeptTrigger,
        table: &TableId,
        version: i64,
        path: &Option<String>,
    ) -> Result<Option<Value>> {
        let document = match self.store.tables().document_at(&kept.tenant, table, version).await {
            Ok(document) => document,
            Err(error) if error.kind() == store::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut value = serde_json::to_value(&document).unwrap_or_default();
        Ok(value.pointer_mut(path.as_deref().unwrap_or_default()).map(Value::take))
    }

    async fn remember_version(&self, kept: &KeptTrigger, version: i64) -> Result<()> {
        let (tenant, mark): (&TenantId, _) = (&kept.tenant, version.to_string());
        Ok(self.store.flows().set_trigger_mark(tenant, &kept.flow, &kept.name, &mark).await?)
    }
}

/// What was added, changed and removed, of what is asked for: items by their number, fields by their name.
fn change_of(before: Option<&Value>, after: Option<&Value>, on: &[String]) -> Map<String, Value> {
    let (before, after) = (parts(before), parts(after));
    let mut change = Map::new();
    for (key, value) in &after {
        let (word, old) = match before.get(key) {
            None => ("add", None),
            Some(old) if old != value => ("change", Some(old)),
            Some(_) => continue,
        };
        let told = json!({ "key": key, "value": value, "before": old });
        push(&mut change, word, told, on);
    }
    for (key, value) in before.iter().filter(|(key, _)| !after.contains_key(*key)) {
        push(&mut change, "remove", json!({ "key": key, "value": null, "before": value }), on);
    }
    change
}

fn push(change: &mut Map<String, Value>, word: &str, told: Value, on: &[String]) {
    if !on.is_empty() && !on.iter().any(|wanted| wanted == word) {
        return;
    }
    if let Value::Array(list) = change.entry(word).or_insert_with(|| json!([])) {
        list.push(told);
    }
}

fn parts(value: Option<&Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(fields)) => fields.clone(),
        Some(Value::Array(items)) => {
            items.iter().enumerate().map(|(at, item)| (at.to_string(), item.clone())).collect()
        }
        Some(Value::Null) | None => Map::new(),
        Some(other) => Map::from_iter([(String::new(), other.clone())]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_was_added_changed_and_removed() {
        let (before, after) = (json!({ "a": 1, "b": 2 }), json!({ "b": 3, "c": 4 }));
        let all = change_of(Some(&before), Some(&after), &[]);
        let expected = json!({
            "add": [{ "key": "c", "value": 4, "before": null }],
            "change": [{ "key": "b", "value": 3, "before": 2 }],
            "remove": [{ "key": "a", "value": null, "before": 1 }],
        });
        assert_eq!(Value::Object(all), expected);
        let added = change_of(Some(&json!([1])), Some(&json!([1, 2])), &["add".to_owned()]);
        assert_eq!(added["add"], json!([{ "key": "1", "value": 2, "before": null }]));
        assert!(change_of(Some(&before), Some(&before), &[]).is_empty());
        assert!(change_of(Some(&before), Some(&json!({ "a": 1 })), &["add".to_owned()]).is_empty());
    }
}
