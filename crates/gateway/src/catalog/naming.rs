//! Names on the wire: `Service__tool`, legal for every client and the same at every start.

use sha2::{Digest, Sha256};

/// Several clients allow no more.
pub const MAX_LENGTH: usize = 64;

/// Between a service and its tool.
pub const SEPARATOR: &str = "__";

/// `_` and eight hexadecimal digits.
const SUFFIX_LENGTH: usize = 9;

/// The name under which clients see a service's tool.
///
/// A name that is too long or holds characters clients refuse is cut and replaced, and gets a
/// suffix computed from the whole name, so that two such names stay two.
#[must_use]
pub fn wire_name(service: &str, tool: &str) -> String {
    let whole = format!("{service}{SEPARATOR}{tool}");
    if whole.len() <= MAX_LENGTH && whole.chars().all(is_legal) {
        return whole;
    }
    with_suffix(&whole, &whole)
}

/// The name for a tool whose own one is taken: `name` with a suffix computed from its address.
#[must_use]
pub fn with_suffix(name: &str, address: &str) -> String {
    let mut result: String = name.chars().map(|c| if is_legal(c) { c } else { '_' }).collect();
    result.truncate(MAX_LENGTH - SUFFIX_LENGTH);
    result.push('_');
    for byte in &Sha256::digest(address)[..4] {
        result.push_str(&format!("{byte:02x}"));
    }
    result
}

fn is_legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn joins_service_and_tool() {
        assert_eq!(wire_name("Time", "get_current_time"), "Time__get_current_time");
        assert_eq!(wire_name("a__b", "c"), "a__b__c");
    }

    #[test]
    fn gives_long_and_foreign_names_a_stable_suffix() {
        let long = wire_name("service", &"x".repeat(100));
        assert_eq!(long.len(), MAX_LENGTH);
        assert_ne!(long, wire_name("service", &"x".repeat(101)));
        // The suffix is part of what clients remember: it must never change.
        assert_eq!(wire_name("时间", "now"), "____now_0cbd19dd");
    }

    proptest! {
        #[test]
        fn every_name_is_legal(service in "\\PC{1,80}", tool in "\\PC{1,80}") {
            let name = wire_name(&service, &tool);
            prop_assert!(name.len() <= MAX_LENGTH && name.chars().all(is_legal), "{}", name);
            prop_assert_eq!(name, wire_name(&service, &tool));
        }
    }
}
