//! Types of content: guessed from names, and whether they are text.

/// What a file of this name most likely is.
pub(crate) fn guess(name: &str) -> Option<String> {
    let guessed = mime_guess::from_path(name).first()?;
    Some(guessed.essence_str().to_owned())
}

/// The last part of a key or path.
pub(crate) fn name_of(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// Whether content of this type is written as it is, and not as Base64. Content of no type is.
pub(crate) fn is_text(content_type: Option<&str>) -> bool {
    const TEXTS: [&str; 12] = [
        "json",
        "xml",
        "yaml",
        "x-yaml",
        "csv",
        "javascript",
        "x-javascript",
        "x-ndjson",
        "jsonl",
        "graphql",
        "toml",
        "x-www-form-urlencoded",
    ];
    let Some(content_type) = content_type else { return true };
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.split_once('/') {
        Some(("text", _)) => true,
        Some((_, subtype)) => TEXTS.contains(&subtype.rsplit('+').next().unwrap_or_default()),
        None => essence.is_empty(),
    }
}
