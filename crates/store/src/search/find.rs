//! Finding in an index: by words, by meaning, and from what was found to its place.

use crate::database::Backend;
use crate::search::{Search, SearchIndex, words_table};
use crate::{Result, Store, row as column};
use futures::TryStreamExt as _;
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe, Row as _};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// More words do not make a query clearer.
const MAX_WORDS: usize = 32;

/// A chunk that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The hash of its text.
    pub hash: String,
    /// The how manieth of the text's chunks.
    pub position: i64,
    /// How many chunks the text has.
    pub total: i64,
    /// The character of the text where it begins.
    pub char_start: i64,
    /// The character behind its last.
    pub char_end: i64,
}

/// How embeddings are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vectors {
    /// As bytes, compared by us.
    Bytes,
    /// By the extension pgvector.
    Pgvector,
}

impl Vectors {
    /// How this database keeps them.
    pub(crate) async fn of(store: &Store) -> Result<Self> {
        if store.backend() == Backend::Sqlite {
            return Ok(Self::Bytes);
        }
        let row = sqlx::query(
            "SELECT COUNT(*) FROM information_schema.columns
             WHERE table_name = 'search_vectors' AND column_name = 'embedding' AND udt_name = 'vector'
               AND table_schema = current_schema()",
        )
        .fetch_one(store.pool())
        .await?;
        Ok(if row.try_get::<i64, _>(0)? > 0 { Self::Pgvector } else { Self::Bytes })
    }

    pub(crate) fn bind<'q>(
        self,
        query: Query<'q, Any, sqlx::any::AnyArguments>,
        vector: &[f32],
    ) -> Query<'q, Any, sqlx::any::AnyArguments> {
        match self {
            Self::Bytes => query.bind(vector.iter().flat_map(|part| part.to_le_bytes()).collect::<Vec<u8>>()),
            Self::Pgvector => {
                let parts: Vec<String> = vector.iter().map(f32::to_string).collect();
                query.bind(format!("[{}]", parts.join(",")))
            }
        }
    }
}

