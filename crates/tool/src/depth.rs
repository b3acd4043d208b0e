//! How deeply JSON is nested: what many programs that read it cannot bear, we do not pass on.

/// Levels in a payload. Arguments, which we read ourselves, have at most 127.
pub const MAX_DEPTH: usize = 256;

/// The JSON in `text` is nested more deeply than we pass on. Most texts are too short for that, or have too few
/// brackets, which is seen at a glance; only the others are walked through.
#[must_use]
pub fn is_too_deep(text: &str) -> bool {
    let text = text.as_bytes();
    // Each level opens and closes.
    text.len() > 2 * MAX_DEPTH && openings(text) > MAX_DEPTH && is_deeper(text)
}

/// How many brackets open, also in strings. Small sums over short chunks are what a compiler does many bytes at once.
fn openings(text: &[u8]) -> usize {
    let is_opening = |byte: &u8| u8::from(byte | 0x20 == b'{');
    let count = |chunk: &[u8]| usize::from(chunk.iter().map(is_opening).sum::<u8>());
    text.chunks(usize::from(u8::MAX)).map(count).sum()
}

fn is_deeper(text: &[u8]) -> bool {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = text.get(at) {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => at = end_of_string(text, at + 1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return true;
        }
        at += 1;
    }
    false
}

/// Where the quote stands that ends a string. A plain loop, as most strings are short.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => break,
            // What is escaped ends nothing.
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_levels_and_not_brackets() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_too_deep(&nested(MAX_DEPTH)));
        assert!(is_too_deep(&nested(MAX_DEPTH + 1)));
        let objects = format!("{}1{}", "{\"a\": ".repeat(300), "}".repeat(300));
        assert!(is_too_deep(&objects));
        let wide = format!("[{}[]]", "{\"a\":[[1]]},".repeat(1_000));
        assert!(!is_too_deep(&wide));
        let texts = format!("[{}1]", r#""[[[[\"[{{\\",{"\\\"[":"]"},"#.repeat(1_000));
        assert!(!is_too_deep(&texts), "brackets in strings nest nothing");
        let hidden = format!("{}1{}", r#"["]]]}\"]\\","#.repeat(300), "]".repeat(300));
        assert!(is_too_deep(&hidden), "brackets in strings end nothing");
    }
}
