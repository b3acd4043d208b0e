//! Which instance serves next: what is known of each, who is left alone for a while, and whose turn it is.
//!
//! Nothing here waits or looks at a clock, so that every rule can be tried out.

mod choose;
mod outlier;
#[cfg(test)]
mod tests;

pub(super) use choose::LoadBalancer;
pub(super) use outlier::{OutlierSettings, Outliers};

use super::instance::Instance;
use choose::Chance;
use outlier::Record;
use std::sync::Arc;
use std::time::Instant;

/// The instances of a service with what happened to each.
#[derive(Debug)]
pub(super) struct Group {
    load_balancer: LoadBalancer,
    outliers: Outliers,
    members: Vec<Member>,
    /// Where the last turn was; it goes around.
    cursor: usize,
    chance: Chance,
    next_id: u64,
}

/// One instance and what happened to it.
#[derive(Debug)]
struct Member {
    /// Told apart from whoever had the address before.
    id: u64,
    instance: Arc<Instance>,
    /// How many calls are under way.
    active: usize,
    /// What smooth balancing owes it.
    credit: i64,
    record: Record,
}

/// Whose turn it is; it is given back to the group in the end.
#[derive(Debug)]
pub(super) struct Turn {
    id: u64,
    pub(super) instance: Arc<Instance>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Succeeded,
    Failed,
    /// It says nothing about the instance.
    Unknown,
}

impl Group {
    pub(super) fn new(load_balancer: LoadBalancer, outliers: Outliers, seed: u64) -> Self {
        let chance = Chance(seed);
        Self { load_balancer, outliers, members: Vec::new(), cursor: 0, chance, next_id: 0 }
    }

    /// Takes these instances for those that there are. Who was there before keeps its record.
    pub(super) fn replace(&mut self, instances: impl IntoIterator<Item = Instance>) {
        let mut before = std::mem::take(&mut self.members);
        for instance in instances {
            let is_same = |one: &Instance| (&one.host, one.port) == (&instance.host, instance.port);
            if self.members.iter().any(|member| is_same(&member.instance)) {
                continue;
            }
            let known = before.iter().position(|member| is_same(&member.instance));
            let member = match known {
                Some(at) => {
                    let known = before.swap_remove(at);
                    let instance =
                        if *known.instance == instance { known.instance } else { Arc::new(instance) };
                    Member { instance, ..known }
                }
                None => {
                    self.next_id += 1;
                    let (id, instance) = (self.next_id, Arc::new(instance));
                    Member { id, instance, active: 0, credit: 0, record: Record::default() }
                }
            };
            self.members.push(member);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Says so when every instance failed when it was last asked.
    pub(super) fn trouble(&self) -> Option<String> {
        let count = self.members.len();
        let is_down = count > 0 && self.members.iter().all(|member| member.record.is_failing());
        is_down.then(|| match count {
            1 => "the only instance failed when it was last asked".to_owned(),
            _ => format!("all {count} instances failed when they were last asked"),
        })
    }

    /// The instance for the next call, unless all were tried. Those that are left alone serve only where a list
    /// holds nobody else.
    pub(super) fn pick(&mut self, tried: &[Arc<Instance>], now: Instant) -> Option<Turn> {
        let is_tried = |member: &Member| tried.contains(&member.instance);
        let mut candidates: Vec<usize> = (0..self.members.len())
            .filter(|at| !is_tried(&self.members[*at]) && !self.members[*at].record.is_ejected(now))
            .collect();
        if candidates.is_empty() && tried.is_empty() {
            candidates = (0..self.members.len()).collect();
        }
        let first = candidates.iter().map(|at| self.members[*at].instance.priority).min()?;
        candidates.retain(|at| self.members[*at].instance.priority == first);
        let at = self.choose(&candidates)?;
        let member = self.members.get_mut(at)?;
        member.active += 1;
        Some(Turn { id: member.id, instance: member.instance.clone() })
    }

    /// Takes a turn back.
    pub(super) fn end(&mut self, turn: &Turn, verdict: Verdict, now: Instant) {
        let Some(at) = self.members.iter().position(|member| member.id == turn.id) else { return };
        self.members[at].active = self.members[at].active.saturating_sub(1);
        match verdict {
            Verdict::Succeeded => self.members[at].record.succeeded(),
            Verdict::Failed => {
                let ejected = self.members.iter().filter(|member| member.record.is_ejected(now)).count();
                let may_eject = self.outliers.may_eject(self.members.len(), ejected);
                self.members[at].record.failed(&self.outliers, may_eject, now);
            }
            Verdict::Unknown => {}
        }
    }
}
