//! The known name that somebody probably meant.

/// Longer words are compared by nobody.
const MAX_CHARACTERS: usize = 100;

/// The name that differs least from the word, if it differs little: by a third of its letters, and by three at most.
/// Case, `-` and `_` count for nothing.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = letters(word);
    let max = (word.len() / 3).clamp(1, 3);
    if word.len() < 2 || word.len() > MAX_CHARACTERS {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for name in names {
        let letters = letters(name);
        if letters.len().abs_diff(word.len()) > max || letters.len() > MAX_CHARACTERS {
            continue;
        }
        let distance = distance(&word, &letters);
        if distance <= max && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// ` did you mean 'x'?` behind a semicolon, or nothing.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

fn letters(word: &str) -> Vec<char> {
    let letters = word.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase);
    letters.take(MAX_CHARACTERS + 1).collect()
}

/// How many letters must be added, dropped, changed or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (row, from) in a.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, to) in b.iter().enumerate() {
            let changed = last[column] + usize::from(from != to);
            let mut least = changed.min(last[column + 1] + 1).min(line[column] + 1);
            let is_swapped = row > 0 && column > 0 && *from == b[column - 1] && a[row - 1] == *to;
            if is_swapped {
                least = least.min(before[column - 1] + 1);
            }
            line.push(least);
        }
        before = std::mem::replace(&mut last, line);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant_and_nothing_else() {
        let names = ["base_url", "timeout_ms", "retry", "default_headers", "tools"];
        for (word, meant) in [
            ("base_ur", Some("base_url")),
            ("baseUrl", Some("base_url")),
            ("bsae_url", Some("base_url")),
            ("timeout", Some("timeout_ms")),
            ("retrys", Some("retry")),
            ("tool", Some("tools")),
            ("default-header", Some("default_headers")),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, names), meant, "{word}");
        }
        assert_eq!(nearest(&"x".repeat(5000), names), None);
    }
}
