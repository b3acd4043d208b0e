//! What is in an index: written by whoever holds its lease, batch by batch, each all or nothing.

use crate::database::{Backend, Write};
use crate::search::claim::ClaimedIndex;
use crate::search::find::{self, Vectors};
use crate::search::words_table;
use crate::{Result, row as column};
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe, Row as _};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Rows in one statement.
const ROWS: usize = 500;

/// A part of a text, to be found by its words.
#[derive(Debug, Clone)]
pub struct NewChunk {
    /// The hash of the whole text.
    pub hash: String,
    /// The how manieth of the text's chunks.
    pub position: i64,
    /// The character of the text where it begins.
    pub char_start: i64,
    /// The character behind its last.
    pub char_end: i64,
    /// Its words in order, letters and digits only.
    pub words: Vec<String>,
}

impl ClaimedIndex {
    /// Where which text stands: pointers with the hashes of their texts.
    pub async fn nodes(&self) -> Result<HashMap<String, String>> {
        let rows = sqlx::query("SELECT pointer, hash FROM search_nodes WHERE tenant = $1 AND tool = $2")
            .bind(self.index.tenant.as_str())
            .bind(self.index.tool.as_str())
            .fetch_all(self.store.pool())
            .await?;
        rows.iter().map(|row| Ok((column::text(row, "pointer")?, column::text(row, "hash")?))).collect()
    }

