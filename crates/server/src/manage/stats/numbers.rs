//! Calls in numbers: how many, how they ended, how long they took.

use std::collections::BTreeMap;
use store::Tally;

/// Calls that are looked at together.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers {
    pub(super) calls: i64,
    pub(super) errors: i64,
    pub(super) refused: i64,
    pub(super) bytes: i64,
    /// How many took about so many microseconds. What was turned away took no time worth telling.
    times: BTreeMap<i64, i64>,
}

impl Numbers {
    pub(super) fn add(&mut self, tally: &Tally) {
        self.calls += tally.calls;
        self.bytes += tally.bytes;
        match tally.status.as_str() {
            "refused" => {
                self.refused += tally.calls;
                return;
            }
            "error" => self.errors += tally.calls,
            _ => {}
        }
        *self.times.entry(tally.duration_us).or_default() += tally.calls;
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.calls += other.calls;
        self.errors += other.errors;
        self.refused += other.refused;
        self.bytes += other.bytes;
        other.times.into_iter().for_each(|(time, calls)| *self.times.entry(time).or_default() += calls);
    }

    /// The time that so many in a hundred calls took no longer than.
    pub(super) fn percentile_ms(&self, percent: i64) -> Option<f64> {
        let all: i64 = self.times.values().sum();
        let wanted = (all * percent + 99) / 100;
        let mut passed = 0;
        let time = self.times.iter().find(|(_, calls)| {
            passed += **calls;
            passed >= wanted
        });
        time.filter(|_| all > 0).map(|(us, _)| *us as f64 / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(status: &str, duration_us: i64, calls: i64) -> Tally {
        Tally { keys: Vec::new(), slot: 0, status: status.into(), duration_us, calls, bytes: 2 * calls }
    }

    #[test]
    fn percentiles_are_those_of_calls_that_ran() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.percentile_ms(50), None);
        numbers.add(&tally("ok", 1_000, 94));
        numbers.add(&tally("error", 9_000, 6));
        let mut refused = Numbers::default();
        refused.add(&tally("refused", 1, 50));
        numbers.merge(refused);
        assert_eq!((numbers.calls, numbers.errors, numbers.refused, numbers.bytes), (150, 6, 50, 300));
        assert_eq!((numbers.percentile_ms(50), numbers.percentile_ms(95)), (Some(1.0), Some(9.0)));
    }
}