impl Search<'_> {
    /// The chunks that have some of the words, the best first: rare words count more than common
    /// ones, and short chunks more than long ones.
    pub async fn by_words(self, index: &SearchIndex, words: &[String], limit: i64) -> Result<Vec<i64>> {
        let words = &words[..words.len().min(MAX_WORDS)];
        if words.is_empty() {
            return Ok(Vec::new());
        }
        match self.0.backend() {
            Backend::Sqlite => self.by_words_on_sqlite(index, words, limit).await,
            Backend::Postgres => self.by_words_on_postgres(index, words, limit).await,
        }
    }

    async fn by_words_on_sqlite(self, index: &SearchIndex, words: &[String], limit: i64) -> Result<Vec<i64>> {
        let table = words_table(index.number);
        let made = sqlx::query("SELECT 1 FROM sqlite_master WHERE name = $1").bind(table.as_str());
        if made.fetch_optional(self.0.pool()).await?.is_none() {
            return Ok(Vec::new());
        }
        let asked: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let sql = format!("SELECT rowid AS id FROM {table} WHERE {table} MATCH $1 ORDER BY rank LIMIT $2");
        let rows = sqlx::query(AssertSqlSafe(sql))
            .bind(asked.join(" OR "))
            .bind(limit)
            .fetch_all(self.0.pool())
            .await?;
        rows.iter().map(|row| column::integer(row, "id")).collect()
    }

    /// PostgreSQL's own ranking does not know which words are rare, so each word is weighed.
    async fn by_words_on_postgres(
        self,
        index: &SearchIndex,
        words: &[String],
        limit: i64,
    ) -> Result<Vec<i64>> {
        let weighed = self.weigh(index, words).await?;
        if weighed.is_empty() {
            return Ok(Vec::new());
        }
        let rank = |(at, (_, weight)): (usize, &(String, f64))| {
            format!("{weight} * ts_rank(words, CAST(${} AS tsquery), 1)", at + 5)
        };
        let score: Vec<String> = weighed.iter().enumerate().map(rank).collect();
        let sql = format!(
            "SELECT id FROM search_chunks WHERE tenant = $1 AND tool = $2 AND words @@ CAST($3 AS tsquery)
             ORDER BY {} DESC, id LIMIT $4",
            score.join(" + ")
        );
        let any: Vec<String> = weighed.iter().map(|(word, _)| format!("'{word}'")).collect();
        let mut query = sqlx::query(AssertSqlSafe(sql))
            .bind(index.tenant.as_str())
            .bind(index.tool.as_str())
            .bind(any.join(" | "))
            .bind(limit);
        for (word, _) in &weighed {
            query = query.bind(format!("'{word}'"));
        }
        let rows = query.fetch_all(self.0.pool()).await?;
        rows.iter().map(|row| column::integer(row, "id")).collect()
    }

    /// The words that occur, each with how much it says: the logarithm of how rare it is. Words
    /// that more than half of the chunks have are left out where others remain.
    async fn weigh(self, index: &SearchIndex, words: &[String]) -> Result<Vec<(String, f64)>> {
        let count = |at: usize| {
            format!(
                "(SELECT COUNT(*) FROM search_chunks
                  WHERE tenant = $1 AND tool = $2 AND words @@ CAST(${} AS tsquery))",
                at + 3
            )
        };
        let counts: Vec<String> = (0..words.len()).map(count).collect();
        let sql = format!(
            "SELECT (SELECT COUNT(*) FROM search_chunks WHERE tenant = $1 AND tool = $2), {}",
            counts.join(", ")
        );
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(index.tenant.as_str()).bind(index.tool.as_str());
        for word in words {
            query = query.bind(format!("'{word}'"));
        }
        let row = query.fetch_one(self.0.pool()).await?;
        let total: i64 = row.try_get(0)?;
        let mut weighed = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let with: i64 = row.try_get(at + 1)?;
            if with > 0 {
                let (total, with) = (total as f64, with as f64);
                weighed.push((
                    word.clone(),
                    (1.0 + (total - with + 0.5) / (with + 0.5)).ln(),
                    with * 2.0 > total,
                ));
            }
        }
        let is_needed = weighed.iter().all(|(_, _, is_common)| *is_common);
        weighed.retain(|(_, _, is_common)| is_needed || !is_common);
        Ok(weighed.into_iter().map(|(word, weight, _)| (word, weight)).collect())
    }

    /// The chunks whose embeddings are nearest, the best first. All are compared: the answer is
    /// exact. Embeddings of another length are passed over.
    pub async fn by_vector(self, index: &SearchIndex, vector: &[f32], limit: i64) -> Result<Vec<i64>> {
        let kind = Vectors::of(self.0).await?;
        if kind == Vectors::Pgvector {
            let query = sqlx::query(
                "SELECT chunk FROM search_vectors
                 WHERE tenant = $1 AND tool = $2 AND vector_dims(embedding) = $3
                 ORDER BY CASE WHEN vector_dims(embedding) = $3 THEN embedding <=> CAST($5 AS vector) END, chunk
                 LIMIT $4",
            )
            .bind(index.tenant.as_str())
            .bind(index.tool.as_str())
            .bind(i64::try_from(vector.len()).unwrap_or_default())
            .bind(limit);
            let rows = kind.bind(query, vector).fetch_all(self.0.pool()).await?;
            return rows.iter().map(|row| column::integer(row, "chunk")).collect();
        }
        let mut rows =
            sqlx::query("SELECT chunk, embedding FROM search_vectors WHERE tenant = $1 AND tool = $2")
                .bind(index.tenant.as_str())
                .bind(index.tool.as_str())
                .fetch(self.0.pool());
        let mut best: BinaryHeap<Reverse<(Closeness, i64)>> = BinaryHeap::new();
        while let Some(row) = rows.try_next().await? {
            let bytes: Vec<u8> = row.try_get("embedding")?;
            if bytes.len() != vector.len() * 4 {
                continue;
            }
            let closeness = Closeness(product(&bytes, vector));
            best.push(Reverse((closeness, column::integer(&row, "chunk")?)));
            if best.len() > usize::try_from(limit).unwrap_or_default() {
                best.pop();
            }
        }
        let mut best: Vec<(Closeness, i64)> = best.into_iter().map(|Reverse(entry)| entry).collect();
        best.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        Ok(best.into_iter().map(|(_, chunk)| chunk).collect())
    }

    /// The chunks with these ids, as far as they are still there.
    pub async fn chunks(self, index: &SearchIndex, ids: &[i64]) -> Result<BTreeMap<i64, Found>> {
        let places: Vec<String> = (0..ids.len()).map(|at| format!("${}", at + 3)).collect();
        if places.is_empty() {
            return Ok(BTreeMap::new());
        }
        // Joined to nothing, so that SQLite goes by the ids: it would take the index of all chunks of a tool.
        let sql = format!(
            "SELECT id, hash, position, char_start, char_end, (SELECT COUNT(*) FROM search_chunks o
                 WHERE o.tenant = $1 AND o.tool = $2 AND o.hash = c.hash) AS total
             FROM search_chunks c WHERE id IN ({}) AND tenant || '' = $1 AND tool || '' = $2",
            places.join(",")
        );
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(index.tenant.as_str()).bind(index.tool.as_str());
        for id in ids {
            query = query.bind(id);
        }
        let decode = |row| -> Result<_> {
            let found = Found {
                hash: column::text(row, "hash")?,
                position: column::integer(row, "position")?,
                total: column::integer(row, "total")?,
                char_start: column::integer(row, "char_start")?,
                char_end: column::integer(row, "char_end")?,
            };
            Ok((column::integer(row, "id")?, found))
        };
        query.fetch_all(self.0.pool()).await?.iter().map(decode).collect()
    }

    /// Where a text stands at `below` or deeper, a few of the places.
    pub async fn places(
        self,
        index: &SearchIndex,
        hash: &str,
        below: &str,
        limit: i64,
    ) -> Result<Vec<String>> {
        let rows = sqlx::query(
            "SELECT pointer FROM search_nodes WHERE tenant = $1 AND tool = $2 AND hash = $3
               AND (pointer = $4 OR substr(pointer, 1, length($4) + 1) = $4 || '/')
             ORDER BY length(pointer), pointer LIMIT $5",
        )
        .bind(index.tenant.as_str())
        .bind(index.tool.as_str())
        .bind(hash)
        .bind(below)
        .bind(limit)
        .fetch_all(self.0.pool())
        .await?;
        rows.iter().map(|row| column::text(row, "pointer")).collect()
    }
}

/// How near two embeddings of unit length are: the cosine between them.
#[derive(PartialEq)]
struct Closeness(f32);

impl Eq for Closeness {}

impl PartialOrd for Closeness {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Closeness {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

fn product(bytes: &[u8], vector: &[f32]) -> f32 {
    let parts = bytes.as_chunks::<4>().0.iter().map(|part| f32::from_le_bytes(*part));
    parts.zip(vector).map(|(a, b)| a * b).sum()
}

/// Words as PostgreSQL writes a `tsvector`. They consist of letters and digits, so nothing in
/// them needs an escape.
pub(crate) fn tsvector(words: &[String]) -> String {
    // What PostgreSQL can count.
    const MAX_POSITION: usize = 16_383;
    const MAX_PER_WORD: usize = 255;
    let mut positions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (at, word) in words.iter().enumerate().take(MAX_POSITION) {
        let of_word = positions.entry(word).or_default();
        if of_word.len() < MAX_PER_WORD {
            of_word.push((at + 1).to_string());
        }
    }
    let words: Vec<String> =
        positions.iter().map(|(word, positions)| format!("'{word}':{}", positions.join(","))).collect();
    words.join(" ")
}
