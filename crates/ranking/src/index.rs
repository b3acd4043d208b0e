//! The index: which terms stand where in the descriptions of tools, and how much that counts (BM25F).

use crate::describe::{Description, FIELDS};
use crate::meanings;
use crate::terms::{self, Terms};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// How soon more of the same stops counting.
const K1: f32 = 1.2;
/// What a word of the same meaning counts.
const SAME_MEANING: f32 = 0.35;
/// What the English word for a Chinese one counts.
const TRANSLATED: f32 = 0.6;

/// What a verb counts that people say whatever they want, where it is a part of a name: enough to choose among tools for
/// the same thing.
const VERB: f32 = 0.5;
/// The field of names, the only one in which those verbs count.
const NAME: usize = 0;

/// How much a field counts, and how much its length takes away.
struct Field {
    weight: f32,
    b: f32,
}

/// In the order of [`Description::fields`].
const WEIGHTS: [Field; FIELDS] = [
    Field { weight: 3.0, b: 0.3 },
    Field { weight: 1.0, b: 0.75 },
    Field { weight: 0.5, b: 0.75 },
    Field { weight: 0.25, b: 0.75 },
];

/// A description that has something of what is looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The place of the description among those that the index was made of.
    pub place: usize,
    /// Larger is better.
    pub score: f32,
}

/// Descriptions of tools by what stands in them. It never changes.
#[derive(Debug, Default)]
pub struct Index {
    terms: HashMap<Box<str>, u32, RandomState>,
    /// Where the postings of each term begin; one more than there are terms.
    begins: Vec<u32>,
    postings: Vec<Posting>,
    size: usize,
}

/// What a term counts in one description.
#[derive(Debug, Clone, Copy)]
struct Posting {
    place: u32,
    score: f32,
}

impl Index {
    /// Reads every description once.
    pub fn of<'a>(descriptions: impl IntoIterator<Item = Description<'a>>) -> Self {
        let mut reader = Reader::new();
        descriptions.into_iter().for_each(|description| reader.read(&description));
        reader.finish()
    }

    /// How many descriptions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.size
    }

    /// There is nothing to be found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Every description with any match, in the order of their places.
    #[must_use]
    pub fn matches(&self, query: &str) -> Vec<Hit> {
        let mut scores = vec![0.0_f32; self.size];
        let Query { terms, of_names } = wanted(query);
        for (term, weight) in terms {
            for posting in self.postings_of(&term) {
                scores[posting.place as usize] += weight * posting.score;
            }
        }
        for posting in of_names.iter().flat_map(|verb| self.postings_of(verb)) {
            let score = &mut scores[posting.place as usize];
            // By a verb alone nothing is found.
            if *score > 0.0 {
                *score += VERB * posting.score;
            }
        }
        let hits = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0);
        hits.map(|(place, score)| Hit { place, score }).collect()
    }

    fn postings_of(&self, term: &str) -> &[Posting] {
        let Some(id) = self.terms.get(term) else { return &[] };
        let at = *id as usize;
        &self.postings[self.begins[at] as usize..self.begins[at + 1] as usize]
    }
}

/// What is looked for.
struct Query {
    /// Terms, and what each counts: what was said, what that is in English, and what means the same.
    terms: Vec<(String, f32)>,
    /// Verbs that count in names alone.
    of_names: Vec<String>,
}

fn wanted(query: &str) -> Query {
    let terms = Terms::new();
    let terms::Wanted { terms: said, of_names, han } = terms.of_query(query);
    let mut wanted: Vec<(String, f32)> = said.into_iter().map(|term| (term, 1.0)).collect();
    for word in han.into_iter().flat_map(meanings::in_english) {
        add(&mut wanted, &terms.stem(word), TRANSLATED);
    }
    for at in 0..wanted.len() {
        let (term, weight) = wanted[at].clone();
        meanings::same_as(&term).iter().for_each(|other| add(&mut wanted, other, weight * SAME_MEANING));
    }
    Query { terms: wanted, of_names }
}

/// What is there already counts as it did.
fn add(wanted: &mut Vec<(String, f32)>, term: &str, weight: f32) {
    if !wanted.iter().any(|(known, _)| known == term) {
        wanted.push((term.to_owned(), weight));
    }
}

