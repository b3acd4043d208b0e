//! Pins: what the tools of a service were when they were first seen. They go with their service.

use crate::database::Write;
use crate::services::check_name;
use crate::{Error, Result, Store, row};
use sqlx::AnyConnection;
use tool::TenantId;

/// How often a change is tried when others change the same pins.
const ATTEMPTS: usize = 10;

/// Who has to know of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announce {
    /// Nobody: the others find out the same by themselves.
    No,
    /// Every replica.
    ToReplicas,
}

/// The pins of services, as JSON text.
#[derive(Debug, Clone, Copy)]
pub struct ServicePins<'a>(pub(crate) &'a Store);

impl ServicePins<'_> {
    /// The pins of a service; `None` until there are some.
    pub async fn get(self, tenant: &TenantId, scheme: &str, service: &str) -> Result<Option<String>> {
        let mut snapshot = self.0.snapshot().await?;
        Ok(read(&mut snapshot, tenant, scheme, service).await?.map(|(pins, _)| pins))
    }

    /// Changes the pins of a service, all or nothing. `edit` gets what is there and is asked again
    /// when another replica was faster; nothing is written if it answers `None` or what is there.
    pub async fn change<T: Send>(
        self,
        tenant: &TenantId,
        scheme: &str,
        service: &str,
        announce: Announce,
        edit: impl Fn(Option<&str>) -> (Option<String>, T) + Send,
    ) -> Result<T> {
        check_name(scheme, service)?;
        for _ in 0..ATTEMPTS {
            let mut write = self.0.write().await?;
            let found = read(write.connection(), tenant, scheme, service).await?;
            let there = found.as_ref().map(|(pins, _)| pins.as_str());
            let (pins, outcome) = edit(there);
            let Some(pins) = pins.filter(|pins| there != Some(pins)) else { return Ok(outcome) };
            let version = found.map(|(_, version)| version);
            if !put(&mut write, tenant, scheme, service, &pins, version).await? {
                continue;
            }
            match announce {
                Announce::No => write.commit().await?,
                Announce::ToReplicas => write.commit_change(tenant).await?,
            }
            return Ok(outcome);
        }
        Err(Error::unavailable("the pins of the service do not stop changing"))
    }
}

/// Writes the pins if they still have this version; false when they do not.
async fn put(
    write: &mut Write,
    tenant: &TenantId,
    scheme: &str,
    service: &str,
    pins: &str,
    version: Option<i64>,
) -> Result<bool> {
    let query = match version {
        None => sqlx::query(
            "INSERT INTO service_pins (tenant, type, service, pins, version) VALUES ($1, $2, $3, $4, $5 + 1)
             ON CONFLICT (tenant, type, service) DO NOTHING",
        ),
        Some(_) => sqlx::query(
            "UPDATE service_pins SET pins = $4, version = version + 1
             WHERE tenant = $1 AND type = $2 AND service = $3 AND version = $5",
        ),
    };
    let done = query
        .bind(tenant.as_str())
        .bind(scheme)
        .bind(service)
        .bind(pins)
        .bind(version.unwrap_or_default())
        .execute(write.connection())
        .await?;
    Ok(done.rows_affected() > 0)
}

async fn read(
    connection: &mut AnyConnection,
    tenant: &TenantId,
    scheme: &str,
    service: &str,
) -> Result<Option<(String, i64)>> {
    let found = sqlx::query(
        "SELECT pins, version FROM service_pins WHERE tenant = $1 AND type = $2 AND service = $3",
    )
    .bind(tenant.as_str())
    .bind(scheme)
    .bind(service)
    .fetch_optional(connection)
    .await?;
    found.map(|found| Ok((row::text(&found, "pins")?, row::integer(&found, "version")?))).transpose()
}
