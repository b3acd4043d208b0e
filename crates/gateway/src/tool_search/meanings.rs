//! Vectors of tools, where something makes such: from the first search on, in the background, forgotten with the snapshot.

use crate::Gateway;
use crate::catalog::TenantCatalog;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tool::Embeddings;

/// How long the provider may take to understand a query; then words alone must do.
const QUERY_TIME: Duration = Duration::from_millis(300);
/// Texts in one request.
const BATCH: usize = 64;
/// The most of a tool's text that is sent.
const MAX_TEXT: usize = 2_000;
/// How long a provider that fails is left alone.
const PAUSE: Duration = Duration::from_secs(10);

impl Gateway {
    /// Has the vectors of a new snapshot made that are not known yet, where anybody searches.
    pub(crate) fn find_meanings(&self, catalog: &Arc<TenantCatalog>) {
        if catalog.words().is_searched.load(Ordering::Relaxed) {
            self.make_meanings(catalog);
        }
    }

    fn make_meanings(&self, catalog: &Arc<TenantCatalog>) {
        let Some(embeddings) = self.env.embeddings.clone() else { return };
        let (catalog, shutdown) = (Arc::downgrade(catalog), self.env.shutdown.clone());
        self.env.tasks.spawn(async move {
            shutdown.run_until_cancelled(fill(&catalog, &*embeddings)).await;
        });
    }

    /// What a query means, unless that takes too long or there is nothing to compare it with.
    pub(crate) async fn meaning_of(&self, tenant: &Arc<TenantCatalog>, query: &str) -> Option<Vec<f32>> {
        let embeddings = self.env.embeddings.as_ref()?;
        if !tenant.words().is_searched.swap(true, Ordering::Relaxed) {
            self.make_meanings(tenant);
        }
        if tenant.words().vectors.load().iter().all(Option::is_none) {
            return None;
        }
        let texts = [query.to_owned()];
        let made = tokio::time::timeout(QUERY_TIME, embeddings.embed(&texts)).await;
        made.ok()?.ok()?.into_iter().next()
    }
}

/// Makes what is missing, until all is there or the snapshot is gone.
async fn fill(catalog: &Weak<TenantCatalog>, embeddings: &dyn Embeddings) {
    let mut is_failing = false;
    loop {
        let Some((places, texts)) = catalog.upgrade().map(|catalog| missing(&catalog)) else { return };
        if places.is_empty() {
            return;
        }
        match embeddings.embed(&texts).await {
            Ok(vectors) if vectors.len() == places.len() => {
                let Some(catalog) = catalog.upgrade() else { return };
                let mut known = Vec::clone(&catalog.words().vectors.load());
                for (place, vector) in places.into_iter().zip(vectors) {
                    known[place] = Some(vector.into());
                }
                catalog.words().vectors.store(Arc::new(known));
                if std::mem::take(&mut is_failing) {
                    tracing::info!("tools are found by their meaning again");
                }
            }
            Ok(_) => {
                return tracing::warn!(
                    "the provider of embeddings gave another number of vectors than texts"
                );
            }
            Err(error) => {
                // Said once, however long it lasts.
                if !std::mem::replace(&mut is_failing, true) {
                    tracing::warn!(%error, "tools are found by words alone for now: {error}");
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// The next tools without a vector, and what is said of them.
fn missing(catalog: &TenantCatalog) -> (Vec<usize>, Vec<String>) {
    let vectors = catalog.words().vectors.load();
    let routes = catalog.routes().iter().enumerate();
    let without = routes.filter(|(place, _)| vectors.get(*place).is_some_and(Option::is_none));
    let text = |name: &str, about: &str| format!("{name}: {about}").chars().take(MAX_TEXT).collect();
    without
        .take(BATCH)
        .map(|(place, route)| (place, text(&route.name, route.tool.description().unwrap_or_default())))
        .unzip()
}
