//! The size budget: an answer that is too large is cut at whole items, and says so.

use super::to_raw;
use serde_json::Value;
use serde_json::value::RawValue;
use tool::{Content, Output};

/// How deep to look for the list that makes an answer large.
const MAX_DEPTH: usize = 4;

/// The answer, cut if it has more than `budget_bytes`.
pub(super) fn cut(output: Output, budget_bytes: usize) -> Output {
    if output.size_bytes() <= budget_bytes {
        return output;
    }
    let is_error = output.is_error();
    let smaller = match output.data() {
        None => cut_blocks(&output.to_result(), budget_bytes),
        Some(data) => match serde_json::from_str(&data) {
            Ok(Value::String(text)) => cut_text(&text, budget_bytes),
            Ok(value) => {
                cut_list(value, data.len(), budget_bytes).unwrap_or_else(|| cut_text(&data, budget_bytes))
            }
            Err(_) => cut_text(&data, budget_bytes),
        },
    };
    if is_error { smaller.failed() } else { smaller }
}

/// Keeps the blocks that fit whole: half a picture helps nobody.
fn cut_blocks(result: &str, budget_bytes: usize) -> Output {
    #[derive(serde::Deserialize)]
    struct Blocks {
        #[serde(default)]
        content: Vec<Box<RawValue>>,
    }
    let Ok(Blocks { content }) = serde_json::from_str(result) else { return cut_text(result, budget_bytes) };
    let total = content.len();
    let mut room = budget_bytes;
    let mut kept = Vec::new();
    let mut left_out = Vec::new();
    for block in content {
        let size = block.get().len();
        if size <= room {
            room -= size;
            kept.push(Content::from_raw(block));
        } else {
            left_out.push(format!("{} of {size} bytes", kind_of(&block)));
        }
    }
    let what = left_out.iter().take(10).map(String::as_str).collect::<Vec<_>>().join(", ");
    let remark = format!(
        "Cut to {budget_bytes} bytes: {} of {total} blocks are left out ({what}). Ask for less.",
        left_out.len()
    );
    kept.push(Content::text(&remark));
    Output::blocks(kept)
}

/// The type of a block, e.g. `image`.
fn kind_of(block: &RawValue) -> String {
    #[derive(serde::Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
    }
    let block: Option<Block> = serde_json::from_str(block.get()).ok();
    let kind = block.map(|block| block.kind).unwrap_or_default();
    if kind.len() <= 20 { kind } else { "block".to_owned() }
}

/// Drops items from the end of the largest list until the rest fits.
fn cut_list(mut value: Value, size_bytes: usize, budget_bytes: usize) -> Option<Output> {
    let path = largest_list(&value, MAX_DEPTH)?.path;
    let pointer: String = path.iter().rev().map(|part| format!("/{}", escape(part))).collect();
    let items = value.pointer_mut(&pointer)?.as_array_mut()?;
    let total = items.len();
    let sizes: Vec<usize> = items.iter().map(|item| item.to_string().len() + 1).collect();
    let around = size_bytes.saturating_sub(sizes.iter().sum());
    let mut room = budget_bytes.checked_sub(around)?;
    let fits = |size: &&usize| {
        let is_room = **size <= room;
        room = room.saturating_sub(**size);
        is_room
    };
    let kept = sizes.iter().take_while(fits).count();
    if kept == 0 {
        return None;
    }
    items.truncate(kept);
    let place = if pointer.is_empty() { "the answer".to_owned() } else { format!("'{pointer}'") };
    let remark = format!(
        "Cut to {budget_bytes} bytes: {place} shows the first {kept} of {total} items. \
         Ask for less, a later page, or a narrower selection."
    );
    Some(Output::json_with_remark(to_raw(value.to_string()).ok()?, &remark))
}

struct List {
    size_bytes: usize,
    /// From the list up to the root.
    path: Vec<String>,
}

fn largest_list(value: &Value, depth: usize) -> Option<List> {
    match value {
        Value::Array(items) if items.len() > 1 => {
            Some(List { size_bytes: value.to_string().len(), path: Vec::new() })
        }
        Value::Object(fields) if depth > 0 => fields
            .iter()
            .filter_map(|(name, field)| {
                let mut list = largest_list(field, depth - 1)?;
                list.path.push(name.clone());
                Some(list)
            })
            .max_by_key(|list| list.size_bytes),
        _ => None,
    }
}

fn escape(part: &str) -> String {
    part.replace('~', "~0").replace('/', "~1")
}

/// Keeps whole lines where there are any, whole characters where not.
fn cut_text(text: &str, budget_bytes: usize) -> Output {
    let mut end = budget_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let end = text[..end].rfind('\n').filter(|&at| at > end / 2).map_or(end, |at| at + 1);
    let remark =
        format!("Cut to {budget_bytes} bytes: the text goes on for {} more. Ask for less.", text.len() - end);
    Output::blocks(vec![Content::text(&text[..end]), Content::text(&remark)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cut_json(value: &Value, budget_bytes: usize) -> Output {
        cut(Output::json(to_raw(value.to_string()).unwrap()), budget_bytes)
    }

    #[test]
    fn cuts_at_whole_items_and_says_so() {
        let rows: Vec<_> = (0..100).map(|n| json!({ "n": n, "text": "0123456789" })).collect();
        let output = cut_json(&json!({ "total": 100, "page": { "rows": rows } }), 1000);
        let data: Value = serde_json::from_str(&output.data().unwrap()).unwrap();
        let kept = data["page"]["rows"].as_array().unwrap().len();
        assert!(kept > 20 && kept < 40, "{kept}");
        assert_eq!(data["page"]["rows"][kept - 1]["n"], kept - 1);
        assert!(output.data().unwrap().len() <= 1000);
        let result = output.to_result();
        assert!(result.contains(&format!("'/page/rows' shows the first {kept} of 100 items")), "{result}");
    }

    #[test]
    fn cuts_text_at_lines_and_never_inside_a_character() {
        let output = cut(Output::text(&"an example line\n".repeat(100)), 200);
        let result: Value = serde_json::from_str(&output.to_result()).unwrap();
        assert_eq!(result["content"][0]["text"].as_str().unwrap(), "an example line\n".repeat(12));
        for budget in 90..100 {
            let output = cut(Output::text(&"语".repeat(200)).failed(), budget);
            assert!(output.is_error() && output.to_result().contains("goes on for"));
        }
    }

    #[test]
    fn keeps_whole_blocks_and_never_half_a_picture() {
        let picture = || Content::image(&[7; 3000], "image/png");
        let output = cut(Output::blocks(vec![picture()]), 1000);
        let result: Value = serde_json::from_str(&output.to_result()).unwrap();
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{result}");
        let remark = result["content"][0]["text"].as_str().unwrap();
        assert!(remark.contains("1 of 1 blocks are left out (image of 40"), "{remark}");
        let output = cut(Output::blocks(vec![picture(), Content::text("it"), picture()]), 5000);
        let result: Value = serde_json::from_str(&output.to_result()).unwrap();
        let kinds: Vec<_> =
            result["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
        assert_eq!(kinds, ["image", "text", "text"]);
    }

    #[test]
    fn cuts_one_huge_item_as_text() {
        let output = cut_json(&json!({ "text": "x".repeat(5000) }), 100);
        assert!(output.to_result().len() < 400);
        let output = cut_json(&json!(["x".repeat(5000), 1]), 100);
        assert!(output.to_result().len() < 400);
    }
}
