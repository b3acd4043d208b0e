//! Words: what texts and queries are compared by, the same for both databases.
//!
//! Scripts that write spaces give whole words in lower case. Chinese, Japanese and Korean give
//! every character and every pair of neighbours: no dictionary is needed, and nothing that stands
//! in a text can be missed because it was cut differently in the query.

/// A longer word is cut: nobody types it, and an index must not hold it.
const MAX_CHARACTERS: usize = 64;

/// The words of a text, in order.
#[must_use]
pub fn of_text(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for run in runs(text) {
        match run {
            Run::Word(word) => words.push(lowered(word)),
            Run::Han(characters) => {
                words.extend(characters.chars().map(String::from));
                words.extend(pairs(characters).map(str::to_owned));
            }
        }
    }
    words
}

/// The words of a query, each once: pairs stand for their characters, and words that say nothing
/// are left out where others remain.
#[must_use]
pub fn of_query(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for run in runs(query) {
        match run {
            Run::Word(word) => words.push(lowered(word)),
            Run::Han(characters) => words.extend(of_han(characters).map(str::to_owned)),
        }
    }
    let mut seen = std::collections::HashSet::new();
    words.retain(|word| seen.insert(word.clone()));
    if words.iter().any(|word| !is_filler(word)) {
        words.retain(|word| !is_filler(word));
    }
    words
}

/// A part of a text as it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Run<'a> {
    /// Letters and digits of a script that writes spaces.
    Word(&'a str),
    /// Characters of one that does not.
    Han(&'a str),
}

pub(crate) fn runs(text: &str) -> impl Iterator<Item = Run<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = &rest[rest.find(char::is_alphanumeric)?..];
        let is_of_han = rest.starts_with(is_han);
        let is_other = |c: char| !c.is_alphanumeric() || is_han(c) != is_of_han;
        let (run, after) = rest.split_at(rest.find(is_other).unwrap_or(rest.len()));
        rest = after;
        Some(if is_of_han { Run::Han(run) } else { Run::Word(run) })
    })
}

/// A word as it is compared.
pub(crate) fn lowered(word: &str) -> String {
    // What lower case adds besides letters, e.g. a combining dot, is no part of a word.
    let letters = word.chars().flat_map(|c| folded(c).to_lowercase()).filter(|c| c.is_alphanumeric());
    letters.take(MAX_CHARACTERS).collect()
}

/// What is looked for of a run without spaces: its pairs, or its only character.
pub(crate) fn of_han(run: &str) -> impl Iterator<Item = &str> {
    let alone = run.chars().nth(1).is_none().then_some(run);
    pairs(run).chain(alone)
}

/// Full-width Latin letters and digits as everybody types them.
fn folded(character: char) -> char {
    match character {
        '！'..='～' => char::from_u32(character as u32 - 0xFEE0).unwrap_or(character),
        other => other,
    }
}

/// Every two neighbours.
pub(crate) fn pairs(run: &str) -> impl Iterator<Item = &str> {
    let ends = run.char_indices().map(|(at, character)| at + character.len_utf8());
    run.char_indices().zip(ends.skip(1)).map(|((from, _), to)| &run[from..to])
}

/// Characters of scripts that do not separate words: Han, kana, Hangul.
pub(crate) fn is_han(character: char) -> bool {
    matches!(u32::from(character),
        0x3005..=0x3007 | 0x3040..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
        && character.is_alphanumeric()
}

/// The commonest words of English and Chinese questions.
pub(crate) fn is_filler(word: &str) -> bool {
    const FILLERS: [&str; 64] = [
        "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "has", "have",
        "how", "i", "in", "is", "it", "its", "me", "my", "of", "on", "or", "our", "that", "the", "their",
        "there", "they", "this", "to", "was", "we", "were", "what", "when", "where", "which", "who", "why",
        "will", "with", "you", "your", "的", "了", "是", "在", "和", "吗", "什么", "怎么", "如何", "多少",
        "哪些", "请问", "一个", "我们", "你们", "可以", "是否",
    ];
    FILLERS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_words_apart_in_lower_case() {
        assert_eq!(of_text("Hello, WORLD-wide Größe 3.14!"), ["hello", "world", "wide", "größe", "3", "14"]);
        assert_eq!(of_text("ＡＢＣ１２"), ["abc12"]);
        assert!(of_text(" \n\t—!…").is_empty() && of_text("").is_empty());
        assert_eq!(of_text(&"x".repeat(1000)), ["x".repeat(64)]);
        assert!(of_text("İ'\"\\:&|!()<>*'").iter().all(|word| word.chars().all(char::is_alphanumeric)));
    }

    #[test]
    fn finds_chinese_without_knowing_its_words() {
        assert_eq!(of_text("退货政策"), ["退", "货", "政", "策", "退货", "货政", "政策"]);
        assert_eq!(of_query("退货政策"), ["退货", "货政", "政策"]);
        assert_eq!(of_query("茶"), ["茶"]);
        assert_eq!(of_text("iPhone手机壳"), ["iphone", "手", "机", "壳", "手机", "机壳"]);
        for word in of_query("七天无理由退货") {
            assert!(of_text("本店支持七天无理由退货服务").contains(&word), "{word}");
        }
    }

    #[test]
    fn leaves_out_what_says_nothing_unless_it_is_all_there_is() {
        assert_eq!(of_query("What is the refund policy of the shop"), ["refund", "policy", "shop"]);
        assert_eq!(of_query("to be or"), ["to", "be", "or"]);
        assert_eq!(of_query("refund REFUND Refund"), ["refund"]);
    }
}
