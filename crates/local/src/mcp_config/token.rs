//! What looks like a key by itself, whatever its name is and wherever it stands.

use tool::secret::MASK;

/// How the keys of well-known services begin, ours among them.
const PREFIXES: [&str; 46] = [
    "mk_",
    "mi_",
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "xoxa-",
    "xoxb-",
    "xoxe-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
    "dop_v1_",
    "dckr_pat_",
    "whsec_",
    "SG.",
    "ntn_",
    "secret_",
    "lin_api_",
    "figd_",
    "tvly-",
    "gsk_",
    "r8_",
    "pplx-",
    "xai-",
    "shpat_",
    "ATATT",
    "AGE-SECRET-KEY-",
    "apify_api_",
];
/// So many characters at least follow the beginning.
const SHORTEST_REST: usize = 8;
/// Words are rarely that long, and keys rarely shorter.
const LONG: usize = 20;
/// The same for a part that mixes capitals, small letters and digits.
const LONG_MIXED: usize = 12;
/// The same for a text with slashes, as paths have them.
const LONG_WITH_SLASHES: usize = 40;

/// What stands around the values in a word such as `{"a":"b"}` or `--a=b,c`.
const MARKS: [char; 13] = ['"', '\'', ',', ';', '{', '}', '(', ')', '[', ']', '=', ':', '`'];
/// What stands before a checksum, which is no secret.
const CHECKSUMS: [&str; 3] = ["sha1:", "sha256:", "sha512:"];

/// The text with everything masked that looks like a key.
pub(super) fn without_keys(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for piece in text.split_inclusive(MARKS) {
        let value = piece.trim_end_matches(MARKS);
        let is_key = is_random(value) && !CHECKSUMS.iter().any(|checksum| result.ends_with(checksum));
        result.push_str(if is_key { MASK } else { value });
        result.push_str(&piece[value.len()..]);
    }
    without_known(&result)
}

/// The text with everything masked that begins as keys do.
pub(super) fn without_known(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(length) = known_length(rest).filter(|_| !ends_in_word(&result)) {
            result.push_str(MASK);
            rest = &rest[length..];
        } else {
            result.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    result
}

/// Whether what follows goes on with a word; behind a short flag, as in `-kVALUE`, it does not.
fn ends_in_word(text: &str) -> bool {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_flag = word.len() == 2 && word.starts_with('-');
    !is_flag && word.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// How long the key is with which the text begins.
fn known_length(text: &str) -> Option<usize> {
    let prefix = PREFIXES.iter().find(|prefix| text.starts_with(**prefix))?;
    let rest = &text[prefix.len()..];
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c)).unwrap_or(rest.len());
    // `sk-learn-server` and `npm_config_registry` are words.
    let is_key = rest[..length].contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase());
    (length >= SHORTEST_REST && is_key).then_some(prefix.len() + length)
}

/// Whether nobody would choose such a word as a name.
fn is_random(word: &str) -> bool {
    let is_of = |more: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c));
    if word.contains('/') {
        let is_path = word.starts_with('/') || !is_of("/_-+");
        return word.len() >= LONG_WITH_SLASHES && !is_path && is_mixed(word);
    }
    let is_key = |run: &str| {
        let is_short_key = run.len() >= LONG_MIXED && is_mixed(run) && !word.contains('.');
        is_short_key || (run.len() >= LONG && has_letters_and_digits(run))
    };
    word.len() >= LONG && is_of("_-+.") && word.split(|c: char| !c.is_ascii_alphanumeric()).any(is_key)
}

/// Whether a part of an address' path may be a key. Names in addresses are shorter, or words.
pub(super) fn is_key_segment(segment: &str) -> bool {
    segment.len() >= LONG && !segment.contains("${") && has_letters_and_digits(segment)
}

fn has_letters_and_digits(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_alphabetic()) && text.contains(|c: char| c.is_ascii_digit())
}

fn is_mixed(text: &str) -> bool {
    let has = |is: fn(&u8) -> bool| text.bytes().any(|byte| is(&byte));
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_keys_by_their_beginning() {
        for prefix in PREFIXES {
            assert_eq!(without_known(&format!("a={prefix}0aB1cD2eF3, b")), "a=***, b", "{prefix}");
        }
        assert_eq!(without_known("run -ksk-0aB1cD2eF3"), "run -k***");
        for plain in ["sk-learn-server", "task-runner-2024", "npm_config_registry", "mi_", "eyJ", "ämk_Ö"] {
            assert_eq!(without_known(plain), plain);
        }
    }

    #[test]
    fn tells_keys_from_names() {
        for key in [
            "0123456789abcdef0123456789abcdef",
            "Ab3dEf6hIj9lMn-2pQr_5tUv",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ] {
            assert!(is_random(key), "{key}");
        }
        for name in [
            "claude-3-5-sonnet-20241022",
            "@modelcontextprotocol/server-everything",
            "modelcontextprotocol/server-everything",
            "mcp-server-time-2025.8.18",
            "/nix/store/0c5b8vj8rs1v3nq0c5b8vj8rs1v3nq-uv/bin/uvx",
            "550e8400-e29b-41d4-a716-446655440000",
            "pkg@1.0.0-0123456789abcdef0123456789abcdef",
            "com.example.McpServer2024Main",
        ] {
            assert!(!is_random(name), "{name}");
        }
        let config = r#"{"a":"0123456789abcdef01234567","b":"image@sha256:0123456789abcdef01234567"}"#;
        assert_eq!(without_keys(config), r#"{"a":"***","b":"image@sha256:0123456789abcdef01234567"}"#);
    }
}
