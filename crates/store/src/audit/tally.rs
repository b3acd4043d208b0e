//! The audit in numbers: calls counted by what they have in common, so that sums are those of its rows.

use super::read::{decode, detail};
use super::{Audit, AuditRow, COLUMNS};
use crate::database::Backend;
use crate::{Error, Result, row};
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row as _};
use tool::TenantId;

/// More groups than this are refused: whoever asks wants to look at them.
const MAX_GROUPS: i64 = 200_000;
/// Of the busiest groups, so many are read: whoever asks for them looks at a dozen.
const BUSIEST: i64 = 20_000;

/// What calls are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// The tool's name.
    Tool,
    /// The type of the service, empty where the call reached none.
    Scheme,
    /// The service's id, empty where the call reached none.
    Service,
    /// The MCP instance, or the kind of door.
    Door,
    /// Who called.
    Caller,
    /// How they ended.
    Status,
    /// With which code they failed, empty for those that did not.
    Code,
}

impl Key {
    fn sql(self, backend: Backend) -> String {
        let [code, door, kind, uri] =
            ["code", "door", "caller_kind", "uri"].map(|name| detail(backend, name));
        match (self, backend) {
            (Self::Tool, _) => "tool".to_owned(),
            (Self::Service, _) => "service".to_owned(),
            (Self::Caller, _) => "caller".to_owned(),
            (Self::Status, _) => "status".to_owned(),
            (Self::Code, _) => format!("COALESCE({code}, '')"),
            (Self::Door, _) => format!("CASE WHEN {kind} = 'instance' THEN caller ELSE {door} END"),
            (Self::Scheme, Backend::Sqlite) => format!("SUBSTR({uri}, 1, MAX(INSTR({uri}, '://') - 1, 0))"),
            (Self::Scheme, Backend::Postgres) => format!("SPLIT_PART({uri}, '://', 1)"),
        }
    }
}

/// Which calls are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// From this time on. Milliseconds since 1970.
    pub from: i64,
    /// Before this time.
    pub to: i64,
    /// Each stretch of so many milliseconds is counted by itself.
    pub step: i64,
    /// Only calls of this caller.
    pub caller: Option<String>,
}

/// Calls that have everything in common that was asked for, ended alike and took about as long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// One for each key that was asked for.
    pub keys: Vec<String>,
    /// The number of the stretch they began in, from 0.
    pub slot: i64,
    /// `ok`, `error` or `refused`.
    pub status: String,
    /// About how long each took, within five in a hundred.
    pub duration_us: i64,
    /// How many they are.
    pub calls: i64,
    /// How large their results are together.
    pub bytes: i64,
}

impl Audit<'_> {
    /// The tenant's calls in numbers.
    ///
    /// # Errors
    /// `Invalid` where there are too many groups, or when the database fails.
    pub async fn tally(self, tenant: &TenantId, window: &Window, keys: &[Key]) -> Result<Vec<Tally>> {
        let sql = format!("{} LIMIT $6", statement(self.0.backend(), keys));
        let found = self.counted(sql, tenant, window, keys.len(), MAX_GROUPS + 1).await?;
        if i64::try_from(found.len()).unwrap_or(i64::MAX) > MAX_GROUPS {
            let message = "there are too many numbers in this window; ask for a shorter one or a larger step";
            return Err(Error::invalid(message).at("step"));
        }
        Ok(found)
    }

    /// The same, the groups with most calls first; beyond twenty thousand, those with the fewest are left out.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn busiest(self, tenant: &TenantId, window: &Window, keys: &[Key]) -> Result<Vec<Tally>> {
        let sql = format!("{} ORDER BY COUNT(*) DESC LIMIT $6", statement(self.0.backend(), keys));
        self.counted(sql, tenant, window, keys.len(), BUSIEST).await
    }

    async fn counted(
        self,
        sql: String,
        tenant: &TenantId,
        window: &Window,
        keys: usize,
        limit: i64,
    ) -> Result<Vec<Tally>> {
        let rows = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(window.from)
            .bind(window.to)
            .bind(window.step)
            .bind(window.caller.as_deref().map(row::clean))
            .bind(limit)
            .fetch_all(self.0.pool())
            .await?;
        rows.iter().map(|row| read(row, keys)).collect()
    }

    /// The tenant's last calls that failed or were refused, newest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn failures(
        self,
        tenant: &TenantId,
        window: &Window,
        limit: i64,
    ) -> Result<Vec<AuditRow<'static>>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM audit WHERE tenant = $1 AND at >= $2 AND at < $3 AND status <> 'ok'
             AND ($4 IS NULL OR caller = $4) ORDER BY at DESC, id DESC LIMIT $5"
        );
        let rows = sqlx::query(AssertSqlSafe(sql))
            .bind(tenant.as_str())
            .bind(window.from)
            .bind(window.to)
            .bind(window.caller.as_deref().map(row::clean))
            .bind(limit)
            .fetch_all(self.0.pool())
            .await?;
        rows.iter().map(decode).collect()
    }
}

/// Times are grouped by how many digits they have and by the first two of them, which both databases can tell.
fn statement(backend: Backend, keys: &[Key]) -> String {
    let keys: String =
        keys.iter().enumerate().map(|(at, key)| format!("{} AS k{at}, ", key.sql(backend))).collect();
    let (us, bytes) = (detail(backend, "duration_us"), detail(backend, "result_bytes"));
    let groups: Vec<_> = (1..=keys.matches(" AS k").count() + 4).map(|at| at.to_string()).collect();
    format!(
        "SELECT {keys}CAST((at - $2) / $4 AS BIGINT) AS slot, status AS ended,
         LENGTH(CAST({us} AS TEXT)) AS digits, SUBSTR(CAST({us} AS TEXT), 1, 2) AS lead,
         COUNT(*) AS calls, CAST(SUM(CAST({bytes} AS BIGINT)) AS BIGINT) AS bytes
         FROM audit WHERE tenant = $1 AND at >= $2 AND at < $3 AND ($5 IS NULL OR caller = $5)
         GROUP BY {}",
        groups.join(", ")
    )
}

fn read(row: &AnyRow, keys: usize) -> Result<Tally> {
    let keys = (0..keys).map(|at| row::text(row, &format!("k{at}"))).collect::<Result<_>>()?;
    let digits: i64 = match row.try_get::<i64, _>("digits") {
        Ok(digits) => digits,
        Err(_) => i64::from(row.try_get::<i32, _>("digits")?),
    };
    Ok(Tally {
        keys,
        slot: row::integer(row, "slot")?,
        status: row::text(row, "ended")?,
        duration_us: about(digits, &row::text(row, "lead")?),
        calls: row::integer(row, "calls")?,
        bytes: row::integer(row, "bytes")?,
    })
}

/// The middle of the times that have so many digits and begin with these.
fn about(digits: i64, lead: &str) -> i64 {
    let first: i64 = lead.parse().unwrap_or(0);
    let rest = u32::try_from(digits).unwrap_or(0).saturating_sub(u32::try_from(lead.len()).unwrap_or(0));
    let unit = 10_i64.saturating_pow(rest);
    first.saturating_mul(unit).saturating_add(unit / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_known_by_its_first_digits() {
        for us in [0, 7, 42, 99, 100, 123, 9_999, 10_000, 1_234_567, 98_765_432_100_i64] {
            let text = us.to_string();
            let told = about(text.len() as i64, &text[..text.len().min(2)]);
            assert!((told - us).abs() * 20 <= us.max(1), "{us} is told as {told}");
        }
    }
}
