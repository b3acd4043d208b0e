//! The ways to choose among instances.

use super::Group;
use schemars::JsonSchema;
use serde::Deserialize;

// The doc comments of variants would turn the schema's `enum` into a `oneOf` that explains less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(in crate::svc) enum LoadBalancer {
    #[default]
    RoundRobin,
    Random,
    Weighted,
    LeastConnections,
    P2c,
    // The schema has refused it; here it only must not keep the rest from being checked.
    #[serde(other)]
    #[schemars(skip)]
    Unknown,
}

/// Chance that can be repeated: SplitMix64.
#[derive(Debug)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

impl Group {
    /// One of the candidates, which are positions of members in order.
    pub(super) fn choose(&mut self, candidates: &[usize]) -> Option<usize> {
        let last = candidates.len().checked_sub(1)?;
        match self.load_balancer {
            _ if last == 0 => candidates.first().copied(),
            LoadBalancer::RoundRobin | LoadBalancer::Unknown => self.next_after_cursor(candidates, |_| true),
            LoadBalancer::Random => candidates.get(self.chance.below(candidates.len())).copied(),
            LoadBalancer::Weighted => self.smooth(candidates),
            LoadBalancer::LeastConnections => {
                let least = candidates.iter().map(|at| self.members[*at].active).min()?;
                self.next_after_cursor(candidates, |active| active == least)
            }
            LoadBalancer::P2c => {
                let first = self.chance.below(candidates.len());
                // Another one, each as likely as the next.
                let second = (first + 1 + self.chance.below(last)) % candidates.len();
                let pair = [candidates[first], candidates[second]];
                pair.into_iter().min_by_key(|at| self.members[*at].active)
            }
        }
    }

    /// The first candidate behind the one of the last turn, among those with so many calls under way.
    fn next_after_cursor(&mut self, candidates: &[usize], is_good: impl Fn(usize) -> bool) -> Option<usize> {
        let start = candidates.partition_point(|at| *at <= self.cursor);
        let around = candidates[start..].iter().chain(&candidates[..start]);
        let chosen = around.copied().find(|at| is_good(self.members[*at].active));
        self.cursor = chosen.unwrap_or_default();
        chosen
    }

    /// Smooth weighted round robin, as nginx has it: each gains its weight, the richest pays for all.
    fn smooth(&mut self, candidates: &[usize]) -> Option<usize> {
        let mut total = 0;
        let mut richest: Option<usize> = None;
        for at in candidates.iter().copied() {
            let weight = i64::from(self.members[at].instance.weight);
            self.members[at].credit += weight;
            total += weight;
            if richest.is_none_or(|other| self.members[at].credit > self.members[other].credit) {
                richest = Some(at);
            }
        }
        self.members[richest?].credit -= total;
        richest
    }
}
