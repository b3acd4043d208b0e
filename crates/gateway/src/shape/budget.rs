//! The size budget: an answer that is too large is cut at whole items, and says so.

use super::to_raw;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::OnceLock;
use tool::schema::Schema;
use tool::{Content, Output, Tool, readable};

/// How deep to look for the list that makes an answer large.
const MAX_DEPTH: usize = 4;

/// What may stand around the words of an answer, beyond its budget: the names of its fields, `isError`, small notes.
const AROUND_BYTES: usize = 1024;

/// What a tool promises of its structured content.
#[derive(Debug)]
pub(super) struct Promise {
    schema: Box<RawValue>,
    /// Compiled when an answer is first cut; one that cannot be is kept by nobody.
    compiled: OnceLock<Option<Schema>>,
}

impl Promise {
    /// What the tool's `outputSchema` says, if it has one.
    pub(super) fn of(tool: &Tool) -> Option<Self> {
        let schema = tool.field("outputSchema").filter(|schema| schema.get().starts_with('{'))?;
        Some(Self { schema: schema.to_owned(), compiled: OnceLock::new() })
    }

    fn is_kept_by(&self, data: &RawValue) -> bool {
        let schema = self.compiled.get_or_init(|| {
            let schema: Value = serde_json::from_str(&readable(self.schema.get())).ok()?;
            Schema::compile(&schema, "field").ok()
        });
        let data = serde_json::from_str::<Value>(data.get());
        data.is_ok_and(|data| schema.as_ref().is_none_or(|schema| schema.accepts(&data)))
    }
}

/// The answer, cut if it has more than `budget_bytes`. What cannot be cut without breaking it is an error that says so.
pub(super) fn cut(output: Output, budget_bytes: usize, promise: Option<&Promise>) -> Output {
    if output.size_bytes() <= budget_bytes {
        return output;
    }
    let refuse = |what: &str| refused(output.size_bytes(), budget_bytes, what);
    let result = output.has_blocks().then(|| output.to_result());
    let parts = result.as_deref().and_then(Parts::of).unwrap_or_default();
    let others = if output.is_error() { Vec::new() } else { parts.others() };
    let others_bytes = others.iter().map(|block| block.get().len()).sum();
    let Some(room) = budget_bytes.checked_sub(others_bytes) else { return refuse(&described(&others)) };
    let smaller = match output.data() {
        None => cut_blocks(result.as_deref().unwrap_or_default(), &parts, &others, room),
        Some(data) => cut_data(&output, &data, room, others_bytes).map(|cut| beside(cut, &others)),
    };
    // What counts fits as it is.
    let Some(smaller) = smaller else { return output };
    if output.is_error() {
        return smaller.failed();
    }
    let has_structure = parts.structured.is_some() || promise.is_some() && result.is_none();
    if has_structure && !is_structured(&smaller, promise) {
        return refuse("its structured content");
    }
    smaller
}

/// The answer still has structured content, as its tool promises it.
fn is_structured(output: &Output, promise: Option<&Promise>) -> bool {
    let result = output.to_result();
    let structured = Parts::of(&result).and_then(|parts| parts.structured);
    structured.is_some_and(|data| promise.is_none_or(|promise| promise.is_kept_by(data)))
}

fn refused(size_bytes: usize, budget_bytes: usize, what: &str) -> Output {
    let text = format!(
        "The answer has {size_bytes} bytes, and at most {budget_bytes} bytes are allowed. It cannot be cut without \
         breaking {what}. Ask for less, or allow more: 'max_result_bytes' of the Tool, --max-result-bytes of the server."
    );
    Output::text(&text).failed()
}

/// The parts of a result that count.
#[derive(Default, serde::Deserialize)]
struct Parts<'a> {
    #[serde(borrow, default)]
    content: Vec<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

impl<'a> Parts<'a> {
    fn of(result: &'a str) -> Option<Self> {
        serde_json::from_str(result).ok()
    }

    /// The blocks that are no text: half a picture helps nobody, so they are whole or not there.
    fn others(&self) -> Vec<&'a RawValue> {
        self.content.iter().copied().filter(|block| kind_of(block) != "text").collect()
    }
}

/// Blocks by type and size.
fn described(blocks: &[&RawValue]) -> String {
    let shown =
        blocks.iter().take(10).map(|block| format!("{} of {} bytes", kind_of(block), block.get().len()));
    shown.collect::<Vec<_>>().join(", ")
}

/// The cut answer with the blocks that are no text, as they were.
fn beside(cut: Output, others: &[&RawValue]) -> Output {
    const START: &str = "{\"content\":[";
    if others.is_empty() {
        return cut;
    }
    let (result, others) = (cut.to_result(), others.iter().map(|block| block.get()).collect::<Vec<_>>());
    let rest = result.strip_prefix(START).unwrap_or("]}");
    let comma = if rest.starts_with(']') { "" } else { "," };
    let result = to_raw([START, &others.join(","), comma, rest].concat());
    // It was a result before, and is one.
    result.and_then(Output::relayed).unwrap_or(cut)
}

