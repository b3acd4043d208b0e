//! The size budget: an answer that is too large is cut at whole items, and says so.

mod list;
mod output_schema;
mod parts;
#[cfg(test)]
mod tests;

pub(super) use output_schema::OutputSchema;

use super::to_raw;
use list::cut_list;
use parts::{Parts, described};
use serde_json::Value;
use serde_json::value::RawValue;
use tool::{Content, Output};

/// What may stand around the words of an answer, beyond its budget: the names of its fields, `isError`, small notes.
const AROUND_BYTES: usize = 1024;

/// The answer, cut if it has more than `budget_bytes`. What cannot be cut without breaking it is an error that says so.
pub(super) fn cut(output: Output, budget_bytes: usize, output_schema: Option<&OutputSchema>) -> Output {
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
    let has_structure = parts.structured.is_some() || output_schema.is_some() && result.is_none();
    if has_structure && !is_structured(&smaller, output_schema) {
        return refuse("its structured content");
    }
    smaller
}

/// The answer still has structured content, as its tool promises it.
fn is_structured(output: &Output, output_schema: Option<&OutputSchema>) -> bool {
    let result = output.to_result();
    let structured = Parts::of(&result).and_then(|parts| parts.structured);
    structured.is_some_and(|data| output_schema.is_none_or(|output_schema| output_schema.is_kept_by(data)))
}

fn refused(size_bytes: usize, budget_bytes: usize, what: &str) -> Output {
    let text = format!(
        "The answer has {size_bytes} bytes, and at most {budget_bytes} bytes are allowed. It cannot be cut without \
         breaking {what}. Ask for less, or allow more: 'max_result_bytes' of the Tool, --max-result-bytes of the server."
    );
    Output::text(&text).failed()
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

fn with_remark(data: String, remark: &str) -> Output {
    let data = to_raw(data);
    data.map_or_else(|_| Output::text(remark), |data| Output::json_with_remark(data, remark))
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
