//! Re-sealing: every sealed value of the database moves to the vault's first key.

use crate::conversations::turn_place;
use crate::database::Write;
use crate::flows::secret_place;
use crate::runs::{data_place, record_place};
use crate::services::{service_place, tool_place};
use crate::tools::row as tool_row;
use crate::{Error, Result, Store, Vault, meta, row};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

impl Store {
    /// Makes a new master key in the key file, re-seals everything with it and forgets the old
    /// keys. Returns how many values were re-sealed. A crash at any moment loses nothing.
    pub async fn rotate_master_key(&self) -> Result<u64> {
        let folder = self.vault().key_file().and_then(|path| path.parent()).map(ToOwned::to_owned);
        let Some(folder) = folder else {
            return Err(Error::invalid(
                "the master key was provided from outside; put the new key before the old one and re-seal",
            ));
        };
        // Waits for other rotations, so not on the runtime's own threads.
        let rotation = tokio::task::spawn_blocking(move || Vault::rotate_file(&folder))
            .await
            .map_err(|_| Error::internal("the rotation of the key file panicked"))??;
        let count = self.reseal().await?;
        rotation.finish()?;
        self.vault().reload()?;
        Ok(count)
    }

    /// Re-seals every sealed value with the first master key, in one transaction, and returns
    /// how many there were.
    pub async fn reseal(&self) -> Result<u64> {
        self.vault().reload()?;
        let mut write = self.write().await?;
        // Locks the canary: writers that seal wait, then use the new key.
        meta::sealing_key(self, &mut write).await?;
        let key_id = self.vault().first_key_id();
        let mut count = self.reseal_services(&mut write, &key_id).await?;
        count += self.reseal_service_tools(&mut write, &key_id).await?;
        count += self.reseal_tools(&mut write, &key_id).await?;
        count += self.reseal_tool_versions(&mut write, &key_id).await?;
        count += self.reseal_triggers(&mut write, &key_id).await?;
        count += self.reseal_runs(&mut write, &key_id).await?;
        count += self.reseal_run_records(&mut write, &key_id).await?;
        count += self.reseal_conversations(&mut write, &key_id).await?;
        count += self.reseal_meta(&mut write, &key_id).await?;
        write.commit().await?;
        Ok(count)
    }

    async fn reseal_services(&self, write: &mut Write, key_id: &str) -> Result<u64> {
        let rows = sqlx::query("SELECT tenant, type, id, config FROM services ORDER BY tenant, type, id")
            .fetch_all(write.connection())
            .await?;
        for row in &rows {
            let [tenant, scheme, id] = texts(row, ["tenant", "type", "id"])?;
            let place = service_place(&tenant, &scheme, &id);
            let sealed = self.reseal_one(key_id, &place, &row::text(row, "config")?)?;
            sqlx::query("UPDATE services SET config = $4 WHERE tenant = $1 AND type = $2 AND id = $3")
                .bind(tenant)
                .bind(scheme)
                .bind(id)
                .bind(sealed)
                .execute(write.connection())
                .await?;
        }
        Ok(rows.len() as u64)
    }

    async fn reseal_service_tools(&self, write: &mut Write, key_id: &str) -> Result<u64> {
        let rows = sqlx::query(
            "SELECT tenant, type, service, id, definition FROM service_tools ORDER BY tenant, type, service, id",
        )
        .fetch_all(write.connection())
        .await?;
        for row in &rows {
            let [tenant, scheme, service, id] = texts(row, ["tenant", "type", "service", "id"])?;
            let place = tool_place(&tenant, &scheme, &service, &id);
            let sealed = self.reseal_one(key_id, &place, &row::text(row, "definition")?)?;
            sqlx::query(
                "UPDATE service_tools SET definition = $5
                 WHERE tenant = $1 AND type = $2 AND service = $3 AND id = $4",
            )
            .bind(tenant)
            .bind(scheme)
            .bind(service)
            .bind(id)
            .bind(sealed)
            .execute(write.connection())
            .await?;
        }
        Ok(rows.len() as u64)
    }

    async fn reseal_tools(&self, write: &mut Write, key_id: &str) -> Result<u64> {
        let rows = sqlx::query("SELECT tenant, id, definition FROM tools ORDER BY tenant, id")
            .fetch_all(write.connection())
            .await?;
        for row in &rows {
            let [tenant, id] = texts(row, ["tenant", "id"])?;
            let place = tool_row::tool_place(&tenant, &id);
            let sealed = self.reseal_one(key_id, &place, &row::text(row, "definition")?)?;
            sqlx::query("UPDATE tools SET definition = $3 WHERE tenant = $1 AND id = $2")
                .bind(tenant)
                .bind(id)
                .bind(sealed)
                .execute(write.connection())
                .await?;
        }
        Ok(rows.len() as u64)
    }

    async fn reseal_tool_versions(&self, write: &mut Write, key_id: &str) -> Result<u64> {
        let rows = sqlx::query(
            "SELECT tenant, tool, version, content FROM tool_versions ORDER BY tenant, tool, version",
        )
        .fetch_all(write.connection())
        .await?;
        for row in &rows {
            let ([tenant, tool], version) = (texts(row, ["tenant", "tool"])?, row::integer(row, "version")?);
            let place = tool_row::version_place(&tenant, &tool, version);
            let sealed = self.reseal_one(key_id, &place, &row::text(row, "content")?)?;
            sqlx::query(
                "UPDATE tool_versions SET content = $4 WHERE tenant = $1 AND tool = $2 AND version = $3",
            )
            .bind(tenant)
            .bind(tool)
            .bind(version)
            .bind(sealed)
            .execute(write.connection())
            .await?;
        }
        Ok(rows.len() as u64)
    }

