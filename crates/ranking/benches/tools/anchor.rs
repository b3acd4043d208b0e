//! The anchor that recall is measured beside: tools found by TF-IDF and the cosine, over name and description.

use std::collections::HashMap;

/// Texts as vectors of their words.
pub struct Anchor {
    /// By word: how rare it is, and which texts have it with what weight.
    words: HashMap<String, (f64, Vec<(usize, f64)>)>,
}

impl Anchor {
    /// The vectors of these texts, each of length 1.
    pub fn of(texts: impl Iterator<Item = String>) -> Self {
        let counts: Vec<_> = texts.map(|text| counted(&text)).collect();
        let mut words: HashMap<String, (f64, Vec<(usize, f64)>)> = HashMap::new();
        for (place, counts) in counts.iter().enumerate() {
            for (word, count) in counts {
                words.entry(word.clone()).or_default().1.push((place, 1.0 + f64::from(*count).ln()));
            }
        }
        let mut lengths = vec![0.0; counts.len()];
        for (rarity, places) in words.values_mut() {
            *rarity = 1.0 + (counts.len() as f64 / (1.0 + places.len() as f64)).ln();
            for (place, weight) in places {
                *weight *= *rarity;
                lengths[*place] += *weight * *weight;
            }
        }
        for (place, weight) in words.values_mut().flat_map(|(_, places)| places) {
            *weight /= f64::sqrt(lengths[*place]);
        }
        Self { words }
    }

    /// The places of the texts that are nearest to a query; of those as near, the first by name.
    pub fn best(&self, query: &str, names: &[String], limit: usize) -> Vec<usize> {
        let mut scores: HashMap<usize, f64> = HashMap::new();
        for (word, count) in counted(query) {
            let Some((rarity, places)) = self.words.get(&word) else { continue };
            let own = (1.0 + f64::from(count).ln()) * rarity;
            for (place, weight) in places {
                *scores.entry(*place).or_default() += own * weight;
            }
        }
        let mut found: Vec<_> = scores.into_iter().collect();
        found.sort_by(|(a, one), (b, other)| other.total_cmp(one).then_with(|| names[*a].cmp(&names[*b])));
        found.into_iter().take(limit).map(|(place, _)| place).collect()
    }
}

/// The words of a text in small letters, and how often each stands there. Nothing is cut, stemmed or translated.
fn counted(text: &str) -> HashMap<String, u32> {
    let mut counts = HashMap::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts
}
