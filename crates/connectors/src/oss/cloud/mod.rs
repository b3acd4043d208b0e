//! Objects in the store of a cloud: OpenDAL makes and signs the requests, and each goes out through our own guarded
//! client.

mod build;
mod download;
mod failure;
mod list;
mod page;
mod signer;
#[cfg(test)]
mod tests;
mod transport;
mod upload;

use super::key::Key;
use super::settings::Settings;
use super::store::{ListRequest, Listing, PresignRequest, Presigned, SaveOptions, Store};
use crate::shared::network::{Policy, Resolver};
use async_trait::async_trait;
use opendal::{Metadata, Operator};
use signer::Signer;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_util::task::TaskTracker;
use tool::objects::{Body, Part, Reading};
use tool::{Context, Env, Object, Problem, Result};
use transport::{Route, Transport};

/// One bucket.
#[derive(Clone)]
pub(super) struct Cloud {
    operator: Operator,
    transport: Transport,
    signer: Arc<Signer>,
    /// The address of the bucket for those who may read it without us.
    base_url: String,
    /// Of what is to be cleaned up after calls that are over.
    tasks: TaskTracker,
}

/// A store with these settings, which connects to nothing yet.
pub(super) fn open(
    settings: &Settings,
    env: &Env,
    policy: &Arc<Policy>,
    problems: &mut Vec<Problem>,
) -> Option<Arc<dyn Store>> {
    let tls = settings.tls.as_ref().map(|tls| tls.check(problems)).unwrap_or_default();
    let http = fetch::Client::new(Arc::new(Resolver(policy.clone())), tls);
    let timeout = Duration::from_millis(settings.timeout_ms);
    let route = Route { http, policy: policy.clone(), timeout };
    let cloud = build::build(settings, route, env.tasks.clone(), problems)?;
    Some(Arc::new(cloud))
}

#[async_trait]
impl Store for Cloud {
    async fn save(&self, _: &Context, key: &Key, body: Body, options: SaveOptions) -> Result<Object> {
        upload::save(self, key.as_str(), body, options).await
    }

    async fn load(&self, _: &Context, key: &Key, part: Part) -> Result<Reading> {
        download::load(self, key, part).await
    }

    async fn stat(&self, _: &Context, key: &Key) -> Result<Object> {
        let key = key.as_str();
        let found = self.operator.stat(key).await.map_err(|error| failure::explain(error, key))?;
        Ok(to_object(key, &found))
    }

    async fn list(&self, _: &Context, request: ListRequest) -> Result<Listing> {
        list::list(self, &request).await
    }

    async fn delete(&self, _: &Context, key: &Key) -> Result<()> {
        self.operator.delete(key.as_str()).await.map_err(|error| failure::explain(error, key.as_str()))
    }

    async fn copy(&self, cx: &Context, from: &Key, to: &Key) -> Result<Object> {
        let copied = self.operator.copy(from.as_str(), to.as_str()).await;
        copied.map_err(|error| failure::explain(error, from.as_str()))?;
        self.stat(cx, to).await
    }

    async fn presign(&self, _: &Context, request: PresignRequest<'_>) -> Result<Presigned> {
        let (url, signed) = self.signer.presign(&request).await?;
        // Whoever uses the link sends its host and length anyway.
        let headers = signed.iter().filter(|(name, _)| !matches!(name.as_str(), "host" | "content-length"));
        let headers =
            headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
        Ok(Presigned { url, headers: headers.collect(), expires_at: SystemTime::now() + request.expires })
    }

    fn address(&self, key: &Key) -> Option<String> {
        Some(format!("{}/{}", self.base_url, super::answer::escaped(key.as_str())))
    }

    fn is_remote(&self) -> bool {
        true
    }
}

fn to_object(key: &str, found: &Metadata) -> Object {
    let metadata = found.user_metadata().map(|notes| {
        notes.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect()
    });
    Object {
        key: key.to_owned(),
        size: found.content_length(),
        content_type: found.content_type().map(str::to_owned),
        etag: found.etag().map(|etag| etag.trim_matches('"').to_owned()),
        last_modified: found.last_modified().map(SystemTime::from),
        metadata: metadata.unwrap_or_default(),
    }
}