fn cut_data(output: &Output, data: &str, budget_bytes: usize, others_bytes: usize) -> Option<Output> {
    let beside = || bytes_beside(output).saturating_sub(others_bytes);
    match serde_json::from_str(data) {
        Ok(Value::String(text)) if text.len() > budget_bytes => Some(cut_text(&text, budget_bytes)),
        Ok(Value::String(text)) => leave_out_rest(beside(), budget_bytes, |remark| {
            Output::blocks(vec![Content::text(&text), Content::text(remark)])
        }),
        value if data.len() > budget_bytes => {
            let list = value.ok().and_then(|value| cut_list(value, budget_bytes));
            list.or_else(|| Some(cut_text(data, budget_bytes)))
        }
        _ => leave_out_rest(beside(), budget_bytes, |remark| with_remark(data.to_owned(), remark)),
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
    #[derive(serde::Deserialize)]
    struct Block<'a> {
        #[serde(borrow, default)]
        text: Option<&'a RawValue>,
    }
    let result = output.to_result();
    let Some(Parts { content, structured }) = Parts::of(&result) else { return 0 };
    let mut texts =
        content.iter().filter_map(|block| serde_json::from_str::<Block<'_>>(block.get()).ok()?.text);
    let text = texts.next().filter(|_| texts.next().is_none());
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

/// Keeps the texts that fit whole, and all `others`, which have their room already.
fn cut_blocks(result: &str, parts: &Parts<'_>, others: &[&RawValue], budget_bytes: usize) -> Option<Output> {
    if parts.content.is_empty() {
        return Some(cut_text(result, budget_bytes));
    }
    let total = parts.content.len();
    let (mut room, mut kept_bytes) = (budget_bytes, total);
    let mut kept = Vec::new();
    let mut left_out = Vec::new();
    for block in &parts.content {
        let size = block.get().len();
        let is_other = others.iter().any(|other| std::ptr::eq(*other, *block));
        if is_other || size <= room {
            room -= if is_other { 0 } else { size };
            kept_bytes += size;
            kept.push(Content::from_raw((*block).to_owned()));
        } else {
            left_out.push(*block);
        }
    }
    if left_out.is_empty() {
        let beside = result.len().saturating_sub(kept_bytes);
        return leave_out_rest(beside, budget_bytes, |remark| {
            kept.push(Content::text(remark));
            Output::blocks(kept)
        });
    }
    let remark = format!(
        "Cut to {budget_bytes} bytes: {} of {total} blocks are left out ({}). Ask for less.",
        left_out.len(),
        described(&left_out)
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
        cut(Output::json(to_raw(value.to_string()).unwrap()), budget_bytes, None)
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
        let output = cut(Output::text(&"an example line\n".repeat(100)), 200, None);
        let result: Value = serde_json::from_str(&output.to_result()).unwrap();
        assert_eq!(result["content"][0]["text"].as_str().unwrap(), "an example line\n".repeat(12));
        for budget in 90..100 {
            let output = cut(Output::text(&"语".repeat(200)).failed(), budget, None);
            assert!(output.is_error() && output.to_result().contains("goes on for"));
        }
    }

    #[test]
    fn refuses_rather_than_drop_a_picture_or_break_it() {
        let picture = || Content::image(&[7; 3000], "image/png");
        for blocks in [vec![picture()], vec![Content::text("it"), picture()]] {
            let output = cut(Output::blocks(blocks), 1000, None);
            let said = output.to_result();
            assert!(
                output.is_error() && said.contains("at most 1000 bytes") && said.contains("image of 40"),
                "{said}"
            );
        }
        let long = || Content::text(&"x".repeat(1000));
        let output = cut(Output::blocks(vec![long(), picture(), long()]), 5500, None);
        let result: Value = serde_json::from_str(&output.to_result()).unwrap();
        let kinds: Vec<_> =
            result["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
        assert_eq!(kinds, ["text", "image", "text"], "{result}");
        assert!(!output.is_error());
        assert!(
            result["content"][2]["text"].as_str().unwrap().contains("1 of 3 blocks are left out (text of 10")
        );
        let failed = cut(Output::blocks(vec![Content::text("why"), picture()]).failed(), 1000, None);
        assert!(failed.is_error() && failed.to_result().contains("why"), "an error keeps its words");
    }

    #[test]
    fn structured_content_stays_or_the_answer_is_an_error() {
        let rows: Vec<_> = (0..100).map(|n| json!({ "n": n })).collect();
        let tool = |items: usize| {
            let schema = json!({ "required": ["rows"], "properties": { "rows": { "minItems": items } } });
            let definition = json!({ "name": "a", "inputSchema": {}, "outputSchema": schema });
            Promise::of(&Tool::from_raw(&to_raw(definition.to_string()).unwrap()).unwrap()).unwrap()
        };
        let picture = Content::image(&[7; 30], "image/png");
        let picture: Value = serde_json::from_str(picture.get()).unwrap();
        let answer = json!({ "content": [picture], "structuredContent": { "rows": rows } });
        let kept = cut(relayed(&answer), 500, Some(&tool(2)));
        let result: Value = serde_json::from_str(&kept.to_result()).unwrap();
        let count = result["structuredContent"]["rows"].as_array().unwrap().len();
        assert!((10..60).contains(&count) && !kept.is_error(), "{result}");
        assert_eq!(result["content"][0], picture);
        assert!(cut(relayed(&answer), 500, Some(&tool(90))).is_error());
        assert!(
            cut(Output::json(to_raw(json!({ "rows": rows }).to_string()).unwrap()), 500, Some(&tool(90)))
                .is_error()
        );
        let one = json!({ "content": [], "structuredContent": { "rows": "x".repeat(5000) } });
        let refused = cut(relayed(&one), 500, None);
        assert!(refused.is_error() && !refused.to_result().contains("xxx"), "half a structure is none");
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
            assert_eq!(cut(whole, budget, None).to_result(), before);
        }
        for budget in 1..text.len() {
            let result: Value =
                serde_json::from_str(&cut(Output::text(&text), budget, None).to_result()).unwrap();
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
            let result = cut(relayed(&result), 1000, None).to_result();
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
                let output = cut(output, budget, None);
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
        let whole = cut(Output::json(to_raw(spaced).unwrap()), 100, None);
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
