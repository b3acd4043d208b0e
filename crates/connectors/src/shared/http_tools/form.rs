//! Values as pairs of names and texts: in query strings, forms and the parts of multipart bodies.

use super::parameters::{File, Style};
use super::text_of;
use crate::shared::digits::digits_of;
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use std::hash::{BuildHasher, RandomState};

/// Everything but the characters that RFC 3986 never asks to escape.
pub(crate) const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// More than any API takes, and little enough for many calls at once.
pub(crate) const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What was made of the arguments is longer than may be sent.
#[derive(Debug)]
pub(crate) struct TooLong;

/// A piece of a form.
#[derive(Debug)]
pub(crate) struct Part {
    name: String,
    content: Vec<u8>,
    filename: Option<String>,
    content_type: Option<String>,
}

/// The pieces of one form.
#[derive(Debug, Default)]
pub(crate) struct Form {
    parts: Vec<Part>,
    size_bytes: usize,
}

impl Form {
    /// Adds a value, nested ones as several pieces.
    pub(crate) fn add(&mut self, name: &str, value: &Value, style: Style) -> Result<(), TooLong> {
        let is_json = !value.is_string() || digits_of(value).is_some();
        let content_type = (style == Style::Json && is_json).then_some("application/json");
        flatten(name, value, style, &mut |name, text| {
            self.push(Part {
                name: name.to_owned(),
                content: text.into_bytes(),
                filename: None,
                content_type: content_type.map(str::to_owned),
            })
        })
    }

    pub(crate) fn push(&mut self, part: Part) -> Result<(), TooLong> {
        self.size_bytes += part.name.len() + part.content.len();
        if self.size_bytes > MAX_BODY_BYTES {
            return Err(TooLong);
        }
        self.parts.push(part);
        Ok(())
    }

    /// Nothing was put in.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// As `application/x-www-form-urlencoded`.
    pub(crate) fn urlencoded(&self) -> String {
        let mut text = String::with_capacity(self.size_bytes + 2 * self.parts.len());
        for part in &self.parts {
            add_pair(&mut text, &part.name, &String::from_utf8_lossy(&part.content));
        }
        text
    }

    /// As `multipart/form-data` (RFC 7578): the content type with its boundary, and the body.
    pub(crate) fn multipart(&self) -> (String, Vec<u8>) {
        // Random, so that no content can hold it.
        let random = || RandomState::new().hash_one(self.size_bytes);
        let boundary = format!("part-{:016x}{:016x}", random(), random());
        let mut body = Vec::with_capacity(self.size_bytes + 200 * self.parts.len());
        for part in &self.parts {
            let mut head =
                format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&part.name));
            if let Some(filename) = &part.filename {
                head.push_str(&format!("; filename=\"{}\"", quoted(filename)));
            }
            if let Some(content_type) = &part.content_type {
                head.push_str(&format!("\r\nContent-Type: {content_type}"));
            }
            head.push_str("\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(&part.content);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        (format!("multipart/form-data; boundary={boundary}"), body)
    }
}

impl Part {
    /// The part alone: what it is, and its content.
    pub(crate) fn into_body(self) -> (Option<String>, Vec<u8>) {
        (self.content_type, self.content)
    }

    /// A file: its content as text or Base64, or an object that also names it.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(crate) fn file(name: &str, value: &Value, file: &File) -> Result<Self, &'static str> {
        let given = |field: &str| value.get(field).and_then(Value::as_str).map(str::to_owned);
        let content = match value {
            Value::String(text) => Some(text.clone()),
            _ => given("content"),
        };
        let content = content.ok_or("must have a text in 'content'")?;
        let content = match file.is_base64 {
            true => LENIENT_BASE64.decode(content.trim()).map_err(|_| "must hold Base64")?,
            false => content.into_bytes(),
        };
        let content_type = given("content_type").unwrap_or_else(|| file.content_type.clone());
        if !is_media_type(&content_type) {
            return Err("must have a 'content_type' like text/plain");
        }
        let filename = Some(given("filename").unwrap_or_else(|| file.filename.clone()));
        Ok(Self { name: name.to_owned(), content, filename, content_type: Some(content_type) })
    }
}

