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
            Run::Word(word) => words.push(word),
            Run::Han(characters) => {
                words.extend(characters.iter().map(char::to_string));
                words.extend(pairs(&characters));
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
            Run::Word(word) => words.push(word),
            Run::Han(characters) if characters.len() == 1 => words.push(characters[0].to_string()),
            Run::Han(characters) => words.extend(pairs(&characters)),
        }
    }
    let mut seen = std::collections::HashSet::new();
    words.retain(|word| seen.insert(word.clone()));
    if words.iter().any(|word| !is_filler(word)) {
        words.retain(|word| !is_filler(word));
    }
    words
}

enum Run {
    Word(String),
    Han(Vec<char>),
}

fn runs(text: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    let (mut word, mut han) = (String::new(), Vec::new());
    for character in text.chars().chain([' ']) {
        let is_han = is_han(character);
        if !is_han && !han.is_empty() {
            runs.push(Run::Han(std::mem::take(&mut han)));
        }
        if is_han || !character.is_alphanumeric() {
            if !word.is_empty() {
                runs.push(Run::Word(cut(&std::mem::take(&mut word))));
            }
        } else {
            // What lower case adds besides letters, e.g. a combining dot, is no part of a word.
            word.extend(folded(character).to_lowercase().filter(|c| c.is_alphanumeric()));
        }
        if is_han {
            han.push(character);
        }
    }
    runs
}

/// Full-width Latin letters and digits as everybody types them.
fn folded(character: char) -> char {
    match character {
        '！'..='～' => char::from_u32(character as u32 - 0xFEE0).unwrap_or(character),
        other => other,
    }
}

fn cut(word: &str) -> String {
    word.chars().take(MAX_CHARACTERS).collect()
}

fn pairs(characters: &[char]) -> impl Iterator<Item = String> {
    characters.windows(2).map(|pair| pair.iter().collect())
}

/// Characters of scripts that do not separate words: Han, kana, Hangul.
fn is_han(character: char) -> bool {
    matches!(u32::from(character),
        0x3005..=0x3007 | 0x3040..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
        && character.is_alphanumeric()
}

/// The commonest words of English and Chinese questions.
fn is_filler(word: &str) -> bool {
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
