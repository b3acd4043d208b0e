//! One attempt to bring an index up to date: what did not change stays, what is new is added.

use crate::chunk::{self, Chunk, cut};
use crate::leaves::{self, Leaf};
use document::{Node, Pointer};
use ranking::words;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use store::{ClaimedIndex, Documents, NewChunk};
use tool::{Embeddings, Error, Result};

/// Chunks in one transaction: enough to be fast, few enough to let other writers in.
const BATCH: usize = 1000;
/// Chunks in one request to the provider of embeddings.
const EMBEDDED_AT_ONCE: usize = 64;

/// What an attempt is made with.
pub(crate) struct Attempt<'a> {
    pub(crate) claimed: &'a ClaimedIndex,
    pub(crate) documents: &'a Documents,
    pub(crate) embeddings: Option<&'a Arc<dyn Embeddings>>,
}

/// Texts by their hash.
type Texts = HashMap<String, Arc<str>>;

impl Attempt<'_> {
    /// Indexes the words first, so that those can be found even when embeddings cannot be had.
    ///
    /// # Errors
    /// What kept the attempt from its end. What was done until then stays done.
    pub(crate) async fn run(&self) -> Result<()> {
        let index = self.claimed.index();
        let table = self.documents.read(&index.tenant, &index.table).await?;
        let mount: Pointer = index
            .mount
            .parse()
            .map_err(|error| Error::internal(format!("the index has a bad mount: {error}")))?;
        let (leaves, chunks_count) = read(table.document, mount).await?;
        let nodes_count = count(leaves.len());
        let texts: Texts = leaves.iter().map(|leaf| (leaf.hash.clone(), leaf.text.clone())).collect();
        self.index_words(&leaves, &texts, nodes_count, chunks_count).await?;
        self.claimed.note_words(table.table.version).await?;
        if let Some(embeddings) = self.embeddings {
            self.index_meaning(embeddings, &texts, nodes_count, chunks_count).await?;
        }
        Ok(self.claimed.note_progress(nodes_count, chunks_count, chunks_count).await?)
    }

    async fn index_words(&self, leaves: &[Leaf], texts: &Texts, nodes: i64, chunks: i64) -> Result<()> {
        let known = self.claimed.hashes().await?;
        let is_whole = |hash: &str, text: &str| known.get(hash) == Some(&count(cut_count(text)));
        let fresh: Vec<(String, Arc<str>)> = texts
            .iter()
            .filter(|(hash, text)| !is_whole(hash, text))
            .map(|(hash, text)| (hash.clone(), text.clone()))
            .collect();
        // Of texts that stand nowhere any more, and what an attempt that ended early has left.
        let kept: HashSet<&String> = texts.keys().collect();
        let torn: HashSet<&String> = fresh.iter().map(|(hash, _)| hash).collect();
        let is_gone = |hash: &&String| !kept.contains(hash) || torn.contains(hash);
        let gone: Vec<String> = known.keys().filter(is_gone).cloned().collect();
        for batch in gone.chunks(BATCH) {
            self.claimed.remove_texts(batch).await?;
        }
        let mut indexed = chunks.saturating_sub(count(fresh.iter().map(|(_, text)| cut_count(text)).sum()));
        self.claimed.note_progress(nodes, chunks, self.shown(indexed)).await?;
        let mut fresh = fresh.into_iter().flat_map(|(hash, text)| chunks_of(hash, text)).peekable();
        while fresh.peek().is_some() {
            let (batch, rest) = tokio::task::spawn_blocking(move || {
                let batch: Vec<NewChunk> = fresh.by_ref().take(BATCH).collect();
                (batch, fresh)
            })
            .await
            .map_err(|_| Error::internal("cutting a text broke its thread"))?;
            fresh = rest;
            self.claimed.add_chunks(&batch).await?;
            indexed += count(batch.len());
            self.claimed.note_progress(nodes, chunks, self.shown(indexed)).await?;
        }
        self.place(leaves).await
    }

    /// Until all is done a chunk without its embedding does not count as indexed.
    fn shown(&self, indexed: i64) -> i64 {
        if self.embeddings.is_some() { 0 } else { indexed }
    }

    async fn place(&self, leaves: &[Leaf]) -> Result<()> {
        let before = self.claimed.nodes().await?;
        let now: HashSet<&str> = leaves.iter().map(|leaf| leaf.pointer.as_str()).collect();
        let gone: Vec<String> =
            before.keys().filter(|pointer| !now.contains(pointer.as_str())).cloned().collect();
        let placed: Vec<(String, String)> = leaves
            .iter()
            .filter(|leaf| before.get(&leaf.pointer) != Some(&leaf.hash))
            .map(|leaf| (leaf.pointer.clone(), leaf.hash.clone()))
            .collect();
        for batch in placed.chunks(BATCH) {
            self.claimed.move_nodes(&[], batch).await?;
        }
        Ok(self.claimed.move_nodes(&gone, &[]).await?)
    }

    async fn index_meaning(
        &self,
        embeddings: &Arc<dyn Embeddings>,
        texts: &Texts,
        nodes: i64,
        chunks: i64,
    ) -> Result<()> {
        if self.claimed.index().model != embeddings.model() {
            self.claimed.remove_vectors(embeddings.model()).await?;
        }
        let mut cut = Cut::default();
        loop {
            let wanted = self.claimed.without_vectors(EMBEDDED_AT_ONCE as i64).await?;
            if wanted.is_empty() {
                return Ok(());
            }
            let part = |(_, hash, start): &(i64, String, i64)| {
                let text = texts.get(hash).map_or("", |text| &**text);
                cut.part(hash, text, usize::try_from(*start).unwrap_or_default())
            };
            let parts: Vec<String> = wanted.iter().map(part).collect();
            let vectors = embeddings.embed(&parts).await?;
            let vectors: Vec<(i64, Vec<f32>)> = wanted.iter().map(|(id, _, _)| *id).zip(vectors).collect();
            self.claimed.add_vectors(&vectors).await?;
            let left = self.claimed.count_without_vectors().await?;
            self.claimed.note_progress(nodes, chunks, chunks.saturating_sub(left).max(0)).await?;
        }
    }
}

