//! Messages in the words of a caller who knows parameters by other names.

/// The first name in a path like `customer.address[0]`, which is the parameter's, by its new name.
pub(super) fn renamed_path<'a>(path: &str, name: &impl Fn(&str) -> Option<&'a str>) -> String {
    let (first, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
    format!("{}{rest}", name(first).unwrap_or(first))
}

/// A sentence with the paths that it quotes renamed, as in `Parameter 'customer.address' is missing`.
pub(super) fn renamed_text<'a>(text: &str, name: &impl Fn(&str) -> Option<&'a str>) -> String {
    let mut renamed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, quoted)) = rest.split_once('\'') {
        let first = &quoted[..quoted.find(['.', '[', '\'']).unwrap_or(quoted.len())];
        let new = name(first).filter(|_| first.len() < quoted.len());
        renamed.extend([before, "'", new.unwrap_or_default()]);
        rest = if new.is_some() { &quoted[first.len()..] } else { quoted };
    }
    renamed + rest
}
