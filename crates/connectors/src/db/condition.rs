//! How a database is: whether it answers, what the settings name in vain, and what callers do not get.

use super::Db;
use super::engine::{Origin, Statement};
use tool::{Error, Result};

impl Db {
    /// Whether it answers, and has what the settings name.
    ///
    /// # Errors
    /// `InvalidConfig` saying what it does not have, or why it does not answer.
    pub(super) async fn probe(&self) -> Result<()> {
        let statement =
            Statement { sql: "SELECT 1 AS one".to_owned(), values: Vec::new(), origin: Origin::Ours };
        self.client.read(&statement, self.one_row()).await?;
        let mut known = self.known().await?;
        // Somebody may just have made what was missing.
        if known.catalog.trouble().is_some() {
            let _turn = self.reading.lock().await;
            known = self.read_catalog().await?;
        }
        known.catalog.trouble().map_or(Ok(()), |why| Err(Error::invalid_config(why)))
    }

    /// What is wrong as far as it is known without asking.
    pub(super) fn known_trouble(&self) -> Option<String> {
        let of_catalog = || self.remembered()?.catalog.trouble();
        self.client.bounds.breaker.trouble().or_else(of_catalog)
    }

    /// What is worth a word, though all is well.
    pub(super) fn known_notes(&self) -> Vec<String> {
        let exposure = self.client.pool.opener.address.exposure();
        exposure.into_iter().chain(self.superuser_note()).collect()
    }

    /// Why there is no such tool, where the settings or the rights of the user say so.
    pub(super) fn why_absent(&self, tool: &str) -> Option<String> {
        match tool {
            "query" | "execute" if self.selection.tenant_column.is_some() => Some(
                "with 'tenant_column' callers send no SQL; call a query with a name that uses :tenantId"
                    .to_owned(),
            ),
            "query" | "execute" => self.superuser_note(),
            _ => self.remembered()?.catalog.trouble(),
        }
    }

    /// Says that callers send no SQL because the user is too mighty.
    fn superuser_note(&self) -> Option<String> {
        let is_meant = self.offer.has_query || self.offer.has_execute();
        let is_withheld = !self.offer.allows_superuser && self.remembered()?.catalog.is_superuser;
        (is_meant && is_withheld).then(|| {
            "the user in 'connection_string' could do anything in the database or on its server, so that callers send no SQL of their own (query, execute); give it fewer rights, or set 'allow_superuser'".to_owned()
        })
    }
}
