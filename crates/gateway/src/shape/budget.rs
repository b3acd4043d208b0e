//! The size budget: an answer that is too large is cut at whole items, and says so.

use super::to_raw;
use serde_json::Value;
use serde_json::value::RawValue;
use tool::{Content, Output};

/// How deep to look for the list that makes an answer large.
const MAX_DEPTH: usize = 4;

/// What may stand around the words of an answer, beyond its budget: the names of its fields, `isError`, small notes.
const AROUND_BYTES: usize = 1024;

/// The answer, cut if it has more than `budget_bytes`.
pub(super) fn cut(output: Output, budget_bytes: usize) -> Output {
    if output.size_bytes() <= budget_bytes {
        return output;
    }
    let is_error = output.is_error();
    let smaller = match output.data() {
        None => cut_blocks(&output.to_result(), budget_bytes),
        Some(data) => cut_data(&output, &data, budget_bytes),
    };
    match smaller {
        // What counts fits as it is.
        None => output,
        Some(smaller) if is_error => smaller.failed(),
        Some(smaller) => smaller,
    }
}

fn cut_data(output: &Output, data: &str, budget_bytes: usize) -> Option<Output> {
    match serde_json::from_str(data) {
        Ok(Value::String(text)) if text.len() > budget_bytes => Some(cut_text(&text, budget_bytes)),
        Ok(Value::String(text)) => leave_out_rest(bytes_beside(output), budget_bytes, |remark| {
            Output::blocks(vec![Content::text(&text), Content::text(remark)])
        }),
        value if data.len() > budget_bytes => {
            let list = value.ok().and_then(|value| cut_list(value, budget_bytes));
            list.or_else(|| Some(cut_text(data, budget_bytes)))
        }
        _ => {
            leave_out_rest(bytes_beside(output), budget_bytes, |remark| with_remark(data.to_owned(), remark))
        }
    }
}

/// What counts fits, but the whole result does not: nothing is lost if that is for the way it is written, or because
/// it says the same twice. Else what stands beside is left out.
fn leave_out_rest(beside: usize, budget_bytes: usize, alone: impl FnOnce(&str) -> Output) -> Option<Output> {
    let remark =
        || format!("Cut to {budget_bytes} bytes: {beside} bytes beside this are left out. Ask for less.");
    (beside > AROUND_BYTES).then(|| alone(&remark()))
}

/// How much of an answer is not its data, which stands there as structured content, as the only text, or as both.
fn bytes_beside(output: &Output) -> usize {
    let result = output.to_result();
    #[derive(serde::Deserialize)]
    struct Parts<'a> {
        #[serde(borrow, default)]
        content: Vec<Block<'a>>,
        #[serde(borrow, default, rename = "structuredContent")]
        structured: Option<&'a RawValue>,
    }
    #[derive(serde::Deserialize)]
    struct Block<'a> {
        #[serde(borrow, default)]
        text: Option<&'a RawValue>,
    }
    let Ok(Parts { content, structured }) = serde_json::from_str(&result) else { return 0 };
    let text = match content.as_slice() {
        [Block { text: Some(text) }] => Some(*text),
        _ => None,
    };
    let text = text.filter(|text| structured.is_none_or(|data| says_the_same(text, data)));
    let data: usize = [text, structured].into_iter().flatten().map(|part| part.get().len()).sum();
    result.len().saturating_sub(data)
}

/// The text is the data, written as JSON or as it is.
fn says_the_same(text: &RawValue, data: &RawValue) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    let (Some(text), Some(data)) = (value(text.get()), value(data.get())) else { return false };
    text == data || text.as_str().and_then(value) == Some(data)
}

