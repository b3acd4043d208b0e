//! Large answers: whole elements, as many as fit or were asked for, and where to go on.

use document::Node;
use serde_json::Value;
use tool::{Error, Output, Result};

/// Room for everything but the data.
const AROUND_BYTES: usize = 1024;

/// Which part of a list or an object is wanted.
#[derive(Debug, Clone, Default, serde::Deserialize)]
pub(super) struct Page {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// An answer whose `data` is given in pages.
pub(super) struct Paged {
    pub(super) page: Page,
    pub(super) budget_bytes: usize,
    /// What stands beside the data.
    pub(super) beside: Vec<(&'static str, Value)>,
}

impl Paged {
    /// A value: the elements of a list or an object in pages, anything else as a whole.
    pub(super) fn of(self, data: &Node) -> Result<Output> {
        match data {
            Node::Array(array) => self.write(['[', ']'], array.len(), array.iter(), |node| node.to_json()),
            Node::Object(object) => self.write(['{', '}'], object.len(), object.iter(), |(name, node)| {
                format!("{}:{}", Value::from(&**name), node.to_json())
            }),
            other => self.write_whole(other),
        }
    }

    fn write_whole(self, data: &Node) -> Result<Output> {
        let mut text = format!("{{\"data\":{}", data.to_json());
        self.write_beside(&mut text);
        Ok(Output::json(super::json(text)?))
    }

    /// The elements of a list that is not in the document as such.
    pub(super) fn of_items<T>(
        self,
        total: usize,
        items: impl Iterator<Item = T>,
        write: impl Fn(T) -> String,
    ) -> Result<Output> {
        self.write(['[', ']'], total, items, write)
    }

    fn write<T>(
        mut self,
        around: [char; 2],
        total: usize,
        items: impl Iterator<Item = T>,
        write: impl Fn(T) -> String,
    ) -> Result<Output> {
        let first = self.page.first()?;
        let limit = self.page.limit.unwrap_or(usize::MAX);
        let room = self.budget_bytes.saturating_sub(AROUND_BYTES);
        let mut text = format!("{{\"data\":{}", around[0]);
        let mut shown = 0;
        for item in items.skip(first).take(limit) {
            let item = write(item);
            // One element is always shown; the gateway cuts what is too large on its own.
            if shown > 0 && text.len() + item.len() > room {
                break;
            }
            if shown > 0 {
                text.push(',');
            }
            text.push_str(&item);
            shown += 1;
        }
        text.push(around[1]);
        let end = first.saturating_add(shown);
        let is_cut = end < total;
        if is_cut {
            self.beside.retain(|(name, _)| *name != "total_count");
            self.beside.push(("total_count", total.into()));
            self.beside.push(("next_cursor", end.to_string().into()));
        }
        self.write_beside(&mut text);
        let data = super::json(text)?;
        if !is_cut || self.page.limit.is_some_and(|limit| shown == limit) {
            return Ok(Output::json(data));
        }
        let remark = format!(
            "Cut to {} bytes: elements {first} to {} of {total}. Ask with \"cursor\": \"{end}\" for what follows, \
             or for less with a query.",
            self.budget_bytes,
            end.saturating_sub(1),
        );
        Ok(Output::json_with_remark(data, &remark))
    }

    fn write_beside(&self, text: &mut String) {
        for (name, value) in &self.beside {
            text.push_str(&format!(",\"{name}\":{value}"));
        }
        text.push('}');
    }
}

impl Page {
    fn first(&self) -> Result<usize> {
        let Some(cursor) = &self.cursor else { return Ok(0) };
        cursor.parse().map_err(|_| {
            let message = "'cursor' must be the next_cursor of an earlier answer";
            let problem = tool::Problem::new("cursor", "Invalid", message);
            Error::invalid_input(message).of_parameter("cursor").with_problems(vec![problem])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page(data: &Value, page: Value, budget_bytes: usize) -> (Value, String) {
        let page = serde_json::from_value(page).unwrap();
        let output = Paged { page, budget_bytes, beside: Vec::new() }.of(&Node::from(data)).unwrap();
        (serde_json::from_str(&output.data().unwrap()).unwrap(), output.to_result())
    }

    #[test]
    fn leaves_small_answers_alone() {
        for data in [json!([1, 2]), json!({ "a": 1 }), json!("x"), json!([]), json!(null)] {
            assert_eq!(page(&data, json!({}), 10_000).0, json!({ "data": data }));
        }
    }

    #[test]
    fn goes_through_a_large_list_page_by_page() {
        let data: Vec<Value> = (0..1000).map(|n| json!({ "n": n, "text": "x".repeat(100) })).collect();
        let (mut seen, mut cursor) = (Vec::new(), json!(null));
        loop {
            let (answer, text) = page(&data.clone().into(), json!({ "cursor": cursor }), 20_000);
            assert!(text.len() < 50_000);
            seen.extend(answer["data"].as_array().unwrap().clone());
            if answer.get("next_cursor").is_none() {
                break;
            }
            assert_eq!(answer["total_count"], 1000);
            assert!(text.contains("Cut to 20000 bytes"), "{text}");
            cursor = answer["next_cursor"].clone();
        }
        assert_eq!(seen, data);
        let (answer, text) = page(&data.into(), json!({ "limit": 3, "cursor": "998" }), 20_000);
        assert_eq!(answer["data"].as_array().unwrap().len(), 2);
        assert!(!text.contains("Cut"));
        let (answer, _) = page(&json!({ "a": 1, "b": 2 }), json!({ "limit": 1 }), 20_000);
        assert_eq!(answer, json!({ "data": { "a": 1 }, "total_count": 2, "next_cursor": "1" }));
    }
}
