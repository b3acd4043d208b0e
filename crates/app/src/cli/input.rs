//! What a flag gives: text, `@FILE`, or `-` for stdin.

use crate::Failure;
use std::io::Read;

/// Reads at most so many bytes.
pub(super) fn read(given: &str, max_bytes: u64) -> Result<String, Failure> {
    let unreadable = |error: std::io::Error| Failure::new(format!("'{given}' cannot be read")).because(error);
    let mut text = String::new();
    match given.strip_prefix('@') {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(unreadable)?;
            file.take(max_bytes + 1).read_to_string(&mut text).map_err(unreadable)?;
        }
        None if given == "-" => {
            std::io::stdin().take(max_bytes + 1).read_to_string(&mut text).map_err(unreadable)?;
        }
        None => text.push_str(given),
    }
    if text.len() as u64 > max_bytes {
        return Err(Failure::new(format!("more than {max_bytes} bytes were given")));
    }
    Ok(text)
}
