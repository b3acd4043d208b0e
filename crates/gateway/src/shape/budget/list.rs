//! Lists that are cut at whole items.

use super::super::to_raw;
use super::with_remark;
use serde_json::Value;
use tool::Output;

/// How deep to look for the list that makes an answer large.
const MAX_DEPTH: usize = 4;

/// Drops items from the end of the largest list until the rest fits. What fits without the space between its
/// words is whole.
pub(super) fn cut_list(mut value: Value, budget_bytes: usize) -> Option<Output> {
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
    if let Some((around, _)) = pointer.rsplit_once('/') {
        admit_cut(value.pointer_mut(around)?);
    }
    let place = if pointer.is_empty() { "the answer".to_owned() } else { format!("'{pointer}'") };
    let remark = format!(
        "Cut to {budget_bytes} bytes: {place} shows the first {kept} of {total} items. \
         Ask for less, a later page, or a narrower selection."
    );
    Some(with_remark(value.to_string(), &remark))
}

/// What stands beside a list and says that it is whole would be a lie now.
fn admit_cut(around: &mut Value) {
    for (name, is_whole) in [("truncated", false), ("complete", true)] {
        match around.get_mut(name) {
            Some(Value::Bool(said)) if *said == is_whole => *said = !is_whole,
            _ => {}
        }
    }
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
