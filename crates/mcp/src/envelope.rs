//! The JSON-RPC envelope: what is needed to route a message, the payload untouched.

use crate::RpcError;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use tool::{Fields, plain};

/// A request's id, as the client spelled it.
pub type Id = Box<RawValue>;

/// A message from the other side, be that a client or a server: a request, a notification, or a response.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    #[serde(borrow, default)]
    pub(crate) jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "also_null")]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Text<'a>>,
    /// The payload of a request.
    #[serde(borrow, default)]
    pub params: Option<&'a RawValue>,
    /// The payload of a response. Some say `null` where they have nothing to say: that is a result, too.
    #[serde(borrow, default, deserialize_with = "also_null")]
    pub result: Option<&'a RawValue>,
    /// Why there is none.
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// A text that stays where it is unless it has escapes; serde copies what is just an `Option<Cow<str>>`.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// What a message turns out to be.
#[derive(Debug)]
pub enum Kind<'a> {
    /// Wants an answer.
    Request {
        /// To be sent back with the answer.
        id: Id,
        /// What is asked.
        method: &'a str,
    },
    /// Wants none.
    Notification {
        /// What is told.
        method: &'a str,
    },
    /// Answers a request of ours.
    Response {
        /// Of the request.
        id: &'a RawValue,
    },
}

impl Kind<'_> {
    /// The id under which an error is sent back, which only a request has.
    #[must_use]
    pub fn request_id(&self) -> Option<&RawValue> {
        match self {
            Self::Request { id, .. } => Some(id),
            Self::Notification { .. } | Self::Response { .. } => None,
        }
    }
}

impl<'a> Message<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// `-32700` for what is no JSON, `-32600` for JSON that is no message.
    pub fn parse(text: &'a [u8]) -> Result<Self, RpcError> {
        // A struct could be read from an array as well, its fields by their places.
        if !is_object(text) {
            serde_json::from_slice::<IgnoredAny>(text).map_err(|error| parse_error(&error))?;
            return Err(RpcError::invalid_request("a JSON-RPC message is a JSON object"));
        }
        serde_json::from_slice(text).map_err(|error| {
            if error.is_data() {
                RpcError::invalid_request(format!(
                    "this is no JSON-RPC message: {}",
                    plain(&error.to_string())
                ))
            } else {
                parse_error(&error)
            }
        })
    }

    /// The method of a request or a notification.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        self.method.as_ref().map(|method| &*method.0)
    }

    /// Tells requests, notifications and responses apart, and takes nothing that is not one of them to the letter.
    ///
    /// # Errors
    /// `-32600` for what is none of them.
    pub fn kind(&self) -> Result<Kind<'_>, RpcError> {
        if !self.jsonrpc.is_some_and(is_version) {
            return Err(RpcError::invalid_request("'jsonrpc' must be \"2.0\""));
        }
        match (self.method(), self.id) {
            (Some(method), Some(id)) if is_id(id) => Ok(Kind::Request { id: id.to_owned(), method }),
            (Some(_), Some(_)) => Err(RpcError::invalid_request("'id' must be a string or a number")),
            (Some(method), None) => Ok(Kind::Notification { method }),
            (None, Some(id)) => Ok(Kind::Response { id }),
            (None, None) => Err(RpcError::invalid_request("a message needs a 'method' or an 'id'")),
        }
    }

    /// The payload as `T`; a request without one counts as `{}`.
    ///
    /// # Errors
    /// `-32602` that says what does not fit.
    pub fn params<T: Deserialize<'a>>(&self) -> Result<T, RpcError> {
        let text = self.params.map_or("{}", RawValue::get);
        if !is_object(text.as_bytes()) {
            return Err(RpcError::invalid_params("Invalid params: 'params' must be an object"));
        }
        serde_json::from_str(text).map_err(|error| {
            RpcError::invalid_params(format!("Invalid params: {}", plain(&error.to_string())))
        })
    }
}

