//! ARCHITECTURE.md sends its readers to files that are there.

use super::{none, root};

#[test]
fn every_path_of_the_architecture_exists() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut offenders = Vec::new();
    let mut paths_seen = 0;
    for (line, text) in (1..).zip(text.lines()) {
        for path in quoted(text).filter(|text| is_path(text)) {
            paths_seen += 1;
            if !exists(path, text) {
                offenders.push(format!("line {line}: {path}"));
            }
        }
    }
    assert!(paths_seen > 50, "the paths are not written as they should be");
    none(&offenders, "ARCHITECTURE.md names what is not there");
}

/// What stands between backticks in a line.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// A folder, or a file in one. Addresses begin with a slash or have a scheme, and `<x>` is whatever there is.
fn is_path(text: &str) -> bool {
    let is_shaped = text.ends_with('/') || text.contains('/') && text.ends_with(".rs");
    is_shaped && !text.starts_with('/') && !text.contains("://") && !text.contains(['<', ' '])
}

/// Paths begin at `crates/`, and in a row of the code map in the `src/` of its crate.
fn exists(path: &str, line: &str) -> bool {
    let of_row = line.strip_prefix("| `").and_then(|row| row.split('`').next());
    let in_crate = of_row.map(|name| root().join("crates").join(name).join("src").join(path));
    let whole = [root().join("crates").join(path), root().join(path)];
    in_crate.into_iter().chain(whole).any(|path| path.exists())
}

#[test]
fn tells_paths_from_addresses_and_words() {
    for path in ["gateway/src/lib.rs", "uri/", "store/src/tables/"] {
        assert!(is_path(path), "{path}");
    }
    for other in ["tools/call", "/api/v1/tools", "table://t/op", "lib.rs", "store/src/<resource>/", "src/ of"]
    {
        assert!(!is_path(other), "{other}");
    }
}
