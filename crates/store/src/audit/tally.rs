//! The audit in numbers: calls counted by what they have in common, so that sums are those of its rows.

use super::block::Glance;
use super::walk::{Order, Walk, Wanted};
use super::{Audit, AuditRow, Filter};
use crate::{Error, Result};
use std::collections::HashMap;
use tool::TenantId;

/// More groups than this are refused: whoever asks wants to look at them.
const MAX_GROUPS: usize = 200_000;
/// Of the busiest groups, so many are told: whoever asks for them looks at a dozen.
const BUSIEST: usize = 20_000;
/// So many groups are counted to find the busiest; calls of further ones are left out.
const MAX_COUNTED: usize = 500_000;

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
    fn of<'a>(self, call: &'a Glance<'_>) -> &'a str {
        match self {
            Self::Tool => &call.tool,
            Self::Scheme => call.details.uri.split_once("://").map_or("", |(scheme, _)| scheme),
            Self::Service => &call.service,
            Self::Door => call.door(),
            Self::Caller => &call.caller,
            Self::Status => &call.status,
            Self::Code => call.code(),
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
        let found = self.counted(tenant, window, keys, MAX_GROUPS + 1).await?;
        if found.len() > MAX_GROUPS {
            let message = "there are too many numbers in this window; ask for a shorter one or a larger step";
            return Err(Error::invalid(message).at("step"));
        }
        Ok(found.into_iter().map(Group::told).collect())
    }

    /// The same, the groups with most calls first; beyond twenty thousand, those with the fewest are left out.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn busiest(self, tenant: &TenantId, window: &Window, keys: &[Key]) -> Result<Vec<Tally>> {
        let mut found: Vec<_> = self.counted(tenant, window, keys, MAX_COUNTED).await?.into_iter().collect();
        found.sort_unstable_by(|(one, of_one), (other, of_other)| {
            (of_other.calls, one).cmp(&(of_one.calls, other))
        });
        found.truncate(BUSIEST);
        Ok(found.into_iter().map(Group::told).collect())
    }

    /// All groups, or `most` of them.
    async fn counted(
        self,
        tenant: &TenantId,
        window: &Window,
        keys: &[Key],
        most: usize,
    ) -> Result<HashMap<Group, Sum>> {
        let (mut connection, mut groups) = (self.0.pool().acquire().await?, HashMap::new());
        let wanted = wanted(tenant, window);
        let mut walk = Walk::new(self.0.backend(), wanted.clone(), Order::NewestFirst);
        loop {
            let found = walk.next(&mut connection).await?;
            if found.is_empty() {
                return Ok(groups);
            }
            for line in found.iter().flat_map(|block| block.records.lines()) {
                let call = Glance::of(line)?;
                if wanted.fits(&call) {
                    add(&mut groups, Group::of(&call, window, keys), &call, most);
                }
            }
        }
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
        let mut wanted = wanted(tenant, window);
        wanted.is_failure = true;
        self.first(wanted, limit).await
    }
}

fn wanted(tenant: &TenantId, window: &Window) -> Wanted {
    let caller = window.caller.clone();
    let filter = Filter { from: Some(window.from), to: Some(window.to), caller, ..Filter::default() };
    Wanted::new(tenant.as_str(), filter)
}

/// What calls have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Group {
    keys: Vec<String>,
    slot: i64,
    status: String,
    duration_us: i64,
}

#[derive(Debug, Default)]
struct Sum {
    calls: i64,
    bytes: i64,
}

impl Group {
    fn of(call: &Glance<'_>, window: &Window, keys: &[Key]) -> Self {
        Self {
            keys: keys.iter().map(|key| key.of(call).to_owned()).collect(),
            slot: call.at.saturating_sub(window.from).checked_div(window.step).unwrap_or_default(),
            status: call.status.to_string(),
            duration_us: about(call.details.duration_us),
        }
    }

    fn told((group, sum): (Self, Sum)) -> Tally {
        let Self { keys, slot, status, duration_us } = group;
        Tally { keys, slot, status, duration_us, calls: sum.calls, bytes: sum.bytes }
    }
}

fn add(groups: &mut HashMap<Group, Sum>, group: Group, call: &Glance<'_>, most: usize) {
    if groups.len() >= most && !groups.contains_key(&group) {
        return;
    }
    let sum = groups.entry(group).or_default();
    sum.calls += 1;
    sum.bytes = sum.bytes.saturating_add(call.details.result_bytes);
}

/// The middle of the times that have as many digits and begin with the same two.
fn about(us: i64) -> i64 {
    let rest = us.max(1).ilog10().saturating_sub(1);
    let unit = 10_i64.saturating_pow(rest);
    (us / unit).saturating_mul(unit).saturating_add(unit / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_known_by_its_first_digits() {
        for us in [0, 7, 42, 99, 100, 123, 9_999, 10_000, 1_234_567, 98_765_432_100_i64] {
            let told = about(us);
            assert!((told - us).abs() * 20 <= us.max(1), "{us} is told as {told}");
        }
    }
}
