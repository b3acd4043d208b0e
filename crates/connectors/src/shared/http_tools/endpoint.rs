//! The endpoint of a tool: a path with placeholders, taken apart once.

use super::parameter_settings::ParameterSettings;
use super::parameters::Position;
use percent_encoding::percent_decode_str;
use std::collections::HashSet;
use tool::Problem;
use tool::secret::names::has_masked_query;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// The value of the path parameter with this name.
    Value(String),
}

/// Cuts the path into text and placeholders, with a slash in front.
pub(crate) fn parse_endpoint(text: &str) -> Result<Vec<Piece>, &'static str> {
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\' || c == '#') {
        return Err("holds spaces, control characters, '#' or backslashes");
    }
    if text.starts_with("//") || text.split('/').next().is_some_and(|first| first.contains(':')) {
        return Err("must be a path behind base_url, not a whole URL");
    }
    let is_dots = |part: &str| matches!(&*percent_decode_str(part).decode_utf8_lossy(), "." | "..");
    if text.split('/').any(is_dots) {
        return Err("holds a '.' or '..' segment");
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    if !text.starts_with('/') && !text.is_empty() {
        pieces.push(Piece::Text("/".to_owned()));
    }
    while let Some(open) = rest.find(['{', '}']) {
        let (before, found) = rest.split_at(open);
        let inner = found.strip_prefix('{').ok_or("has a '}' without a '{'")?;
        let (name, after) = inner.split_once('}').ok_or("has a '{' without a '}'")?;
        if name.is_empty() || name.contains(['{', '/']) {
            return Err("has a placeholder without a name; write {name}");
        }
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        pieces.push(Piece::Value(name.to_owned()));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

pub(crate) fn check_query(text: &str) -> Result<(), &'static str> {
    if text.contains(['{', '}']) {
        return Err("has a placeholder behind the question mark; make it a parameter with position query");
    }
    if text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\' || c == '#') {
        return Err("holds spaces, control characters, '#' or backslashes");
    }
    if has_masked_query(text) {
        return Err("holds '***', which stands for a secret that is kept; give the secret itself");
    }
    Ok(())
}

/// Placeholders and path parameters must be the same set.
pub(crate) fn check_placeholders(
    pieces: &[Piece],
    parameters: &[ParameterSettings],
    path: &str,
    problems: &mut Vec<Problem>,
) {
    let names: HashSet<&str> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Value(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
        .collect();
    let mut missing: Vec<_> = names.iter().collect();
    missing.retain(|name| !parameters.iter().any(|parameter| parameter.name == ***name));
    if parameters.iter().any(|parameter| parameter.name.contains(char::is_control)) {
        missing.clear(); // the one that is missing may be the one whose name is wrong
    }
    missing.sort();
    for name in missing {
        let message =
            format!("the endpoint has a placeholder {{{name}}} but there is no path parameter '{name}'");
        problems.push(Problem::new(format!("{path}.endpoint"), "PathParameterMissing", message));
    }
    for (index, parameter) in parameters.iter().enumerate() {
        let name = &parameter.name;
        let place = format!("{path}.parameters[{index}].position");
        let is_path = Position::parse(&parameter.position) == Some(Position::Path);
        if is_path && !names.contains(name.as_str()) {
            let message =
                format!("the endpoint has no placeholder {{{name}}} for the path parameter '{name}'");
            problems.push(Problem::new(place, "PathParameterInvalid", message));
        } else if !is_path && names.contains(name.as_str()) {
            let message = format!(
                "the endpoint has a placeholder {{{name}}}, but the position of '{name}' is '{}', not 'path'",
                parameter.position
            );
            problems.push(Problem::new(place, "ParameterPositionMismatch", message));
        }
    }
}