/// `type/subtype`, perhaps with parameters, and nothing that could end the header.
pub(crate) fn is_media_type(text: &str) -> bool {
    text.len() <= 200 && text.contains('/') && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Quotes and line breaks as browsers write them.
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

/// Appends `name=value` to a query string.
pub(crate) fn add_pair(query: &mut String, name: &str, value: &str) {
    if !query.is_empty() {
        query.push('&');
    }
    query.extend(utf8_percent_encode(name, ESCAPED));
    query.push('=');
    query.extend(utf8_percent_encode(value, ESCAPED));
}

type Add<'a> = dyn FnMut(&str, String) -> Result<(), TooLong> + 'a;

/// Calls `add` for each pair that a value becomes.
pub(crate) fn flatten(name: &str, value: &Value, style: Style, add: &mut Add<'_>) -> Result<(), TooLong> {
    let separator = match style {
        Style::Brackets if value.is_array() || value.is_object() => return brackets(name, value, add),
        Style::Comma => ",",
        Style::Space => " ",
        Style::Pipe => "|",
        Style::Repeat | Style::Brackets | Style::Json => "",
    };
    match value {
        Value::Array(items) if style == Style::Repeat => {
            items.iter().try_for_each(|item| add(name, text_of(item)))
        }
        Value::Array(items) if !separator.is_empty() => {
            let texts: Vec<_> = items.iter().map(text_of).collect();
            add(name, texts.join(separator))
        }
        other => add(name, text_of(other)),
    }
}

/// `name[key]=…` for objects, `name[]=…` for lists of plain values, `name[0][key]=…` for lists of
/// others; nothing for null.
fn brackets(name: &str, value: &Value, add: &mut Add<'_>) -> Result<(), TooLong> {
    if name.len() > MAX_BODY_BYTES {
        return Err(TooLong);
    }
    match value {
        Value::Null => Ok(()),
        Value::Object(fields) => {
            fields.iter().try_for_each(|(key, field)| brackets(&format!("{name}[{key}]"), field, add))
        }
        Value::Array(items) if items.iter().any(|item| item.is_array() || item.is_object()) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| brackets(&format!("{name}[{index}]"), item, add)),
        Value::Array(items) => items.iter().try_for_each(|item| add(&format!("{name}[]"), text_of(item))),
        other => add(name, text_of(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
    fn pairs(value: Value, style: Style) -> Vec<String> {
        let mut found = Vec::new();
        flatten("a", &value, style, &mut |name, text| {
            found.push(format!("{name}={text}"));
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn writes_nested_values_in_each_style() {
        let list = || json!(["x", 1, true]);
        assert_eq!(pairs(list(), Style::Repeat), ["a=x", "a=1", "a=true"]);
        assert_eq!(pairs(list(), Style::Comma), ["a=x,1,true"]);
        assert_eq!(pairs(list(), Style::Space), ["a=x 1 true"]);
        assert_eq!(pairs(list(), Style::Pipe), ["a=x|1|true"]);
        assert_eq!(pairs(list(), Style::Brackets), ["a[]=x", "a[]=1", "a[]=true"]);
        assert_eq!(pairs(list(), Style::Json), [r#"a=["x",1,true]"#]);
        let deep = || json!({ "k": { "l": 1, "n": null }, "m": [{ "x": "y" }, [2]] });
        assert_eq!(pairs(deep(), Style::Brackets), ["a[k][l]=1", "a[m][0][x]=y", "a[m][1][]=2"]);
        assert_eq!(pairs(json!({ "k": 1 }), Style::Repeat), [r#"a={"k":1}"#]);
        for style in Style::ALL {
            assert_eq!(pairs(json!("plain"), style), ["a=plain"]);
        }
    }

    #[test]
    fn stops_where_names_times_values_would_fill_the_memory() {
        let leaves: serde_json::Map<_, _> = (0..100_000).map(|n| (n.to_string(), json!(1))).collect();
        let value = json!({ "k".repeat(100_000): leaves });
        let mut form = Form::default();
        assert!(form.add("a", &value, Style::Brackets).is_err());
    }

    #[test]
    fn keeps_hostile_names_inside_their_quotes() {
        let mut form = Form::default();
        form.add("a", &json!({ "x\"\r\nY: 1": "v" }), Style::Brackets).unwrap();
        let file = File { is_base64: true, filename: "f".into(), content_type: "text/plain".into() };
        let value = json!({ "content": "aGk", "filename": "a\"\nb" });
        form.push(Part::file("f", &value, &file).unwrap()).unwrap();
        let (content_type, body) = form.multipart();
        let boundary = content_type.split_once("boundary=").unwrap().1;
        let body = String::from_utf8(body).unwrap();
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"a[x%22%0D%0AY: 1]\"\r\n\r\nv\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a%22%0Ab\"\r\n\
             Content-Type: text/plain\r\n\r\nhi\r\n--{boundary}--\r\n"
        );
        assert_eq!(body, expected);
        let evil = json!({ "content": "aGk=", "content_type": "text/plain\r\nX: 1" });
        assert!(Part::file("f", &evil, &file).is_err());
        assert!(Part::file("f", &json!("not base64!"), &file).is_err());
    }
}
