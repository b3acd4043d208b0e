//! `find_tools`: what is asked, and the answer over the tools that one caller may see.

mod answer;
mod asked;

pub use asked::{Detail, Find};

use crate::{Index, fuse};
use answer::Answer;
use serde_json::value::RawValue;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A tool as a caller's list has it.
#[derive(Debug, Clone, Copy)]
pub struct Listed<'a> {
    /// The name that the caller knows.
    pub name: &'a str,
    /// The service that it is told as.
    pub service: &'a str,
    /// The definition, in JSON.
    pub definition: &'a [u8],
}

/// The tools that one caller may see, of those in an index.
#[derive(Clone, Copy)]
pub struct VisibleTools<'s, 'a> {
    /// All tools.
    pub index: &'s Index,
    /// The tool at a place, if the caller may see it.
    pub visible: &'s dyn Fn(usize) -> Option<Listed<'a>>,
    /// What is said of a service.
    pub about_service: &'s dyn Fn(&str) -> Option<String>,
}

/// A tool that was found, with its place and what it counts.
type Found<'a> = (usize, Listed<'a>, f32);

/// A tool that was chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen<'a> {
    listed: Listed<'a>,
    score: Option<f32>,
}

impl<'a> VisibleTools<'_, 'a> {
    /// The answer. `near` are places of tools that mean something similar, best first, where that is known.
    #[must_use]
    pub fn find(&self, find: &Find, near: &[usize]) -> Box<RawValue> {
        let (chosen, total) = match &find.query {
            _ if find.is_overview() => (Vec::new(), self.all().count()),
            Some(query) => self.ranked(find, query, near),
            None => self.picked(find),
        };
        let services = chosen.is_empty().then(|| self.services());
        Answer { chosen: &chosen, total, services, find, about_service: self.about_service }.write()
    }

    /// Every service that the caller may see a tool of, and how many it may see.
    #[must_use]
    pub fn services(&self) -> BTreeMap<&'a str, usize> {
        let mut services = BTreeMap::new();
        for listed in self.all() {
            *services.entry(listed.service).or_default() += 1;
        }
        services
    }

    /// The names that come nearest to one that is none, best first.
    #[must_use]
    pub fn nearest(&self, name: &str, limit: usize) -> Vec<&'a str> {
        let find = Find { limit, query: Some(name.to_owned()), ..Find::default() };
        let (chosen, _) = self.ranked(&find, name, &[]);
        chosen.iter().map(|chosen| chosen.listed.name).collect()
    }

    fn all(&self) -> impl Iterator<Item = Listed<'a>> {
        (0..self.index.len()).filter_map(self.visible)
    }

    /// Tools by name alone: those that were named, or a service's.
    fn picked(&self, find: &Find) -> (Vec<Chosen<'a>>, usize) {
        let mut chosen: Vec<_> = self.all().filter(|listed| find.takes(listed)).collect();
        let place = |listed: &Listed<'_>| find.names.iter().position(|name| name == listed.name);
        chosen.sort_unstable_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.name.cmp(b.name)));
        let total = chosen.len();
        chosen.truncate(find.limit);
        (chosen.into_iter().map(|listed| Chosen { listed, score: None }).collect(), total)
    }

    /// Tools by what was asked for, best first.
    fn ranked(&self, find: &Find, query: &str, near: &[usize]) -> (Vec<Chosen<'a>>, usize) {
        let taken = |place: usize| (self.visible)(place).filter(|listed| find.takes(listed));
        let hits = self.index.matches(query);
        let scored = hits.iter().filter_map(|hit| Some((hit.place, taken(hit.place)?, hit.score)));
        let mut hits: Vec<Found<'a>> = scored.collect();
        if !near.is_empty() {
            hits.sort_unstable_by(by_score);
            let words = hits.iter().map(|hit| hit.0).collect();
            let near = near.iter().copied().filter(|place| taken(*place).is_some()).collect();
            let fused = fuse(&[words, near]).into_iter();
            hits = fused.filter_map(|(place, score)| Some((place, taken(place)?, score as f32))).collect();
        }
        // Whoever knows the name means it.
        let exact = query.trim();
        let best = hits.iter().map(|hit| hit.2).fold(0.0, f32::max);
        for hit in hits.iter_mut().filter(|hit| hit.1.name.eq_ignore_ascii_case(exact)) {
            hit.2 += best;
        }
        let total = hits.len();
        keep_best(&mut hits, find.limit);
        (hits.into_iter().map(|(_, listed, score)| Chosen { listed, score: Some(score) }).collect(), total)
    }
}

fn by_score(a: &Found<'_>, b: &Found<'_>) -> Ordering {
    b.2.total_cmp(&a.2).then_with(|| a.1.name.cmp(b.1.name))
}

/// Leaves the best in their order.
fn keep_best(hits: &mut Vec<Found<'_>>, limit: usize) {
    if hits.len() > limit {
        hits.select_nth_unstable_by(limit, by_score);
        hits.truncate(limit);
    }
    hits.sort_unstable_by(by_score);
}