/// The fields of params, of which those that are named stand there once at the most: whoever looks at another of two
/// would see another request.
///
/// # Errors
/// `-32602` that says what does not fit.
pub fn fields<'a>(params: &'a RawValue, once: &[&str]) -> Result<Fields<'a>, RpcError> {
    let text = params.get();
    if !is_object(text.as_bytes()) {
        return Err(RpcError::invalid_params("Invalid params: 'params' must be an object"));
    }
    let fields: Fields<'_> = serde_json::from_str(text).map_err(|error| {
        RpcError::invalid_params(format!("Invalid params: {}", plain(&error.to_string())))
    })?;
    match once.iter().find(|name| fields.0.iter().filter(|(key, _)| key == *name).count() > 1) {
        Some(name) => {
            Err(RpcError::invalid_params(format!("Invalid params: '{name}' is given twice; give it once")))
        }
        None => Ok(fields),
    }
}

/// The text that a field of params is.
///
/// # Errors
/// `-32602` where it is none.
pub fn text<'a>(field: &str, value: &'a RawValue) -> Result<Cow<'a, str>, RpcError> {
    serde_json::from_str::<Text<'_>>(value.get()).map(|Text(text)| text).map_err(|_| {
        let why = match value.get().starts_with('"') {
            true => "has half of a character: a \\u escape from D800 to DFFF stands alone",
            false => "must be a string",
        };
        RpcError::invalid_params(format!("Invalid params: '{field}' {why}"))
    })
}

/// Several messages at once, if the text is anything.
#[must_use]
pub fn is_batch(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"[")
}

/// The messages of a batch, each still to be read.
///
/// # Errors
/// `-32700` for what is no JSON.
pub fn batch(text: &[u8]) -> Result<Vec<&RawValue>, RpcError> {
    serde_json::from_slice(text).map_err(|error| parse_error(&error))
}

/// JSON that can be nothing but an object.
fn is_object(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"{")
}

/// The one version of JSON-RPC, which somebody may write with escapes.
fn is_version(jsonrpc: &RawValue) -> bool {
    let text = jsonrpc.get();
    text == "\"2.0\""
        || (text.contains('\\') && serde_json::from_str::<String>(text).is_ok_and(|text| text == "2.0"))
}

/// The refusal of what is no JSON.
fn parse_error(error: &serde_json::Error) -> RpcError {
    RpcError::new(-32700, format!("Parse error: {}", plain(&error.to_string())))
}

/// `null` is a value here, so that it can be told from nothing.
fn also_null<'de: 'a, 'a, D: Deserializer<'de>>(value: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

fn is_id(id: &RawValue) -> bool {
    id.get().starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit())
}

/// The id of a message of which only the beginning is there, if it stands in it.
#[must_use]
pub fn id_at_start(text: &[u8]) -> Option<Id> {
    let (_, id) = members_at_start(text).find(|(key, _)| key.get() == "\"id\"")?;
    id.filter(|id| is_id(id)).map(ToOwned::to_owned)
}

/// The members of a message of which perhaps only the beginning is there; the last one has no value if that is
/// not whole.
pub(crate) fn members_at_start(text: &[u8]) -> impl Iterator<Item = (&RawValue, Option<&RawValue>)> {
    let mut rest = text.trim_ascii_start().strip_prefix(b"{");
    std::iter::from_fn(move || {
        let (key, after) = first_value(rest.take()?)?;
        let value = first_value(after.trim_ascii_start().strip_prefix(b":")?);
        // A value is whole only if something follows it.
        let value = value.map(|(value, after)| (value, after.trim_ascii_start()));
        let value = value.filter(|(_, after)| !after.is_empty());
        rest = value.and_then(|(_, after)| after.strip_prefix(b","));
        Some((key, value.map(|(value, _)| value)))
    })
}

/// The JSON value at the beginning, and what follows it.
fn first_value(text: &[u8]) -> Option<(&RawValue, &[u8])> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

/// An answer; `result` is JSON already.
#[must_use]
pub fn result(id: &RawValue, result: &str) -> String {
    ["{\"jsonrpc\":\"2.0\",\"id\":", id.get(), ",\"result\":", result, "}"].concat()
}

