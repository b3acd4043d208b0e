//! Files: each object that is new or changed where a trigger looks is a run.

use super::live::Live;
use super::{Armed, OnInvalidInputs};
use crate::flows::Flows;
use crate::flows::calls::value_of;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use flow::Source;
use futures::stream::{self, StreamExt as _};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::flows::Trigger as KeptTrigger;
use tool::{Arguments, Error, Extras, Outcome, Request, Result, Target, TenantId, Uri};

/// Objects that one trigger looks after.
const MOST: usize = 50_000;
/// Objects that are listed at once.
const PAGE: u64 = 500;
/// How long a service may take to list a page.
const LIST: Duration = Duration::from_secs(30);
/// How long a service may take to list all of them.
const LIST_ALL: Duration = Duration::from_secs(120);
/// Runs of one trigger that are started before others have their turn.
const BATCH: usize = 1000;
/// So many look at the same time.
const AT_ONCE: usize = 8;
/// Pages of one look: some may be short.
const MAX_PAGES: usize = 2 * MOST / PAGE as usize;
/// After a failure it is looked again as soon.
const AGAIN: Duration = Duration::from_secs(10);

/// The trigger, what it is set to, and when it looks next.
pub(super) type Plan = HashMap<(TenantId, String, String), (String, Instant)>;

/// One page of what a service lists.
#[derive(Deserialize)]
struct Page {
    objects: Vec<Listed>,
    #[serde(default)]
    cursor: Option<String>,
}

/// One object, as a service lists it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    key: String,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    last_modified: Option<Value>,
    #[serde(default)]
    etag: Option<String>,
}

/// Objects that were seen: so many bytes of the hash of key and etag each.
type Seen = BTreeSet<[u8; 8]>;

impl Listed {
    /// What tells one state of an object from any other.
    fn version(&self) -> String {
        match &self.etag {
            Some(etag) => format!("{}\n{etag}", self.key),
            None => format!("{}\n{:?} {:?}", self.key, self.last_modified, self.size),
        }
    }

    fn hash(&self) -> [u8; 8] {
        let mut short = [0; 8];
        short.copy_from_slice(&Sha256::digest(self.version())[..8]);
        short
    }

    fn event(&self, name: &str, from: &Uri) -> Value {
        let from = Uri::of_service(from.scheme(), from.service()).to_string();
        json!({
            "type": "file", "name": name, "from": from, "key": self.key, "size": self.size,
            "etag": self.etag, "last_modified": self.last_modified,
        })
    }
}

impl Flows {
    /// Looks where it is time to.
    pub(super) async fn look_at_files(self: &Arc<Self>, live: &mut Live, plan: &mut Plan) -> Result<()> {
        let triggers = live.read(self).await?;
        plan.retain(|(tenant, flow, name), _| {
            triggers.iter().any(|kept| (&kept.tenant, &kept.flow, &kept.name) == (tenant, flow, name))
        });
        let is_due = |kept: &KeptTrigger| {
            let key = (kept.tenant.clone(), kept.flow.clone(), kept.name.clone());
            let planned = plan.get(&key).filter(|(planned, _)| *planned == kept.settings);
            planned.is_none_or(|(_, due)| *due <= Instant::now())
        };
        let due: Vec<_> = triggers.into_iter().filter(is_due).collect();
        if !due.is_empty() {
            live.forget();
        }
        let mut looks = stream::iter(due).map(|kept| self.look_in(kept)).buffer_unordered(AT_ONCE);
        while let Some((key, settings, every)) = looks.next().await {
            plan.insert(key, (settings, Instant::now() + every));
        }
        Ok(())
    }

    /// One look of a trigger, and when to look again.
    async fn look_in(self: &Arc<Self>, kept: KeptTrigger) -> ((TenantId, String, String), String, Duration) {
        let key = (kept.tenant.clone(), kept.flow.clone(), kept.name.clone());
        let settings = kept.settings.clone();
        let (_, flow, name) = &key;
        let every = self.look_at_folder(kept).await.unwrap_or_else(|error| {
            tracing::warn!(flow, name, %error, "trigger {name} of flow {flow} does not fire: {error}");
            AGAIN
        });
        (key, settings, every)
    }

