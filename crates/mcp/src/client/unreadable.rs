//! Text of a server that is no message: noise beside its messages, or the ruins of a response that somebody waits for.

use crate::envelope;
use serde_json::value::RawValue;

/// The text is no message.
#[derive(Debug)]
pub(super) struct NotAMessage;

/// The id of a request of ours. Some servers send our number back as a string.
pub(super) fn number(id: &RawValue) -> Option<u64> {
    id.get().trim_matches('"').parse().ok()
}

/// The id of the request that a text answers which cannot be read as a message: because a member stands in it
/// twice, for example, or because the rest of it is on the next line.
pub(super) fn answered_id(text: &str) -> Option<u64> {
    let mut id = None;
    let (mut is_rpc, mut is_answer) = (false, false);
    for (key, value) in envelope::members_at_start(text.as_bytes()) {
        match (key.get(), value) {
            (r#""method""#, _) => return None,
            (r#""jsonrpc""#, _) => is_rpc = true,
            (r#""result""# | r#""error""#, _) => is_answer = true,
            // Of two ids nobody knows which is meant.
            (r#""id""#, Some(value)) if id.is_none_or(|id| Some(id) == number(value)) => {
                id = Some(number(value)?);
            }
            (r#""id""#, _) => return None,
            _ => {}
        }
    }
    id.filter(|_| is_rpc && is_answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_whom_an_unreadable_answer_is_for_and_takes_nothing_else_for_one() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{},"result":{}}"#,
            r#"{"jsonrpc":"2.0","result":{},"error":{},"id":"7","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"the first"#,
            r#"{"jsonrpc":"2.0","id":7,"error":"#,
        ] {
            assert_eq!(answered_id(text), Some(7), "{text}");
        }
        for text in [
            "",
            "{",
            "Server started",
            r#"{"id":7,"result":{},"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7"#,
            r#"{"jsonrpc":"2.0","id":7,"id":8,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","result":{},"result":{}}"#,
            r#"{"jsonrpc":"2.0","x":{"id":7,"result":{}}"#,
        ] {
            assert_eq!(answered_id(text), None, "{text}");
        }
    }
}