/// Keeps the blocks that fit whole: half a picture helps nobody.
fn cut_blocks(result: &str, budget_bytes: usize) -> Option<Output> {
    #[derive(serde::Deserialize)]
    struct Blocks {
        #[serde(default)]
        content: Vec<Box<RawValue>>,
    }
    let Ok(Blocks { content }) = serde_json::from_str(result) else {
        return Some(cut_text(result, budget_bytes));
    };
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
    if left_out.is_empty() {
        let beside = result.len().saturating_sub(budget_bytes - room + total);
        return leave_out_rest(beside, budget_bytes, |remark| {
            kept.push(Content::text(remark));
            Output::blocks(kept)
        });
    }
    let what = left_out.iter().take(10).map(String::as_str).collect::<Vec<_>>().join(", ");
    let remark = format!(
        "Cut to {budget_bytes} bytes: {} of {total} blocks are left out ({what}). Ask for less.",
        left_out.len()
    );
    kept.push(Content::text(&remark));
    Some(Output::blocks(kept))
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

/// Drops items from the end of the largest list until the rest fits. What fits without the space between its
/// words is whole.
fn cut_list(mut value: Value, budget_bytes: usize) -> Option<Output> {
    let size_bytes = value.to_string().len();
    if size_bytes <= budget_bytes {
        return Some(Output::json(to_raw(value.to_string()).ok()?));
    }
    let path = largest_list(&value, MAX_DEPTH)?.path;
    let pointer: String = path.iter().rev().map(|part| format!("/{}", escape(part))).collect();
    let items = value.pointer_mut(&pointer)?.as_array_mut()?;
    let total = items.len();
    let sizes: Vec<usize> = items.iter().map(|item| item.to_string().len() + 1).collect();
    // The last item has no comma.
    let around = (size_bytes + 1).saturating_sub(sizes.iter().sum());
    let mut room = (budget_bytes + 1).checked_sub(around)?;
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
    Some(with_remark(value.to_string(), &remark))
}

fn with_remark(data: String, remark: &str) -> Output {
    let data = to_raw(data);
    data.map_or_else(|_| Output::text(remark), |data| Output::json_with_remark(data, remark))
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

    fn relayed(result: &Value) -> Output {
        Output::relayed(to_raw(result.to_string()).unwrap()).unwrap()
    }

    #[test]
    fn says_nothing_where_nothing_is_left_out() {
        let text = "an example line\n".repeat(100);
        let blocks = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
        let rows = json!((0..50).map(|n| json!({ "a": n })).collect::<Vec<_>>());
        for (whole, budget) in [
            (Output::text(&text), text.len()),
            (Output::text(&text), text.len() + 6),
            (relayed(&json!({ "content": [{ "type": "text", "text": text }] })), text.len()),
            (relayed(&json!({ "content": blocks, "isError": false })), 60),
            (
                relayed(
                    &json!({ "content": [{ "type": "text", "text": rows.to_string() }], "structuredContent": rows }),
                ),
                rows.to_string().len(),
            ),
        ] {
            assert!(whole.size_bytes() > budget);
            let before = whole.to_result();
            assert_eq!(cut(whole, budget).to_result(), before);
        }
        for budget in 1..text.len() {
            let result: Value = serde_json::from_str(&cut(Output::text(&text), budget).to_result()).unwrap();
            assert!(result["content"][0]["text"].as_str().unwrap().len() <= budget);
            assert!(!result["content"][1]["text"].as_str().unwrap().contains(" 0 more"), "{result}");
        }
    }

    #[test]
    fn leaves_out_what_is_large_beside_the_data_and_says_so() {
        let large = "x".repeat(5000);
        for result in [
            json!({ "content": [{ "type": "text", "text": "the words" }], "_meta": { "x": large } }),
            json!({ "content": [{ "type": "text", "text": "the words", "_meta": { "x": large } }] }),
            json!({ "content": [{ "type": "text", "text": large }], "structuredContent": { "x": "the words" } }),
            json!({ "content": [{ "type": "text", "text": "the words" }, { "type": "text", "text": "b" }], "x": large }),
        ] {
            let result = cut(relayed(&result), 1000).to_result();
            assert!(result.len() < 500 && result.contains("the words"), "{result}");
            assert!(result.contains("bytes beside this are left out"), "{result}");
        }
    }

    #[test]
    fn keeps_whole_items_in_small_budgets_however_they_are_spaced() {
        let rows: Vec<_> = (0..1000).map(|n| format!("{{\"a\": {n}}}")).collect();
        let rows = format!("[{}]", rows.join(", "));
        for budget in [20, 100, 300, 2000] {
            for output in [
                Output::json(to_raw(rows.clone()).unwrap()),
                Output::unread(rows.as_str()),
                Output::text(&rows),
            ] {
                let output = cut(output, budget);
                let data = output.to_result();
                let data: Value = serde_json::from_str(&data).unwrap();
                let kept = data["structuredContent"].as_array().unwrap().len();
                let written = data["structuredContent"].to_string().len();
                assert!(kept > 0 && written <= budget && written + 11 > budget, "{budget}: {kept}");
                let remark = data["content"][1]["text"].as_str().unwrap();
                assert!(remark.contains(&format!("the first {kept} of 1000 items")), "{remark}");
            }
        }
        let spaced = format!("[1,{}2]", " ".repeat(1000));
        let whole = cut(Output::json(to_raw(spaced).unwrap()), 100);
        assert_eq!((&*whole.data().unwrap(), whole.to_result().contains("Cut")), ("[1,2]", false));
    }

    #[test]
    fn cuts_one_huge_item_as_text() {
        let output = cut_json(&json!({ "text": "x".repeat(5000) }), 100);
        assert!(output.to_result().len() < 400);
        let output = cut_json(&json!(["x".repeat(5000), 1]), 100);
        assert!(output.to_result().len() < 400);
    }
}