    /// Starts a run for every object that was not there when it was last looked, and says when to look again.
    async fn look_at_folder(self: &Arc<Self>, kept: KeptTrigger) -> Result<Duration> {
        let armed = self.in_time(self.armed(kept)).await?;
        self.in_time(self.check_unchanged(&armed.kept)).await?;
        let Source::File { from, prefix, every } = &armed.trigger.source else { return Ok(AGAIN) };
        let listing = self.listed(&armed, from, prefix.as_deref());
        let listed = tokio::time::timeout(LIST_ALL, listing).await.unwrap_or_else(|_| {
            Err(Error::timeout(format!("{from} did not list all objects within {LIST_ALL:?}")))
        })?;
        let before = armed.kept.mark.as_deref().map(read_mark);
        // What is there when the trigger begins is not new.
        let is_new = |object: &&Listed| before.as_ref().is_some_and(|seen| !seen.contains(&object.hash()));
        let new: Vec<&Listed> = listed.iter().filter(is_new).collect();
        let (batch, rest) = new.split_at(new.len().min(BATCH));
        self.fire_for(&armed, from, batch).await?;
        let later: Seen = rest.iter().map(|object| object.hash()).collect();
        let seen: Seen = listed.iter().map(Listed::hash).filter(|hash| !later.contains(hash)).collect();
        if before.is_none_or(|before| before != seen) {
            self.in_time(self.remember(&armed.kept, &write_mark(&seen))).await?;
        }
        Ok(if rest.is_empty() { *every } else { Duration::ZERO })
    }

    async fn fire_for(self: &Arc<Self>, armed: &Armed, from: &Uri, objects: &[&Listed]) -> Result<()> {
        for object in objects {
            let event = object.event(&armed.kept.name, from);
            // Those before it are known by their keys, if it is looked again; elsewhere the same key is another object.
            let key = format!("{from}\n{}", object.version());
            self.in_time(self.fire(armed, event, Some(key), OnInvalidInputs::Fail, None)).await?;
        }
        Ok(())
    }

    /// All objects, page by page.
    async fn listed(&self, armed: &Armed, from: &Uri, prefix: Option<&str>) -> Result<Vec<Listed>> {
        let (mut listed, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let page = self.page(armed, from, prefix, cursor.as_deref()).await?;
            listed.extend(page.objects);
            if listed.len() > MOST {
                let advice =
                    "give the trigger a 'prefix' that fewer begin with, or move those away that are done";
                return Err(Error::unsupported(format!("there are more than {MOST} objects; {advice}")));
            }
            match page.cursor.filter(|next| Some(next) != cursor.as_ref()) {
                Some(next) => cursor = Some(next),
                None => return Ok(listed),
            }
        }
        Err(Error::upstream(format!("{from} has not come to an end after {MAX_PAGES} pages")))
    }

    async fn page(
        &self,
        armed: &Armed,
        from: &Uri,
        prefix: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<Page> {
        let gateway = self.gateway().ok_or_else(|| Error::unavailable("the program is stopping"))?;
        let cx = armed.context(LIST);
        let mut arguments = Map::from_iter([("maxKeys".to_owned(), PAGE.into())]);
        for (name, value) in [("prefix", prefix), ("cursor", cursor)] {
            arguments.extend(value.map(|value| (name.to_owned(), value.into())));
        }
        let target = Target::Uri(from.clone());
        let request = Request { target, arguments: Arguments::from(arguments), extras: Extras::default() };
        match gateway.call(&cx, request).await? {
            Outcome::Done(output) if !output.is_error() => serde_json::from_value(value_of(&output))
                .map_err(|error| Error::upstream(format!("{from} lists no objects: {error}"))),
            Outcome::Done(output) => Err(Error::upstream(format!("{from}: {}", value_of(&output)))),
            Outcome::Started(_) | Outcome::NeedsInput(_) => {
                Err(Error::upstream(format!("{from} lists no objects")))
            }
        }
    }
}

fn write_mark(seen: &Seen) -> String {
    BASE64.encode(seen.iter().flatten().copied().collect::<Vec<u8>>())
}

/// What cannot be read was not seen.
fn read_mark(mark: &str) -> Seen {
    let bytes = BASE64.decode(mark).unwrap_or_default();
    bytes.chunks_exact(8).filter_map(|short| short.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_they_were_written() {
        let seen: Seen = (0..100u64).map(u64::to_le_bytes).collect();
        assert_eq!(read_mark(&write_mark(&seen)), seen);
        assert_eq!(read_mark(""), Seen::new());
        assert_eq!(read_mark("?"), Seen::new());
    }
}
