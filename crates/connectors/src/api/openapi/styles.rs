//! How lists and objects stand in query strings and forms, in the connector's words.

use super::document::Version;
use super::{Position, Style};
use serde_json::Value;

/// How a list is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listed {
    /// By the connector, in this style if not in its usual one.
    Styled(Option<Style>),
    /// By the caller, as one text in which this separates the values.
    Text(&'static str),
}

/// How a parameter, or the `encoding` of a form's field, says that its lists are written.
pub(super) fn of_list(version: Version, holder: &Value, position: Position) -> Listed {
    let separated = separated(version, holder);
    let has_styles = matches!(position, Position::Query | Position::Form);
    match separated {
        None if has_styles => Listed::Styled(None),
        Some(Separator::Style(style, _)) if has_styles => Listed::Styled(Some(style)),
        Some(Separator::Style(_, word) | Separator::Tabs(word)) => Listed::Text(word),
        None => Listed::Text("commas"),
    }
}

#[derive(Debug, Clone, Copy)]
enum Separator {
    Style(Style, &'static str),
    /// Which the connector does not write.
    Tabs(&'static str),
}

/// Nothing where the key is repeated.
fn separated(version: Version, holder: &Value) -> Option<Separator> {
    let text = |key: &str| holder.get(key).and_then(Value::as_str).unwrap_or_default();
    let comma = Separator::Style(Style::Comma, "commas");
    let space = Separator::Style(Style::Space, "spaces");
    let pipe = Separator::Style(Style::Pipe, "'|'");
    if version == Version::V2 {
        return match text("collectionFormat") {
            "multi" => None,
            "ssv" => Some(space),
            "tsv" => Some(Separator::Tabs("tabs")),
            "pipes" => Some(pipe),
            _ => Some(comma),
        };
    }
    let explode = holder.get("explode").and_then(Value::as_bool);
    match text("style") {
        "deepObject" => Some(Separator::Style(Style::Brackets, "commas")),
        "spaceDelimited" if explode != Some(true) => Some(space),
        "pipeDelimited" if explode != Some(true) => Some(pipe),
        _ if explode == Some(false) => Some(comma),
        _ => None,
    }
}

/// Whether objects are written as `name[key]=…`.
pub(super) fn is_deep(holder: &Value) -> bool {
    holder.get("style").and_then(Value::as_str) == Some("deepObject")
}
