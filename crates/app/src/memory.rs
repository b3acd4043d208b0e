//! Memory that was needed once goes back to the machine, also while nothing else happens.

use std::time::Duration;
use tokio::time::Instant;

/// How often is looked.
const EVERY: Duration = Duration::from_secs(2);
/// Growth that is not worth the work.
const MARGIN_BYTES: u64 = 16 << 20;
/// After a growth, what came in is looked for so often: it may still be in use the first times.
const TRIES: u32 = 8;
/// However it grew, and however slowly, it is tried this often.
const AT_LEAST_EVERY: Duration = Duration::from_secs(60);

/// Looks at what the process holds, for ever, and gives back what it grew by and does not use any more.
pub async fn give_back_what_is_unused() {
    let mut watch = Watch { calm: resident_bytes().unwrap_or(0), tries: 0, last: Instant::now() };
    loop {
        tokio::time::sleep(EVERY).await;
        // Where the machine does not tell, there is nothing to go by.
        let Some(now) = resident_bytes() else { return };
        if watch.is_due(now) {
            allocator::give_back();
        }
    }
}

struct Watch {
    /// What it held before it grew.
    calm: u64,
    tries: u32,
    last: Instant,
}

impl Watch {
    fn is_due(&mut self, now: u64) -> bool {
        let has_grown = now > self.calm.saturating_add(MARGIN_BYTES);
        match (has_grown, self.tries) {
            (true, TRIES) => (self.calm, self.tries) = (now, 0),
            (true, _) => self.tries += 1,
            (false, _) => (self.calm, self.tries) = (now.min(self.calm), 0),
        }
        let is_due = self.tries > 0 || self.last.elapsed() >= AT_LEAST_EVERY && now > 4 * MARGIN_BYTES;
        if is_due {
            self.last = Instant::now();
        }
        is_due
    }
}

/// What the process has in memory, where the machine tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[tokio::test(start_paused = true)]
    async fn looks_again_until_a_growth_has_gone_or_turns_out_to_stay() {
        let mut watch = Watch { calm: 30 * MB, tries: 0, last: Instant::now() };
        assert!(!watch.is_due(40 * MB), "a little is nothing");
        assert!(watch.is_due(200 * MB) && watch.is_due(200 * MB), "it may still be in use");
        assert!(!watch.is_due(35 * MB), "it has gone");
        assert_eq!((0..20).filter(|_| watch.is_due(200 * MB)).count(), 8, "it stays");
        tokio::time::advance(AT_LEAST_EVERY).await;
        assert!(watch.is_due(200 * MB) && !watch.is_due(200 * MB), "once a minute");
    }
}