/// Counts the terms of descriptions.
struct Reader {
    maker: Terms,
    /// Words as they are written, so that each is stemmed once.
    known: HashMap<Box<str>, u32, RandomState>,
    terms: HashMap<Box<str>, u32, RandomState>,
    /// By description: a term, and how often it stands in each field.
    counts: Vec<(u32, [u16; FIELDS])>,
    ends: Vec<usize>,
    lengths: Vec<[u32; FIELDS]>,
}

impl Reader {
    fn new() -> Self {
        Self {
            maker: Terms::new(),
            known: HashMap::default(),
            terms: HashMap::default(),
            counts: Vec::new(),
            ends: Vec::new(),
            lengths: Vec::new(),
        }
    }

    fn read(&mut self, description: &Description<'_>) {
        let begin = self.counts.len();
        let mut lengths = [0; FIELDS];
        for (field, text) in description.fields().into_iter().enumerate() {
            Terms::each_word(text, |word| {
                let term = self.term(word);
                self.count(term, field);
                lengths[field] += 1;
                if let Some(verb) = terms::in_name(word).filter(|_| field == NAME) {
                    let term = self.term(&verb);
                    self.count(term, field);
                }
            });
        }
        self.merge(begin);
        self.ends.push(self.counts.len());
        self.lengths.push(lengths);
    }

    fn count(&mut self, term: u32, field: usize) {
        let mut counts = [0; FIELDS];
        counts[field] = 1;
        self.counts.push((term, counts));
    }

    fn term(&mut self, word: &str) -> u32 {
        if let Some(term) = self.known.get(word) {
            return *term;
        }
        let next = self.terms.len() as u32;
        let term = *self.terms.entry(self.maker.stem(word).into()).or_insert(next);
        self.known.insert(word.into(), term);
        term
    }

    /// Adds up what one description has of each term.
    fn merge(&mut self, begin: usize) {
        self.counts[begin..].sort_unstable_by_key(|(term, _)| *term);
        let mut last = begin;
        for at in begin + 1..self.counts.len() {
            let (term, counts) = self.counts[at];
            if self.counts[last].0 == term {
                let sum = &mut self.counts[last].1;
                sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
            } else {
                last += 1;
                self.counts[last] = (term, counts);
            }
        }
        self.counts.truncate(self.counts.len().min(last + 1));
    }

    fn finish(self) -> Index {
        let size = self.lengths.len();
        let begins = self.begins();
        let mut next = begins.clone();
        let mut postings = vec![Posting { place: 0, score: 0.0 }; self.counts.len()];
        let means = self.mean_lengths();
        let mut from = 0;
        for (place, (to, lengths)) in self.ends.iter().zip(&self.lengths).enumerate() {
            for (term, counts) in &self.counts[from..*to] {
                let at = *term as usize;
                let found = (begins[at + 1] - begins[at]) as f32;
                let rarity = (1.0 + (size as f32 - found + 0.5) / (found + 0.5)).ln();
                let frequency = frequency(counts, lengths, &means);
                postings[next[at] as usize] =
                    Posting { place: place as u32, score: rarity * frequency / (K1 + frequency) };
                next[at] += 1;
            }
            from = *to;
        }
        Index { terms: self.terms, begins, postings, size }
    }

    /// Where the postings of each term begin.
    fn begins(&self) -> Vec<u32> {
        let mut begins = vec![0; self.terms.len() + 1];
        for (term, _) in &self.counts {
            begins[*term as usize + 1] += 1;
        }
        for at in 1..begins.len() {
            begins[at] += begins[at - 1];
        }
        begins
    }

    fn mean_lengths(&self) -> [f32; FIELDS] {
        let mut means = [0.0; FIELDS];
        for lengths in &self.lengths {
            means.iter_mut().zip(lengths).for_each(|(sum, length)| *sum += *length as f32);
        }
        means.map(|sum| (sum / self.lengths.len().max(1) as f32).max(1.0))
    }
}

/// How often a term stands in a description, by the weight and the length of each field.
fn frequency(counts: &[u16; FIELDS], lengths: &[u32; FIELDS], means: &[f32; FIELDS]) -> f32 {
    let of_field = |at: usize| {
        let Field { weight, b } = WEIGHTS[at];
        weight * f32::from(counts[at]) / (1.0 - b + b * lengths[at] as f32 / means[at])
    };
    (0..FIELDS).filter(|at| counts[*at] > 0).map(of_field).sum()
}
