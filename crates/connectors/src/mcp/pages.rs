//! Lists of a server, asked for page by page.

use super::client::{ReconnectingClient, Repeat};
use mcp::client::About;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;
use tool::{Context, Error, Fields, Reason, Result};
use tracing::warn;

pub(super) const MAX_ITEMS: usize = 10_000;
const MAX_PAGES: usize = 100;
/// Of all definitions together.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Gives every entry of a list to `take`. A server that does not know the method has none.
pub(super) async fn list(
    cx: &Context,
    client: &Arc<ReconnectingClient>,
    method: &str,
    field: &str,
    mut take: impl FnMut(&RawValue) + Send,
) -> Result<()> {
    let mut cursor: Option<String> = None;
    let (mut bytes, mut items) = (0, 0);
    for _ in 0..MAX_PAGES {
        let params = cursor.as_ref().map(|cursor| format!("{{\"cursor\":{}}}", Value::from(cursor.as_str())));
        let answer = client.request(cx, method, About::default(), params.as_deref(), Repeat::Always).await;
        let result = match answer {
            Ok(result) => result,
            Err(error) if error.reason() == Some(Reason::UnknownOperation) => return Ok(()),
            Err(error) => return Err(error),
        };
        bytes += result.get().len();
        let (page, next) = read(&result, field)?;
        items += page.len();
        page.into_iter().for_each(&mut take);
        // "" is a cursor like any other; the same one again would go on for ever.
        let is_last = next.is_none() || next == cursor;
        cursor = next;
        if is_last || items >= MAX_ITEMS || bytes > MAX_BYTES {
            break;
        }
    }
    if let Some(why) = why_incomplete(items, cursor.is_some()) {
        let server = client.name();
        warn!(server, items, method, "{why} ('{method}' of the MCP server '{server}')");
    }
    Ok(())
}

/// Why something of a list of so many entries is left out, if it is; `has_more` where there are further pages.
fn why_incomplete(items: usize, has_more: bool) -> Option<String> {
    if items > MAX_ITEMS || items == MAX_ITEMS && has_more {
        let count = if has_more { format!("more than {items}") } else { items.to_string() };
        return Some(format!(
            "a list has {count} entries; at most {MAX_ITEMS} are kept, the rest is left out"
        ));
    }
    has_more.then(|| format!("a list has no end; {items} entries are kept, the rest is left out"))
}

fn read<'a>(result: &'a RawValue, field: &str) -> Result<(Vec<&'a RawValue>, Option<String>)> {
    let unusable = |error: serde_json::Error| {
        Error::upstream(format!("the server's list of {field} is unusable")).caused_by(error)
    };
    let page: Fields<'_> = serde_json::from_str(result.get()).map_err(unusable)?;
    let items = page.get(field).map_or(Ok(Vec::new()), |items| serde_json::from_str(items.get()));
    let next = page.get("nextCursor").map_or(Ok(None), |next| serde_json::from_str(next.get()));
    Ok((items.map_err(unusable)?, next.map_err(unusable)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_many_entries_are_kept_of_a_list_that_is_too_long() {
        assert_eq!(why_incomplete(MAX_ITEMS, false), None);
        let said = |items, has_more| why_incomplete(items, has_more).unwrap_or_default();
        assert!(said(12_000, false).starts_with("a list has 12000 entries; at most 10000 are kept"));
        assert!(
            said(MAX_ITEMS, true).starts_with("a list has more than 10000 entries; at most 10000 are kept")
        );
        assert!(said(7, true).starts_with("a list has no end; 7 entries are kept"));
    }
}
