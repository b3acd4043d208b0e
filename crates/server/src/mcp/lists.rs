//! Lists in pages that stay right while services come and go.

use super::Answered;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gateway::{Gateway, ListedTool};
use mcp::{Era, RpcError};
use tool::{Context, ListKind};

/// Entries in one answer; many clients never ask for a second page.
const PAGE: usize = 1000;

/// The tools of a caller.
pub(super) fn tools(gateway: &Gateway, cx: &Context, era: Era, cursor: Option<&str>) -> Answered<String> {
    let tools = gateway.listed(cx);
    let definition = |told| match era {
        Era::Legacy => ListedTool::definition_for_older(told),
        Era::Modern => ListedTool::definition(told),
    };
    let entries: Vec<_> = tools.iter().map(|told| (told.name(), &**definition(told))).collect();
    page("tools", &entries, cursor)
}

/// The prompts, resources or templates of a caller.
pub(super) fn list(
    gateway: &Gateway,
    cx: &Context,
    kind: ListKind,
    cursor: Option<&str>,
) -> Answered<String> {
    let field = match kind {
        ListKind::Prompts => "prompts",
        ListKind::Resources => "resources",
        ListKind::Templates => "resourceTemplates",
    };
    let found = gateway.entries(cx, kind);
    let entries: Vec<_> = found.iter().map(|entry| (entry.key.as_str(), &*entry.listed)).collect();
    page(field, &entries, cursor)
}

/// Keys are sorted, so a page begins behind the last key of the one before, whatever came or went
/// meanwhile.
fn page(field: &str, entries: &[(&str, &[u8])], cursor: Option<&str>) -> Answered<String> {
    // `""` is a valid cursor; as we give none, it is that of a client that begins.
    let after = cursor.filter(|cursor| !cursor.is_empty()).map(open_cursor).transpose()?;
    let first = after.map_or(0, |after| entries.partition_point(|(key, _)| *key <= after.as_str()));
    let page = &entries[first..entries.len().min(first + PAGE)];
    let size = page.iter().map(|(_, listed)| listed.len() + 1).sum::<usize>();
    let mut result = String::with_capacity(size + 128);
    result.push_str("{\"");
    result.push_str(field);
    result.push_str("\":[");
    for (at, (_, listed)) in page.iter().enumerate() {
        if at > 0 {
            result.push(',');
        }
        result.push_str(&String::from_utf8_lossy(listed));
    }
    result.push(']');
    if let Some((last, _)) = page.last().filter(|_| first + page.len() < entries.len()) {
        result.push_str(",\"nextCursor\":\"");
        result.push_str(&URL_SAFE_NO_PAD.encode(format!("after:{last}")));
        result.push('"');
    }
    result.push('}');
    Ok(result)
}

fn open_cursor(cursor: &str) -> Answered<String> {
    let invalid = || RpcError::invalid_params("Invalid params: 'cursor' was not given out by this server");
    let text = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.as_deref().and_then(|text| text.strip_prefix("after:")).map(str::to_owned).ok_or_else(invalid)
}
