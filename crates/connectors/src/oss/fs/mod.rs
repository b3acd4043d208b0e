//! Objects as files in a folder of this machine. Nothing outside of it is read or written, whatever links lie in it.

mod failure;
mod files;
mod folder;
mod list;
mod load;
mod presign;
mod record;
mod save;

use super::key::Key;
use super::store::{ListRequest, Listing, PresignRequest, Presigned, SaveOptions, Store};
use async_trait::async_trait;
use files::Files;
use presign::Linker;
use std::path::PathBuf;
use std::sync::Arc;
use tool::objects::{Body, Part, Reading};
use tool::{Context, Env, Error, Object, Problem, Result};

/// A folder and the links to what lies in it.
struct Fs {
    files: Arc<Files>,
    linker: Linker,
}

/// A store in the folder, which is made when something is saved.
pub(super) fn open(root: PathBuf, env: &Env) -> Result<Arc<dyn Store>, Problem> {
    Ok(Arc::new(Fs { files: Arc::new(Files::new(root)), linker: Linker::new(env) }))
}

#[async_trait]
impl Store for Fs {
    async fn save(&self, cx: &Context, key: &Key, body: Body, options: SaveOptions) -> Result<Object> {
        save::save(cx, &self.files, key.as_str(), body, options).await
    }

    async fn load(&self, _: &Context, key: &Key, part: Part) -> Result<Reading> {
        let (files, key) = (self.files.clone(), key.as_str().to_owned());
        blocking(move || load::load(&files, &key, part)).await
    }

    async fn stat(&self, _: &Context, key: &Key) -> Result<Object> {
        let (files, key) = (self.files.clone(), key.as_str().to_owned());
        blocking(move || load::find(&files, &key).map(|(_, object)| object)).await
    }

    async fn list(&self, cx: &Context, request: ListRequest) -> Result<Listing> {
        let (files, cx) = (self.files.clone(), cx.clone());
        // The walk goes on without us unless it is told.
        let end = cx.cancel.child_token();
        let _guard = end.clone().drop_guard();
        blocking(move || {
            files.sweep();
            list::list(&files, &request, &end)
        })
        .await
    }

    async fn delete(&self, _: &Context, key: &Key) -> Result<()> {
        let (files, key) = (self.files.clone(), key.as_str().to_owned());
        blocking(move || files.delete(&key)).await
    }

    async fn copy(&self, cx: &Context, from: &Key, to: &Key) -> Result<Object> {
        let Reading { object, body, .. } = self.load(cx, from, Part::WHOLE).await?;
        let options = SaveOptions {
            content_type: object.content_type,
            metadata: object.metadata,
            if_not_exists: false,
        };
        self.save(cx, to, body, options).await
    }

    async fn presign(&self, _: &Context, request: PresignRequest<'_>) -> Result<Presigned> {
        self.linker.presign(request)
    }

    fn address(&self, _: &Key) -> Option<String> {
        None
    }

    /// A disk that fails once fails again.
    fn is_remote(&self) -> bool {
        false
    }
}

/// Runs what waits for the disk where it holds up nobody.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::internal("work on files broke off").caused_by(error))?
}