/// The texts below the mount, and how many chunks they make.
async fn read(document: Node, mount: Pointer) -> Result<(Vec<Leaf>, i64)> {
    let read = move || {
        let leaves = leaves::below(&document, &mount);
        let chunks = leaves.iter().map(|leaf| cut_count(&leaf.text)).sum();
        (leaves, count(chunks))
    };
    tokio::task::spawn_blocking(read)
        .await
        .map_err(|_| Error::internal("reading a document broke its thread"))
}

/// How many chunks a text makes; most make one, which needs no cutting.
fn cut_count(text: &str) -> usize {
    if text.len() <= chunk::CHARACTERS { 1 } else { cut(text).len() }
}

/// The chunks of a text, made one by one.
fn chunks_of(hash: String, text: Arc<str>) -> impl Iterator<Item = NewChunk> {
    cut(&text).into_iter().enumerate().map(move |(at, chunk)| NewChunk {
        hash: hash.clone(),
        position: count(at),
        char_start: count(chunk.characters.start),
        char_end: count(chunk.characters.end),
        words: words::of_text(&text[chunk.bytes]),
    })
}

/// A text in chunks, kept while chunk after chunk of it is asked for.
#[derive(Default)]
struct Cut {
    hash: String,
    chunks: Vec<Chunk>,
}

impl Cut {
    /// The chunk that begins at a character.
    fn part(&mut self, hash: &str, text: &str, start: usize) -> String {
        if self.hash != hash {
            *self = Self { hash: hash.to_owned(), chunks: cut(text) };
        }
        let found = self.chunks.binary_search_by_key(&start, |chunk| chunk.characters.start);
        found.map_or_else(|_| String::new(), |at| text[self.chunks[at].bytes.clone()].to_owned())
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