/// A request; `params` is JSON already.
#[must_use]
pub fn request(id: &str, method: &str, params: Option<&RawValue>) -> String {
    let id = Value::from(id);
    let params = params.map_or("{}", RawValue::get);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}")
}

/// A notification; `params` is a JSON object already.
#[must_use]
pub fn notification(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params}}}")
}

/// A refusal; without an id where the request's could not be read.
#[must_use]
pub fn error(id: Option<&RawValue>, error: &RpcError) -> String {
    let id = id.map_or("null", RawValue::get);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{}}}", error.to_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_messages_apart_and_keeps_ids_as_they_are() {
        let message = Message::parse(br#"{"jsonrpc":"2.0","id":1e2,"method":"ping"}"#).unwrap();
        let Kind::Request { id, method } = message.kind().unwrap() else { panic!() };
        assert_eq!((id.get(), method), ("1e2", "ping"));
        assert_eq!(result(&id, "{}"), r#"{"jsonrpc":"2.0","id":1e2,"result":{}}"#);
        let told = Message::parse(br#"{"jsonrpc":"2\u002e0","method":"a\u0062"}"#).unwrap();
        assert!(matches!(told.kind().unwrap(), Kind::Notification { method: "ab" }));
        let response = Message::parse(br#"{"jsonrpc":"2.0","id":"x","result":{}}"#).unwrap();
        assert!(matches!(response.kind().unwrap(), Kind::Response { .. }));
    }

    #[test]
    fn answers_garbage_with_the_code_it_deserves() {
        for (text, code) in [
            (&b"{"[..], -32700),
            (b"\xff", -32700),
            (b"[]", -32600),
            (b"7", -32600),
            (b" null", -32600),
            (br#"["2.0",71,"ping"]"#, -32600),
            (br#"["2.0",73,"tools/call",{},null,null]"#, -32600),
            (br#"["2.0","#, -32700),
            (br#"{"jsonrpc":"2.0","method":7}"#, -32600),
        ] {
            assert_eq!(Message::parse(text).unwrap_err().code, code, "{}", String::from_utf8_lossy(text));
        }
        for text in [
            &br#"{"id":1,"method":"x"}"#[..],
            br#"{"jsonrpc":"1.0","id":1,"method":"x"}"#,
            br#"{"jsonrpc":2.0,"id":1,"method":"x"}"#,
            br#"{"jsonrpc":null,"id":1,"method":"x"}"#,
            br#"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
            br#"{"jsonrpc":"2.0","id":null,"method":"x"}"#,
            br#"{"jsonrpc":"2.0"}"#,
        ] {
            assert_eq!(Message::parse(text).unwrap().kind().unwrap_err().code, -32600);
        }
        let error = Message::parse(br#"{"jsonrpc":"2.0","id":null,"error":{}}"#).unwrap();
        assert!(matches!(error.kind().unwrap(), Kind::Response { .. }));
    }

    #[test]
    fn finds_the_id_in_the_beginning_of_a_message() {
        let find = |text: &str| id_at_start(text.as_bytes()).map(|id| id.get().to_owned());
        assert_eq!(find(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"xx"#).unwrap(), "7");
        assert_eq!(
            find(r#" { "method": "x", "x": {"id": 1}, "id" : "a\"b" , "params""#).unwrap(),
            r#""a\"b""#
        );
        for text in [
            "",
            "{",
            "[1]",
            r#"{"params":{"id":1}}"#,
            r#"{"params":{"id":1,"a":"xx"#,
            r#"{"jsonrpc":"2.0","id":null,"method""#,
            r#"{"jsonrpc":"2.0","id":71"#,
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }

    #[test]
    fn takes_params_by_name_only() {
        #[derive(Debug, Deserialize)]
        struct About {
            uri: String,
        }
        let message = Message::parse(br#"{"jsonrpc":"2.0","id":1,"method":"x","params":["a"]}"#).unwrap();
        assert_eq!(message.params::<About>().unwrap_err().code, -32602);
        let message = Message::parse(br#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"uri":"a"}}"#);
        assert_eq!(message.unwrap().params::<About>().unwrap().uri, "a");
    }
}
