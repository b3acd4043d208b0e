//! Keys that stand twice in one object.

use super::options;
use jsonc_parser::{CollectOptions, ast, parse_to_ast};
use std::collections::HashMap;

/// A key that an object holds twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated {
    /// The keys that lead to it, and itself.
    pub path: Vec<String>,
    /// Where it stands first, from 1.
    pub first_line: usize,
    /// Where it stands last; what stands there counts.
    pub last_line: usize,
}

/// The keys that stand twice in one object, which a parsed value no longer tells.
pub fn repeated(text: &str) -> Vec<Repeated> {
    let text = text.trim_start_matches('\u{feff}');
    let mut found = Vec::new();
    if let Ok(parsed) = parse_to_ast(text, &CollectOptions::default(), &options())
        && let Some(root) = parsed.value
    {
        look_for_repeated(text, &root, &mut Vec::new(), &mut found);
    }
    found
}

fn look_for_repeated(text: &str, value: &ast::Value<'_>, path: &mut Vec<String>, found: &mut Vec<Repeated>) {
    match value {
        ast::Value::Object(object) => {
            let mut seen: HashMap<&str, usize> = HashMap::new();
            for property in &object.properties {
                let name = property.name.as_str();
                path.push(name.to_owned());
                if let Some(first) = seen.insert(name, property.range.start) {
                    let (first_line, last_line) = (line(text, first), line(text, property.range.start));
                    found.push(Repeated { path: path.clone(), first_line, last_line });
                }
                look_for_repeated(text, &property.value, path, found);
                path.pop();
            }
        }
        ast::Value::Array(array) => {
            array.elements.iter().for_each(|item| look_for_repeated(text, item, path, found));
        }
        ast::Value::StringLit(_)
        | ast::Value::NumberLit(_)
        | ast::Value::BooleanLit(_)
        | ast::Value::NullKeyword(_) => {}
    }
}

fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_keys_that_are_there_twice() {
        let text = "{ // a\n \"x\": [{ \"a\": 1,\n \"a\": 2 }],\n \"m\": { \"s\": {}, \"t\": {} },\n \"m\": {\n \"s\": {} } }";
        let found =
            repeated(text).into_iter().map(|found| (found.path.join("."), found.first_line, found.last_line));
        assert_eq!(found.collect::<Vec<_>>(), [("x.a".to_owned(), 2, 3), ("m".to_owned(), 4, 5)]);
        assert!(
            repeated("// mine\n{ \"a\": { \"b\": 1 }, /* odd */ \"b\": 2 }").is_empty()
                && repeated("").is_empty()
        );
    }
}
