//! What is told of the tools that were found.

use super::{Chosen, Detail, Find};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tool::Fields;

/// Characters of definitions; beyond them tools are told in brief, apart from the first.
const MAX_CHARACTERS: usize = 16_000;
/// Characters of a first sentence.
const MAX_SENTENCE: usize = 200;

pub(super) struct Answer<'a> {
    pub(super) chosen: &'a [Chosen<'a>],
    pub(super) total: usize,
    /// Where no tool is told, what there is.
    pub(super) services: Option<BTreeMap<&'a str, usize>>,
    pub(super) find: &'a Find,
    pub(super) about_service: &'a dyn Fn(&str) -> Option<String>,
}

impl Answer<'_> {
    pub(super) fn write(&self) -> Box<RawValue> {
        let (tools, is_cut) = self.tools();
        let services = self.services.as_ref().map_or(Value::Null, |services| self.told(services));
        let hint = json!(self.hint(is_cut));
        let text = format!(
            "{{\"tools\":[{tools}],\"total\":{},\"services\":{services},\"hint\":{hint}}}",
            self.total
        );
        // What it is written of is JSON.
        RawValue::from_string(text).unwrap_or_default()
    }

    /// The tools, and whether one is told in less detail than was asked for.
    fn tools(&self) -> (String, bool) {
        let mut text = String::new();
        let mut left = MAX_CHARACTERS;
        let mut is_cut = false;
        for chosen in self.chosen {
            let full = (self.find.detail == Detail::Full && !is_cut).then(|| in_full(chosen));
            let size = full.as_ref().map_or(0, |full| full.chars().count());
            // The first one is told in full whatever its size: else nobody could ever read it.
            is_cut |= size > left && !text.is_empty();
            left = left.saturating_sub(size);
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(&full.filter(|_| !is_cut).unwrap_or_else(|| in_brief(chosen)));
        }
        (text, is_cut)
    }

    /// The services, with what is said of them as long as there is room.
    fn told(&self, services: &BTreeMap<&str, usize>) -> Value {
        let mut left = MAX_CHARACTERS;
        let service = |(service, count): (&&str, &usize)| {
            let about = (self.about_service)(service).map(|about| sentence(&about));
            let about = about.filter(|about| about.len() <= left);
            left = left.saturating_sub(service.len() + about.as_ref().map_or(0, String::len) + 50);
            (left > 0).then(|| json!({ "service": service, "tools": count, "description": about }))
        };
        services.iter().map_while(service).collect()
    }

    fn hint(&self, is_cut: bool) -> String {
        let call = "call one with call_tool {\"name\":…,\"arguments\":{…}}";
        let schema = "; its inputSchema comes with find_tools {\"names\":[…]}";
        if !self.chosen.is_empty() {
            return [call, if is_cut || self.find.detail == Detail::Brief { schema } else { "" }].concat();
        }
        if self.find.is_overview() {
            return "search with find_tools {\"query\":…}, or list a service's tools with {\"service\":…}"
                .to_owned();
        }
        "nothing was found; search again with other words, or list a service's tools with find_tools {\"service\":…}"
            .to_owned()
    }
}

/// The definition, byte for byte, with what finding it adds.
fn in_full(chosen: &Chosen<'_>) -> String {
    let definition = String::from_utf8_lossy(chosen.listed.definition);
    let known: Fields<'_> = serde_json::from_str(&definition).unwrap_or_default();
    let mut text = definition.strip_suffix('}').unwrap_or(&definition).to_owned();
    let added = [("service", Some(json!(chosen.listed.service))), ("score", chosen.score.map(shown))];
    for (key, value) in added {
        // A definition that says something of this name says it itself.
        if let Some(value) = value.filter(|_| known.get(key).is_none()) {
            text.push_str(&format!(",\"{key}\":{value}"));
        }
    }
    text.push('}');
    text
}

fn in_brief(chosen: &Chosen<'_>) -> String {
    let known: Fields<'_> = serde_json::from_slice(chosen.listed.definition).unwrap_or_default();
    let description =
        known.get("description").and_then(|text| serde_json::from_str::<String>(text.get()).ok());
    let mut brief = json!({ "name": chosen.listed.name, "service": chosen.listed.service });
    if let Some(description) = description {
        brief["description"] = sentence(&description).into();
    }
    if let Some(score) = chosen.score {
        brief["score"] = shown(score);
    }
    brief.to_string()
}

fn shown(score: f32) -> Value {
    json!((f64::from(score) * 10_000.0).round() / 10_000.0)
}

/// The first sentence of a text.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let end = text.char_indices().find_map(|(at, character)| {
        let rest = &text[at + character.len_utf8()..];
        match character {
            '\n' => Some(at),
            '。' | '！' | '？' => Some(at + character.len_utf8()),
            '.' | '!' | '?' if rest.starts_with(char::is_whitespace) => Some(at + 1),
            _ => None,
        }
    });
    text[..end.unwrap_or(text.len())].chars().take(MAX_SENTENCE).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Listed;
    use super::*;

    #[test]
    fn the_first_tool_is_told_in_full_however_large_it_is() {
        let definition = |name: &str| {
            json!({ "name": name, "description": "x".repeat(20_000), "inputSchema": { "type": "object" } })
                .to_string()
        };
        let (first, second) = (definition("a"), definition("b"));
        let chosen = [("a", &first), ("b", &second)].map(|(name, definition)| {
            let listed = Listed { name, service: "s", definition: definition.as_bytes() };
            Chosen { listed, score: None }
        });
        let find = Find::default();
        let told = |chosen: &[Chosen<'_>]| {
            let answer = Answer { chosen, total: 2, services: None, find: &find, about_service: &|_| None };
            serde_json::from_str::<Value>(answer.write().get()).unwrap()
        };
        let both = told(&chosen);
        assert!(both["tools"][0]["inputSchema"].is_object() && both["tools"][1].get("inputSchema").is_none());
        assert!(both["hint"].as_str().unwrap().contains("names"), "the other one is read by itself");
        assert!(told(&chosen[1..])["tools"][0]["inputSchema"].is_object());
    }

    #[test]
    fn takes_the_first_sentence() {
        assert_eq!(sentence(" Reads a file, e.g. a.txt. Fails if it is gone."), "Reads a file, e.g.");
        assert_eq!(sentence("Version 1.5 of it\nmore"), "Version 1.5 of it");
        assert_eq!(sentence("读取文件。然后关闭"), "读取文件。");
        assert_eq!(sentence(&"é".repeat(1000)).chars().count(), MAX_SENTENCE);
    }
}