    async fn reseal_triggers(&self, write: &mut Write, key_id: &str) -> Result<u64> {
        let rows =
            sqlx::query("SELECT tenant, flow, name, secret FROM flow_triggers WHERE secret IS NOT NULL")
                .fetch_all(write.connection())
                .await?;
        for row in &rows {
            let [tenant, flow, name, secret] = texts(row, ["tenant", "flow", "name", "secret"])?;
            let sealed = self.reseal_one(key_id, &secret_place(&tenant, &flow, &name), &secret)?;
            sqlx::query("UPDATE flow_triggers SET secret = $4 WHERE tenant = $1 AND flow = $2 AND name = $3")
                .bind(tenant)
                .bind(flow)
                .bind(name)
                .bind(sealed)
                .execute(write.connection())
                .await?;
        }
        Ok(rows.len() as u64)
    }

    async fn reseal_runs(&self, write: &mut Write, key_id: &str) -> Result<u64> {
        let mut count = 0;
        for column in ["inputs", "output", "error"] {
            let sql =
                format!("SELECT tenant, run, {column} AS sealed FROM run_data WHERE {column} LIKE 'v1.%'");
            let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(write.connection()).await?;
            for row in &rows {
                let [tenant, run, sealed] = texts(row, ["tenant", "run", "sealed"])?;
                let sealed = self.reseal_one(key_id, &data_place(&tenant, &run, column), &sealed)?;
                let sql = format!("UPDATE run_data SET {column} = $3 WHERE tenant = $1 AND run = $2");
                let update = sqlx::query(AssertSqlSafe(sql)).bind(tenant).bind(run).bind(sealed);
                update.execute(write.connection()).await?;
            }
            count += rows.len() as u64;
        }
        Ok(count)
    }

    async fn reseal_run_records(&self, write: &mut Write, key_id: &str) -> Result<u64> {
        let rows = sqlx::query(
            "SELECT j.tenant, j.run, j.seq, j.data FROM runs r
             JOIN run_journal j ON j.tenant = r.tenant AND j.run = r.id WHERE r.is_secret = 1",
        )
        .fetch_all(write.connection())
        .await?;
        for row in &rows {
            let ([tenant, run, data], seq) =
                (texts(row, ["tenant", "run", "data"])?, row::integer(row, "seq")?);
            let sealed = self.reseal_one(key_id, &record_place(&tenant, &run, seq), &data)?;
            sqlx::query("UPDATE run_journal SET data = $4 WHERE tenant = $1 AND run = $2 AND seq = $3")
                .bind(tenant)
                .bind(run)
                .bind(seq)
                .bind(sealed)
                .execute(write.connection())
                .await?;
        }
        Ok(rows.len() as u64)
    }

    async fn reseal_conversations(&self, write: &mut Write, key_id: &str) -> Result<u64> {
        let rows = sqlx::query("SELECT tenant, conversation, number, said FROM conversation_turns")
            .fetch_all(write.connection())
            .await?;
        for row in &rows {
            let ([tenant, conversation, said], number) =
                (texts(row, ["tenant", "conversation", "said"])?, row::integer(row, "number")?);
            let sealed = self.reseal_one(key_id, &turn_place(&tenant, &conversation, number), &said)?;
            sqlx::query(
                "UPDATE conversation_turns SET said = $4 WHERE tenant = $1 AND conversation = $2 AND number = $3",
            )
            .bind(tenant)
            .bind(conversation)
            .bind(number)
            .bind(sealed)
            .execute(write.connection())
            .await?;
        }
        Ok(rows.len() as u64)
    }

    /// The canary is among them; from the commit on it names the new key.
    async fn reseal_meta(&self, write: &mut Write, key_id: &str) -> Result<u64> {
        let mut count = 0;
        for name in [meta::CANARY, meta::JWT_KEY] {
            let row = sqlx::query("SELECT value FROM meta WHERE name = $1")
                .bind(name)
                .fetch_optional(write.connection())
                .await?;
            let Some(row) = row else { continue };
            let sealed = self.reseal_one(key_id, &meta::place(name), &row::text(&row, "value")?)?;
            sqlx::query("UPDATE meta SET value = $2 WHERE name = $1")
                .bind(name)
                .bind(sealed)
                .execute(write.connection())
                .await?;
            count += 1;
        }
        Ok(count)
    }

    fn reseal_one(&self, key_id: &str, place: &str, sealed: &str) -> Result<String> {
        self.vault().seal(key_id, place, &self.vault().open(place, sealed)?)
    }
}

fn texts<const N: usize>(row: &AnyRow, columns: [&str; N]) -> Result<[String; N]> {
    let values = columns.iter().map(|column| row::text(row, column)).collect::<Result<Vec<_>>>()?;
    values.try_into().map_err(|_| Error::internal("a row has too few columns"))
}
