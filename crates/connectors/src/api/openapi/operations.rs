//! Operations of a document as tools of a service.

mod drafts;

pub(super) use drafts::to_tools;

use super::document::{Document, list as list_of, object};
use super::names::shorten;
use super::notes::Notes;
use super::{ImportOptions, refuse};
use serde_json::Value;
use tool::uri::Method;
use tool::{Pattern, Result};

/// More tools in one service help nobody; a document may have more, of which some are chosen.
const MAX_TOOLS: usize = 5_000;

/// Tags of one operation that are looked at.
const MAX_TAGS: usize = 50;

/// Methods that documents may have and tools do not.
const OTHER_METHODS: [&str; 3] = ["options", "trace", "query"];

/// An operation that was chosen.
pub(super) struct Operation<'a> {
    method: &'static str,
    path: &'a str,
    path_item: &'a Value,
    pub(super) definition: &'a Value,
    /// `GET /pets`.
    pub(super) label: String,
}

/// The operations that are wanted, in the order of the document.
///
/// # Errors
/// `InvalidInput` when there are too many, or none at all.
pub(super) fn list<'a>(
    document: &'a Document,
    options: &ImportOptions,
    notes: &mut Notes,
) -> Result<Vec<Operation<'a>>> {
    let mut listing = Listing { options, notes, found: Vec::new(), left_out: 0, too_many: 0 };
    for (path, item) in object(document.root.get("paths")) {
        if path.starts_with("x-") {
            continue;
        }
        listing.add_path(document, path, item);
        // A hostile document is not walked to its end.
        if listing.notes.skipped.len() > MAX_TOOLS {
            return Err(too_large(listing.found.len() + listing.notes.skipped.len()));
        }
    }
    if object(document.root.get("webhooks")).values().next().is_some() {
        listing.notes.warn("webhooks are calls to you, not tools; they are left out");
    }
    listing.finish()
}

/// The operations found so far, and how many were not taken.
struct Listing<'a, 'n> {
    options: &'n ImportOptions,
    notes: &'n mut Notes,
    found: Vec<Operation<'a>>,
    left_out: usize,
    too_many: usize,
}

impl<'a> Listing<'a, '_> {
    fn add_path(&mut self, document: &'a Document, path: &'a str, item: &'a Value) {
        let item = match document.resolve(item) {
            Ok(item) => item,
            Err(unresolved) => return self.notes.skip(&shorten(path, 200), unresolved.to_string()),
        };
        if !item.is_object() {
            self.notes.skip(&shorten(path, 200), "it is no object");
        }
        for (key, definition) in object(Some(item)) {
            let known = Method::ALL.map(Method::as_str).into_iter().find(|method| is_method(key, method));
            let Some(method) = known else {
                self.skip_other_method(path, key, definition);
                continue;
            };
            let label = format!("{method} {}", shorten(path, 200));
            // Documents that were cut into files have references where operations should be.
            match document.resolve(definition) {
                Ok(definition) => self.add(Operation { method, path, path_item: item, definition, label }),
                Err(unresolved) => self.notes.skip(&label, unresolved.to_string()),
            }
        }
    }

    fn skip_other_method(&mut self, path: &str, key: &str, definition: &Value) {
        if OTHER_METHODS.contains(&key) && definition.is_object() {
            let method = key.to_uppercase();
            let label = format!("{method} {}", shorten(path, 200));
            self.notes.skip(&label, format!("tools have no method {method}"));
        }
    }

    fn add(&mut self, operation: Operation<'a>) {
        if !is_wanted(&operation, self.options) {
            self.left_out += 1;
        } else if self.found.len() == MAX_TOOLS {
            self.too_many += 1;
        } else {
            self.found.push(operation);
        }
    }

    fn finish(self) -> Result<Vec<Operation<'a>>> {
        let Self { notes, found, left_out, too_many, .. } = self;
        if too_many > 0 {
            return Err(too_large(found.len() + too_many));
        }
        if left_out > 0 {
            notes.warn(format!("{left_out} operations were left out by include and exclude"));
        }
        if found.is_empty() && notes.skipped.is_empty() {
            let message = match left_out {
                0 => "the document has no operations under 'paths'",
                _ => "include and exclude leave no operation",
            };
            return Err(refuse("document", "Empty", message));
        }
        Ok(found)
    }
}

fn too_large(count: usize) -> tool::Error {
    let message = format!(
        "the document has {count} operations or more, at most {MAX_TOOLS} make a service; choose some with include \
         and exclude, such as \"include\": [\"tag:users\", \"GET /orders/*\"]"
    );
    refuse("document", "TooManyOperations", message)
}

fn is_method(key: &str, method: &str) -> bool {
    key.eq_ignore_ascii_case(method)
}

/// Patterns match the operation's id, its method and path, its path, or `tag:` and one of its tags.
fn is_wanted(operation: &Operation<'_>, options: &ImportOptions) -> bool {
    let matches = |pattern: &Pattern| {
        let id = operation.definition.get("operationId").and_then(Value::as_str);
        let tags = list_of(operation.definition.get("tags")).iter().take(MAX_TAGS).filter_map(Value::as_str);
        id.is_some_and(|id| pattern.matches(id))
            || pattern.matches(operation.path)
            || pattern.matches(&format!("{} {}", operation.method, operation.path))
            || tags.map(|tag| format!("tag:{tag}")).any(|tag| pattern.matches(&tag))
    };
    let is_included = options.include.is_empty() || options.include.iter().any(matches);
    is_included && !options.exclude.iter().any(matches)
}
