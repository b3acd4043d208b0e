//! Forms of proto3 JSON that the library does not read: an `Any` that is `{}` and holds nothing, one with a
//! `google.protobuf.Empty` and no `value`, and whole numbers with a point or an exponent, as texts or of enums.

use super::exact::whole;
use super::message::VALUE;
use bytes::Bytes;
use prost::Message;
use prost_reflect::{DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage, Value};
use serde_json::Number;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

const ANY: &str = "google.protobuf.Any";
const EMPTY: &str = "google.protobuf.Empty";
/// Stands for an `Any` without a type until it is read: no address begins like this.
const NOTHING: &str = "\u{0}nothing/google.protobuf.Empty";
/// What goes deeper is refused whatever it is.
const MAX_LEVELS: usize = 100;

/// The JSON text of a message with these forms written as the library reads them; nothing where there are none.
pub(super) fn completed(message: &MessageDescriptor, text: &str) -> Option<String> {
    of_message(message, serde_json::from_str(text).ok()?, 0)
}

/// Takes away again what was only there to be read.
pub(super) fn clear(message: &mut DynamicMessage) {
    if message.descriptor().full_name() == ANY {
        return clear_any(message);
    }
    for (_, value) in message.fields_mut() {
        each_message(value, &mut clear);
    }
}

fn clear_any(any: &mut DynamicMessage) {
    let url = any.get_field_by_number(1).and_then(|url| url.as_str().map(str::to_owned)).unwrap_or_default();
    if url == NOTHING {
        any.clear_field_by_number(1);
        any.clear_field_by_number(2);
        return;
    }
    let held =
        url.rsplit('/').next().and_then(|name| any.descriptor().parent_pool().get_message_by_name(name));
    let bytes = any.get_field_by_number(2).and_then(|value| value.as_bytes().cloned()).unwrap_or_default();
    let Some(mut held) = held.and_then(|held| DynamicMessage::decode(held, bytes).ok()) else { return };
    clear(&mut held);
    any.set_field_by_number(2, Value::Bytes(Bytes::from(held.encode_to_vec())));
}

fn each_message(value: &mut Value, work: &mut impl FnMut(&mut DynamicMessage)) {
    match value {
        Value::Message(message) => work(message),
        Value::List(items) => items.iter_mut().for_each(|item| each_message(item, work)),
        Value::Map(entries) => entries.values_mut().for_each(|item| each_message(item, work)),
        _ => {}
    }
}

fn of_message(message: &MessageDescriptor, json: &RawValue, level: usize) -> Option<String> {
    if level > MAX_LEVELS {
        return None;
    }
    if message.full_name() == ANY {
        return of_any(message, json, level);
    }
    let mut fields: BTreeMap<String, &RawValue> = serde_json::from_str(json.get()).ok()?;
    let changed: BTreeMap<String, Box<RawValue>> = fields
        .iter()
        .filter_map(|(name, value)| {
            let field = message.get_field_by_json_name(name).or_else(|| message.get_field_by_name(name))?;
            Some((name.clone(), raw(of_field(&field, value, level + 1)?)?))
        })
        .collect();
    if changed.is_empty() {
        return None;
    }
    fields.extend(changed.iter().map(|(name, value)| (name.clone(), &**value)));
    serde_json::to_string(&fields).ok()
}

fn of_any(any: &MessageDescriptor, json: &RawValue, level: usize) -> Option<String> {
    let mut fields: BTreeMap<String, &RawValue> = serde_json::from_str(json.get()).ok()?;
    if fields.is_empty() {
        return Some(serde_json::json!({ "@type": NOTHING, VALUE: {} }).to_string());
    }
    let url: String = serde_json::from_str(fields.get("@type")?.get()).ok()?;
    let held = any.parent_pool().get_message_by_name(url.rsplit('/').next()?)?;
    let value = match held.full_name() {
        EMPTY if fields.len() == 1 => Some("{}".to_owned()),
        ANY => of_any(&held, fields.get(VALUE)?, level + 1),
        _ => None,
    };
    if let Some(value) = value.and_then(raw) {
        fields.insert(VALUE.to_owned(), &value);
        return serde_json::to_string(&fields).ok();
    }
    let kind = fields.remove("@type")?;
    let rest = of_message(&held, &raw(serde_json::to_string(&fields).ok()?)?, level + 1)?;
    let rest = raw(rest)?;
    let mut rest: BTreeMap<String, &RawValue> = serde_json::from_str(rest.get()).ok()?;
    rest.insert("@type".to_owned(), kind);
    serde_json::to_string(&rest).ok()
}

fn of_field(field: &FieldDescriptor, json: &RawValue, level: usize) -> Option<String> {
    let kind = field.kind();
    if field.is_list() {
        let items: Vec<&RawValue> = serde_json::from_str(json.get()).ok()?;
        let changed: Vec<_> = items.iter().map(|item| of_kind(&kind, item, level)).collect();
        if changed.iter().all(Option::is_none) {
            return None;
        }
        let items =
            items.iter().zip(changed).map(|(item, changed)| changed.unwrap_or_else(|| item.get().to_owned()));
        return Some(format!("[{}]", items.collect::<Vec<_>>().join(",")));
    }
    let Kind::Message(entry) = &kind else { return of_kind(&kind, json, level) };
    if !field.is_map() {
        return of_kind(&kind, json, level);
    }
    let held = entry.map_entry_value_field().kind();
    let entries: BTreeMap<String, Box<RawValue>> = serde_json::from_str(json.get()).ok()?;
    let mut is_changed = false;
    let entries = entries.into_iter().map(|(key, entry)| {
        let changed = of_kind(&held, &entry, level + 1).and_then(raw);
        is_changed |= changed.is_some();
        (key, changed.unwrap_or(entry))
    });
    let entries: BTreeMap<_, _> = entries.collect();
    if is_changed { serde_json::to_string(&entries).ok() } else { None }
}

fn of_kind(kind: &Kind, json: &RawValue, level: usize) -> Option<String> {
    match kind {
        Kind::Message(message) => of_message(message, json, level),
        Kind::Bool | Kind::String | Kind::Bytes | Kind::Double | Kind::Float => None,
        Kind::Enum(_) => plain(json.get()),
        _ => match json.get().strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(text) => plain(text).map(|number| format!("\"{number}\"")),
            None => plain(json.get()),
        },
    }
}

/// A whole number that is written with a point or an exponent, without them.
fn plain(number: &str) -> Option<String> {
    let is_number = number.contains(['.', 'e', 'E']) && serde_json::from_str::<Number>(number).is_ok();
    is_number.then(|| whole(number)).flatten().map(|number| number.to_string())
}

fn raw(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok()
}
