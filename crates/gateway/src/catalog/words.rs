//! What the tools of a snapshot are found by: an index of their words, and vectors where there are such.

use super::{Route, TenantCatalog};
use crate::tool_search::has_searched_door;
use arc_swap::ArcSwap;
use ranking::{Description, Index};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use tokio::sync::OnceCell;
use tool::{ToolSearch, runs};

/// What the routes of a tenant are found by, in the order of the routes.
#[derive(Default)]
pub(crate) struct Words {
    /// Made with the snapshot where a door is in search mode, else for the first who searches; most tenants never do.
    index: Arc<OnceCell<Index>>,
    /// What each means, as far as that is known yet.
    pub(crate) vectors: ArcSwap<Vec<Option<Arc<[f32]>>>>,
    /// Somebody has searched: vectors cost money, and are made for those who use them.
    pub(crate) is_searched: AtomicBool,
}

impl TenantCatalog {
    /// What the tools are found by.
    pub(crate) fn words(&self) -> &Words {
        &self.words
    }

    /// Takes over what the tools are found by as far as nothing has changed. Where somebody has searched before, or a door
    /// is in search mode, what is new is made now, so that nobody waits for it.
    pub(crate) async fn with_words(self, previous: Option<&Self>, usual: &ToolSearch) -> Self {
        let has_searched = previous.is_some_and(|previous| previous.words.index.initialized());
        let catalog = self.with_known_words(previous);
        if has_searched || has_searched_door(&catalog, usual) {
            catalog.index_words().await;
        }
        catalog
    }

    fn with_known_words(mut self, previous: Option<&Self>) -> Self {
        let is_same = |previous: &&Self| {
            self.listed.len() == previous.listed.len()
                && self.listed.iter().zip(&previous.listed).all(|(now, then)| Arc::ptr_eq(now, then))
        };
        if let Some(previous) = previous.filter(is_same) {
            let vectors = ArcSwap::new(previous.words.vectors.load_full());
            let is_searched = previous.words.is_searched.load(Ordering::Relaxed).into();
            self.words = Words { index: previous.words.index.clone(), vectors, is_searched };
            return self;
        }
        let vectors = ArcSwap::from_pointee(self.known_vectors(previous));
        let is_searched =
            previous.is_some_and(|previous| previous.words.is_searched.load(Ordering::Relaxed)).into();
        self.words = Words { index: Arc::default(), vectors, is_searched };
        self
    }

    /// Makes the index, unless it is there; beside the threads that serve calls, as thousands of tools take their time.
    pub(crate) async fn index_words(&self) {
        let index = async || {
            let routes = self.listed.clone();
            let made =
                tokio::task::spawn_blocking(move || Index::of(routes.iter().map(|route| described(route))));
            made.await.unwrap_or_else(|error| {
                tracing::error!(%error, "tools cannot be found: {error}");
                Index::default()
            })
        };
        self.words.index.get_or_init(index).await;
    }

    /// The vectors of tools that are told as they were.
    fn known_vectors(&self, previous: Option<&Self>) -> Vec<Option<Arc<[f32]>>> {
        let vectors = previous.map(|previous| previous.words.vectors.load_full()).unwrap_or_default();
        let known = |route: &Arc<Route>| {
            let previous = previous.filter(|_| !vectors.is_empty())?;
            let place = previous.place_of(&route.name)?;
            let is_same = previous.listed[place].listed == route.listed;
            vectors.get(place).filter(|_| is_same)?.clone()
        };
        self.listed.iter().map(known).collect()
    }
}

impl Words {
    /// The index of the tools' words; an empty one as long as nobody had it made.
    pub(crate) fn index(&self) -> &Index {
        static EMPTY: LazyLock<Index> = LazyLock::new(Index::default);
        self.index.get().unwrap_or(&EMPTY)
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words of {} tools", self.index().len())
    }
}

fn described(route: &Route) -> Description<'_> {
    // The name without the service's, which counts as what the tool is about.
    let name = if route.is_own() { route.name.as_str() } else { route.tool.name() };
    Description::of(name, service_of(route), &route.tool)
}

/// The service that a tool is told as. A Tool of the tenant does not tell where it leads.
pub(crate) fn service_of(route: &Route) -> &str {
    match route.service.scheme.as_str() {
        _ if route.is_own() => super::OWN_TYPE,
        runs::SCHEME => runs::SCHEME,
        _ => &route.service.id,
    }
}
