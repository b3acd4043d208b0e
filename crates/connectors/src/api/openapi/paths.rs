//! Paths of documents as endpoints of tools: what RFC 6570 can write between braces, spelled out.

use super::Position;
use super::notes::Notes;
use super::parameters::Parameter;
use serde_json::Map;

/// A path whose placeholders are plain names.
pub(super) struct Path {
    pub(super) endpoint: String,
    /// What stood there as `{?a,b}`: keys of the query string.
    pub(super) queried: Vec<String>,
}

/// Spells the path out. What stands behind a `#` is never sent.
pub(super) fn expand(path: &str, notes: &mut Notes) -> Path {
    let fragment = path.match_indices('#').map(|(at, _)| at).find(|at| !path[..*at].ends_with('{'));
    if fragment.is_some() {
        notes.warn("what stands behind the '#' of its path is not sent");
    }
    let path = fragment.map_or(path, |at| &path[..at]);
    let mut expanded = Path { endpoint: String::new(), queried: Vec::new() };
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        expanded.endpoint.push_str(before);
        let Some((expression, after)) = after.split_once('}') else {
            // No placeholder; whoever checks the endpoint says so.
            expanded.endpoint.push('{');
            rest = after;
            continue;
        };
        expanded.add(expression);
        rest = after;
    }
    expanded.endpoint.push_str(rest);
    expanded
}

impl Path {
    fn add(&mut self, expression: &str) {
        let operator = expression.chars().next().filter(|c| "+./;?&#".contains(*c));
        let list = expression.strip_prefix(|c| Some(c) == operator).unwrap_or(expression);
        let names = list.split(',').map(variable).filter(|name| !name.is_empty());
        let placeholders = |separator: &str| {
            let placeholders: Vec<_> = names.clone().map(|name| format!("{{{name}}}")).collect();
            placeholders.join(separator)
        };
        match operator {
            None if names.clone().next().is_none() => self.endpoint.push_str(&format!("{{{expression}}}")),
            None | Some('+') => self.endpoint.push_str(&placeholders(",")),
            Some('.') => self.endpoint.push_str(&format!(".{}", placeholders("."))),
            Some('/') => self.endpoint.push_str(&format!("/{}", placeholders("/"))),
            Some(';') => {
                names.for_each(|name| self.endpoint.push_str(&format!(";{name}={{{name}}}")));
            }
            Some('?' | '&') => self.queried.extend(names.map(str::to_owned)),
            // A fragment, which is never sent.
            Some(_) => {}
        }
    }
}

/// The name in `+name`, `.name`, `name*` or `name:3`, as some documents also declare it.
pub(super) fn variable(text: &str) -> &str {
    let name = text.trim().trim_start_matches(['+', '.', '/', ';', '?', '&', '#']);
    let name = name.trim_end_matches('*');
    match name.rsplit_once(':') {
        Some((name, length)) if !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit()) => {
            name
        }
        _ => name,
    }
}

/// The parameters, and those of the query string that only the path names. One that is declared as part of the
/// path, and stands behind its question mark, belongs into the query string.
pub(super) fn with_queried(mut drafts: Vec<Parameter>, queried: &[String]) -> Vec<Parameter> {
    for name in queried {
        let known = drafts.iter_mut().find(|draft| variable(&draft.name) == name);
        match known {
            Some(draft) if draft.position == Position::Path => {
                draft.position = Position::Query;
                draft.is_required = false;
                draft.name.clone_from(name);
            }
            Some(_) => {}
            None => {
                let schema = Map::from_iter([("type".to_owned(), "string".into())]);
                drafts.push(Parameter::new(name, Position::Query, schema));
            }
        }
    }
    drafts
}
