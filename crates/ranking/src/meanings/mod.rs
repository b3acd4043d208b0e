//! Words of one meaning, and English words for Chinese ones: what models ask and what tools are called differ.

mod chinese;
mod english;

use crate::terms::Terms;
use chinese::WORDS;
use english::GROUPS;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Other terms by a term of the same meaning.
static SAME: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let terms = Terms::new();
    let mut same: HashMap<String, Vec<String>> = HashMap::new();
    for group in GROUPS {
        let group: Vec<_> = group.split(' ').map(|word| terms.stem(word)).collect();
        for term in &group {
            let others = same.entry(term.clone()).or_default();
            others.extend(group.iter().filter(|other| *other != term).cloned());
            others.sort_unstable();
            others.dedup();
        }
    }
    same
});

static ENGLISH: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| entries().collect());

/// The most characters of a word in the table.
static LONGEST: LazyLock<usize> =
    LazyLock::new(|| entries().map(|(word, _)| word.chars().count()).max().unwrap_or(0));

/// The entries of the Chinese table.
fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    WORDS.split(['\n', ';']).filter_map(|entry| entry.trim().split_once(' '))
}

/// The terms that mean the same as this one.
pub(crate) fn same_as(term: &str) -> &'static [String] {
    SAME.get(term).map_or(&[], Vec::as_slice)
}

/// The English words for what a run of Chinese says, the longest words first at each place.
pub(crate) fn in_english(run: &str) -> Vec<&'static str> {
    let begins: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at + 1 < begins.len() {
        let most = (*LONGEST).min(begins.len() - 1 - at);
        let word = (1..=most).rev().find_map(|length| {
            ENGLISH.get(&run[begins[at]..begins[at + length]]).map(|english| (length, *english))
        });
        if let Some((_, english)) = word {
            found.extend(english.split(' '));
        }
        at += word.map_or(1, |(length, _)| length);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_words_of_one_meaning_by_any_of_their_forms() {
        let terms = Terms::new();
        assert!(same_as(&terms.stem("deleting")).contains(&terms.stem("remove")));
        assert!(same_as("zyx").is_empty());
    }

    #[test]
    fn reads_the_longest_chinese_words() {
        assert_eq!(in_english("发送邮件"), ["send", "email", "mail"]);
        assert!(in_english("文件夹").contains(&"folder") && !in_english("文件夹").contains(&"file"));
        assert!(in_english("囧囧").is_empty());
    }

    /// What stands twice in a table was meant to be one entry.
    #[test]
    fn the_tables_have_each_word_once_and_enough_of_them() {
        assert_eq!(ENGLISH.len(), entries().count());
        assert!(ENGLISH.len() >= 300, "{}", ENGLISH.len());
        assert!(GROUPS.len() >= 100, "{}", GROUPS.len());
    }
}
