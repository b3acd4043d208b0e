//! Finding: by words and by meaning, fused by rank, and shown from the document as it is now.

use crate::{chunk, leaves};
use async_trait::async_trait;
use document::{Node, Pointer};
use ranking::{fuse, words};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use store::{Found, IndexStatus, SearchIndex, Store, within};
use tool::{Embeddings, Error, Hit, Result, SearchAnswer, SearchRequest, TableId, TenantId};

/// How many chunks each way of looking brings: more than are shown, because some may be stale.
const CANDIDATES: i64 = 100;
/// How long the provider may take to understand a query; then words alone must do.
const EMBEDDING_TIME: Duration = Duration::from_secs(5);
/// A query needs no more characters.
const MAX_QUERY: usize = 4000;

/// Finds texts of tables in the indexes of the Tools that search them.
#[derive(Clone)]
pub struct Finder {
    store: Store,
    embeddings: Option<Arc<dyn Embeddings>>,
    timeout: Duration,
}

impl Finder {
    /// Finds by meaning too where there are embeddings; `timeout` is for the database.
    #[must_use]
    pub fn new(store: Store, embeddings: Option<Arc<dyn Embeddings>>, timeout: Duration) -> Self {
        Self { store, embeddings, timeout }
    }

    /// The index that covers the place: of the same mount, or of the nearest above it.
    async fn index(&self, tenant: &TenantId, table: &TableId, mount: &Pointer) -> Result<SearchIndex> {
        let mount = mount.to_string();
        let covers = |index: &SearchIndex| {
            mount.strip_prefix(&index.mount).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let indexes = within(self.timeout, self.store.search().of_table(tenant, table)).await?;
        let best = indexes
            .into_iter()
            .filter(covers)
            .max_by_key(|index| (index.status == IndexStatus::Ready, index.mount.len(), index.indexed_at));
        best.ok_or_else(|| {
            Error::unsupported(
                "this part of the table is not indexed; make a tool of type 'search' over it first",
            )
        })
    }

    async fn candidates(
        &self,
        index: &SearchIndex,
        query: &str,
    ) -> Result<(Vec<(f64, Found)>, Option<String>)> {
        let search = self.store.search();
        let words = words::of_query(query);
        let by_words = within(self.timeout, search.by_words(index, &words, CANDIDATES)).await?;
        let (by_meaning, remark) = match self.by_meaning(index, query).await {
            Ok(found) => (found, None),
            Err(error) => (Vec::new(), Some(format!("found by words alone: {error}"))),
        };
        let ranked = fuse(&[by_words, by_meaning]);
        let ids: Vec<i64> = ranked.iter().map(|(id, _)| *id).collect();
        let mut chunks: BTreeMap<i64, Found> = within(self.timeout, search.chunks(index, &ids)).await?;
        let found = ranked.into_iter().filter_map(|(id, score)| Some((score, chunks.remove(&id)?)));
        Ok((found.collect(), remark))
    }

    async fn by_meaning(&self, index: &SearchIndex, query: &str) -> Result<Vec<i64>> {
        let Some(embeddings) = &self.embeddings else { return Ok(Vec::new()) };
        if index.model != embeddings.model() {
            return Ok(Vec::new());
        }
        let query = [query.to_owned()];
        let vectors = tokio::time::timeout(EMBEDDING_TIME, embeddings.embed(&query)).await;
        let vectors =
            vectors.map_err(|_| Error::timeout("the provider of embeddings did not answer in time"))??;
        let Some(vector) = vectors.first() else { return Ok(Vec::new()) };
        Ok(within(self.timeout, self.store.search().by_vector(index, vector, CANDIDATES)).await?)
    }
}

#[async_trait]
impl tool::Search for Finder {
    async fn search(&self, tenant: &TenantId, request: SearchRequest) -> Result<SearchAnswer> {
        let index = self.index(tenant, &request.table, &request.mount).await?;
        let query: String = request.query.chars().take(MAX_QUERY).collect();
        let (candidates, remark) = self.candidates(&index, &query).await?;
        let mount = request.mount.to_string();
        let mut hits = Vec::new();
        for (score, found) in candidates {
            let left = request.limit - hits.len();
            if left == 0 {
                break;
            }
            // Twice as many, because some may be stale.
            let limit = i64::try_from(left * 2).unwrap_or(i64::MAX);
            let places = self.store.search().places(&index, &found.hash, &mount, limit);
            let places = within(self.timeout, places).await?;
            hits.extend(
                places.iter().filter_map(|place| current(&request.document, place, &found, score)).take(left),
            );
        }
        let remark = remark.or_else(|| unready(&index));
        Ok(SearchAnswer { hits, remark })
    }
}

/// The hit, if the text still stands there.
fn current(document: &Node, place: &str, found: &Found, score: f64) -> Option<Hit> {
    let pointer: Pointer = place.parse().ok()?;
    let text = pointer.resolve(document).ok()?.as_text()?;
    if leaves::hash(text) != found.hash {
        return None;
    }
    let number = |number: i64| usize::try_from(number).unwrap_or_default();
    let (char_start, char_end) = (number(found.char_start), number(found.char_end));
    Some(Hit {
        score,
        text: chunk::part(text, char_start, char_end),
        pointer,
        char_start,
        char_end,
        chunk_index: number(found.position),
        total_chunks: number(found.total),
        content_hash: found.hash.clone(),
    })
}

fn unready(index: &SearchIndex) -> Option<String> {
    match index.status {
        IndexStatus::Ready => None,
        IndexStatus::Pending | IndexStatus::Indexing => Some(format!(
            "the index is {}: text that was added or changed just now is not found yet",
            index.status.as_str()
        )),
        IndexStatus::Error => {
            let why = index.last_error.as_deref().unwrap_or("unknown");
            Some(format!("the index is not up to date: {why}"))
        }
    }
}

impl fmt::Debug for Finder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Finder({:?})", self.embeddings)
    }
}