    /// The hashes of the texts that have chunks, with how many: fewer than a text makes when an
    /// attempt ended early.
    pub async fn hashes(&self) -> Result<HashMap<String, i64>> {
        let rows = sqlx::query(
            "SELECT hash, COUNT(*) AS chunks FROM search_chunks WHERE tenant = $1 AND tool = $2 GROUP BY hash",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .fetch_all(self.store.pool())
        .await?;
        rows.iter().map(|row| Ok((column::text(row, "hash")?, column::integer(row, "chunks")?))).collect()
    }

    /// Adds chunks.
    pub async fn add_chunks(&self, chunks: &[NewChunk]) -> Result<()> {
        let mut write = self.begin().await?;
        for batch in chunks.chunks(ROWS) {
            match self.store.backend() {
                Backend::Sqlite => self.add_to_sqlite(&mut write, batch).await?,
                Backend::Postgres => self.add_to_postgres(&mut write, batch).await?,
            }
        }
        write.commit().await
    }

    async fn add_to_sqlite(&self, write: &mut Write, chunks: &[NewChunk]) -> Result<()> {
        self.make_words(write).await?;
        let words = words_table(self.index.number);
        let last = sqlx::query("SELECT COALESCE(MAX(id), 0) FROM search_chunks");
        let last: i64 = last.fetch_one(write.connection()).await?.try_get(0)?;
        let ids = || (last + 1..).take(chunks.len());
        let sql =
            insert("search_chunks (tenant, tool, id, hash, position, char_start, char_end)", 7, chunks.len());
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for (chunk, id) in chunks.iter().zip(ids()) {
            query = self.bind_chunk(query, chunk, Some(id));
        }
        query.execute(write.connection()).await?;
        let sql = insert(&format!("{words} (rowid, words)"), 2, chunks.len());
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for (chunk, id) in chunks.iter().zip(ids()) {
            query = query.bind(id).bind(chunk.words.join(" "));
        }
        query.execute(write.connection()).await?;
        Ok(())
    }

    /// The full text index of this Tool alone, so that how rare a word is is not asked of others.
    async fn make_words(&self, write: &mut Write) -> Result<()> {
        let made = format!(
            "CREATE VIRTUAL TABLE IF NOT EXISTS {}
             USING fts5 (words, content = '', contentless_delete = 1, tokenize = 'ascii')",
            words_table(self.index.number)
        );
        sqlx::query(AssertSqlSafe(made)).execute(write.connection()).await?;
        Ok(())
    }

    async fn add_to_postgres(&self, write: &mut Write, chunks: &[NewChunk]) -> Result<()> {
        let mut sql = String::from(
            "INSERT INTO search_chunks (tenant, tool, hash, position, char_start, char_end, words) VALUES ",
        );
        for (row, _) in chunks.iter().enumerate() {
            let [a, b, c, d, e, f, g] = std::array::from_fn(|column| row * 7 + column + 1);
            let comma = if row > 0 { "," } else { "" };
            // Writing to a string does not fail.
            let _ = write!(sql, "{comma}(${a},${b},${c},${d},${e},${f},CAST(${g} AS tsvector))");
        }
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for chunk in chunks {
            query = self.bind_chunk(query, chunk, None).bind(find::tsvector(&chunk.words));
        }
        query.execute(write.connection()).await?;
        Ok(())
    }

    fn bind_chunk<'q>(
        &self,
        query: Query<'q, Any, sqlx::any::AnyArguments>,
        chunk: &NewChunk,
        id: Option<i64>,
    ) -> Query<'q, Any, sqlx::any::AnyArguments> {
        let query =
            query.bind(self.index.tenant.as_str().to_owned()).bind(self.index.tool.as_str().to_owned());
        let query = match id {
            Some(id) => query.bind(id),
            None => query,
        };
        query.bind(chunk.hash.clone()).bind(chunk.position).bind(chunk.char_start).bind(chunk.char_end)
    }

    /// Says where texts stand now, and where none stands any more.
    pub async fn move_nodes(&self, gone: &[String], placed: &[(String, String)]) -> Result<()> {
        let mut write = self.begin().await?;
        for batch in gone.chunks(ROWS) {
            self.delete(&mut write, "DELETE FROM search_nodes", "pointer", batch).await?;
        }
        for batch in placed.chunks(ROWS) {
            let sql = insert("search_nodes (tenant, tool, pointer, hash)", 4, batch.len());
            let sql = format!("{sql} ON CONFLICT (tenant, tool, pointer) DO UPDATE SET hash = excluded.hash");
            let mut query = sqlx::query(AssertSqlSafe(sql));
            for (pointer, hash) in batch {
                query = query
                    .bind(self.index.tenant.as_str())
                    .bind(self.index.tool.as_str())
                    .bind(pointer.as_str())
                    .bind(hash.as_str());
            }
            query.execute(write.connection()).await?;
        }
        write.commit().await
    }

    /// Takes away the chunks of texts that stand nowhere any more.
    pub async fn remove_texts(&self, hashes: &[String]) -> Result<()> {
        let mut write = self.begin().await?;
        for batch in hashes.chunks(ROWS) {
            if self.store.backend() == Backend::Sqlite {
                self.make_words(&mut write).await?;
                let words = words_table(self.index.number);
                let ids = format!("DELETE FROM {words} WHERE rowid IN (SELECT id FROM search_chunks");
                self.delete_in(&mut write, &ids, "hash", batch, ")").await?;
            }
            self.delete(&mut write, "DELETE FROM search_chunks", "hash", batch).await?;
        }
        write.commit().await
    }

    /// Forgets every embedding: they are of another model.
    pub async fn remove_vectors(&self, model: &str) -> Result<()> {
        let mut write = self.begin().await?;
        sqlx::query("DELETE FROM search_vectors WHERE tenant = $1 AND tool = $2")
            .bind(self.index.tenant.as_str())
            .bind(self.index.tool.as_str())
            .execute(write.connection())
            .await?;
        sqlx::query("UPDATE search_indexes SET model = $3 WHERE tenant = $1 AND tool = $2")
            .bind(self.index.tenant.as_str())
            .bind(self.index.tool.as_str())
            .bind(model)
            .execute(write.connection())
            .await?;
        write.commit().await
    }

    /// Chunks without an embedding: id, hash, and the character where they begin.
    pub async fn without_vectors(&self, limit: i64) -> Result<Vec<(i64, String, i64)>> {
        let rows = sqlx::query(
            "SELECT c.id AS id, c.hash AS hash, c.char_start AS char_start
             FROM search_chunks c LEFT JOIN search_vectors v ON v.chunk = c.id
             WHERE c.tenant = $1 AND c.tool = $2 AND v.chunk IS NULL ORDER BY c.id LIMIT $3",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .bind(limit)
        .fetch_all(self.store.pool())
        .await?;
        let decode = |row| -> Result<_> {
            let start = column::integer(row, "char_start")?;
            Ok((column::integer(row, "id")?, column::text(row, "hash")?, start))
        };
        rows.iter().map(decode).collect()
    }

    /// How many chunks have no embedding yet.
    pub async fn count_without_vectors(&self) -> Result<i64> {
        let row = sqlx::query(
            "SELECT (SELECT COUNT(*) FROM search_chunks WHERE tenant = $1 AND tool = $2)
                  - (SELECT COUNT(*) FROM search_vectors WHERE tenant = $1 AND tool = $2)",
        )
        .bind(self.index.tenant.as_str())
        .bind(self.index.tool.as_str())
        .fetch_one(self.store.pool())
        .await?;
        Ok(row.try_get(0)?)
    }

    /// Keeps the embeddings of chunks.
    pub async fn add_vectors(&self, vectors: &[(i64, Vec<f32>)]) -> Result<()> {
        let kind = Vectors::of(&self.store).await?;
        let value = if kind == Vectors::Pgvector { "CAST($4 AS vector)" } else { "$4" };
        let sql = format!(
            "INSERT INTO search_vectors (tenant, tool, chunk, embedding) VALUES ($1, $2, $3, {value})"
        );
        let mut write = self.begin().await?;
        for (chunk, vector) in vectors {
            let query = sqlx::query(AssertSqlSafe(sql.clone()))
                .bind(self.index.tenant.as_str())
                .bind(self.index.tool.as_str())
                .bind(chunk);
            kind.bind(query, vector).execute(write.connection()).await?;
        }
        write.commit().await
    }

    async fn delete(&self, write: &mut Write, head: &str, field: &str, values: &[String]) -> Result<()> {
        self.delete_in(write, head, field, values, "").await
    }

    async fn delete_in(
        &self,
        write: &mut Write,
        head: &str,
        field: &str,
        values: &[String],
        tail: &str,
    ) -> Result<()> {
        let places: Vec<String> = (0..values.len()).map(|at| format!("${}", at + 3)).collect();
        let sql =
            format!("{head} WHERE tenant = $1 AND tool = $2 AND {field} IN ({}){tail}", places.join(","));
        let mut query =
            sqlx::query(AssertSqlSafe(sql)).bind(self.index.tenant.as_str()).bind(self.index.tool.as_str());
        for value in values {
            query = query.bind(value.as_str());
        }
        query.execute(write.connection()).await?;
        Ok(())
    }
}

/// `INSERT` of many rows with `width` columns each.
fn insert(into: &str, width: usize, rows: usize) -> String {
    let row = |row: usize| {
        let places: Vec<String> = (1..=width).map(|column| format!("${}", row * width + column)).collect();
        format!("({})", places.join(","))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!("INSERT INTO {into} VALUES {}", rows.join(","))
}
