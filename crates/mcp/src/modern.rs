//! What 2026-07-28 wants of every request and every answer, seen from the server.

use crate::{Era, RpcError, Version, envelope};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use tool::{Fields, Trace};

/// The key under which a subscription's notifications carry its id.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The key under which a result says who made it.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// What a request says about itself in its `_meta`.
#[derive(Debug, Default, Deserialize)]
pub struct Meta<'a> {
    /// The version it is written in.
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    pub version: Option<Cow<'a, str>>,
    /// What its program can do.
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub capabilities: Option<&'a RawValue>,
    /// Log entries at least as grave are wanted; none without it.
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel")]
    pub log_level: Option<Cow<'a, str>>,
    /// Progress is wanted under this token.
    #[serde(borrow, default, rename = "progressToken")]
    pub progress_token: Option<&'a RawValue>,
    #[serde(borrow, default)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tracestate: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    /// The `_meta` of a request's params.
    ///
    /// # Errors
    /// `-32602` when it cannot be read.
    pub fn of(params: Option<&'a RawValue>) -> Result<Self, RpcError> {
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, default, rename = "_meta")]
            meta: Option<&'a RawValue>,
        }
        // Most params that have none need not be parsed to see that; a name may be written with escapes.
        let may_have_one =
            |params: &&RawValue| params.get().contains("\"_meta\"") || params.get().contains("\\u");
        let Some(params) = params.filter(may_have_one) else { return Ok(Self::default()) };
        let unreadable =
            |why: &str| RpcError::invalid_params(format!("Invalid params: _meta: {}", tool::plain(why)));
        let params: Params<'_> =
            serde_json::from_str(params.get()).map_err(|error| unreadable(&error.to_string()))?;
        match params.meta {
            None => Ok(Self::default()),
            // A struct could be read from an array as well, its fields by their places.
            Some(meta) if !meta.get().starts_with('{') => Err(unreadable("it must be an object")),
            Some(meta) => serde_json::from_str(meta.get()).map_err(|error| unreadable(&error.to_string())),
        }
    }

    /// The W3C trace that the request belongs to; what is none is left alone.
    #[must_use]
    pub fn trace(&self) -> Option<Trace> {
        let text = |raw: &RawValue| serde_json::from_str::<String>(raw.get()).ok();
        Trace::parse(&text(self.traceparent?)?, self.tracestate.and_then(text).as_deref())
    }

    /// The version, if it is one without a handshake and the request has what that wants.
    ///
    /// # Errors
    /// `-32602` for what is missing, `-32022` for a version we do not speak.
    pub fn check(&self) -> Result<Version, RpcError> {
        let missing = |what: &str| {
            let message = format!("Invalid params: _meta['io.modelcontextprotocol/{what}'] is missing");
            RpcError::invalid_params(message)
        };
        let version = self.version.as_deref().ok_or_else(|| missing("protocolVersion"))?;
        if version != Version::V2026_07_28.as_str() {
            return Err(unsupported_version(version));
        }
        match self.capabilities {
            Some(capabilities) if capabilities.get().starts_with('{') => Ok(Version::V2026_07_28),
            _ => Err(missing("clientCapabilities")),
        }
    }
}

/// The refusal of a version we do not speak, or not without a handshake.
#[must_use]
pub fn unsupported_version(requested: &str) -> RpcError {
    // Whoever asks for one that begins with `initialize` is told those that do not.
    let is_known = Version::ALL.iter().any(|version| version.as_str() == requested);
    let helps = |version: &&Version| !is_known || version.era() == Era::Modern;
    let supported: Vec<_> = Version::ALL.iter().rev().filter(helps).map(|version| version.as_str()).collect();
    let requested: String = requested.chars().take(100).collect();
    let message = format!("MCP version '{requested}' is not supported");
    RpcError {
        data: Some(json!({ "supported": supported, "requested": requested }).into()),
        ..RpcError::new(-32022, message)
    }
}

/// The headers of a request, which must say the same as its body.
#[derive(Debug, Default, Clone, Copy)]
pub struct Headers<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a str>,
    /// `Mcp-Method`.
    pub method: Option<&'a str>,
    /// `Mcp-Name`.
    pub name: Option<&'a str>,
}

impl Headers<'_> {
    /// Compares the headers with the body.
    ///
    /// # Errors
    /// `-32020`, naming the header; `-32602` where the body does not say one name that can be compared.
    pub fn check(&self, meta: &Meta<'_>, method: &str, params: Option<&RawValue>) -> Result<(), RpcError> {
        matches("MCP-Protocol-Version", self.version, meta.version.as_deref())?;
        matches("Mcp-Method", self.method, Some(method))?;
        if let Some(field) = named_by(method) {
            matches("Mcp-Name", self.name, named(params, field)?.as_deref())?;
        }
        Ok(())
    }
}

/// The field of the params that `Mcp-Name` repeats.
fn named_by(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// What the params say in this one field, whatever stands beside it.
fn named<'a>(params: Option<&'a RawValue>, field: &str) -> Result<Option<Cow<'a, str>>, RpcError> {
    let Some(params) = params else { return Ok(None) };
    let fields = envelope::fields(params, &[field])?;
    fields.get(field).map(|value| envelope::text(field, value)).transpose()
}

/// Compares a header with what the body says.
///
/// # Errors
/// `-32020`, naming the header.
pub fn matches(header: &str, told: Option<&str>, body: Option<&str>) -> Result<(), RpcError> {
    let told_text = told.map(|told| plain_text(told).unwrap_or_else(|| told.to_owned()));
    match (told_text, body) {
        (Some(told), Some(body)) if told == body => Ok(()),
        (_, None) => Ok(()),
        (None, Some(_)) => Err(RpcError::new(-32020, format!("the header {header} is missing"))),
        (Some(_), Some(_)) => {
            Err(RpcError::new(-32020, format!("the header {header} does not say what the body says")))
        }
    }
}

/// The refusal of a header that is there more than once: of its values, each reader takes another.
#[must_use]
pub fn twice(header: &str) -> RpcError {
    RpcError::new(-32020, format!("the header {header} is there twice; send it once"))
}

/// The text of a header that had to be encoded.
fn plain_text(header: &str) -> Option<String> {
    let encoded = header.strip_prefix("=?base64?")?.strip_suffix("?=")?;
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

/// Whether an answer may be kept for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// It belongs to this one request.
    No,
    /// The client may keep it for itself, and must ask again.
    Private,
}

/// A result with everything a client without a handshake expects: its type, who made it, and how
/// long it may be kept. What the service has written stays, in its order; only what it says about
/// caching is narrowed to the one caller.
#[must_use]
pub fn complete(result: &str, server_info: &str, cache: Cache) -> String {
    let fields: Fields<'_> = serde_json::from_str(result).unwrap_or_default();
    let has = |name: &str| fields.get(name).is_some();
    let mut text = String::with_capacity(result.len() + 192);
    if !has("resultType") {
        text.push_str("{\"resultType\":\"complete\"");
    }
    let mut push = |key: &str, value: &str| {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(&serde_json::Value::from(key).to_string());
        text.push(':');
        text.push_str(value);
    };
    for (key, value) in &fields.0 {
        match (&**key, cache) {
            ("cacheScope", Cache::Private) => {}
            _ => push(key, value.get()),
        }
    }
    if cache == Cache::Private {
        if !has("ttlMs") {
            push("ttlMs", "0");
        }
        push("cacheScope", "\"private\"");
    }
    if !has("_meta") {
        push("_meta", &format!("{{\"{SERVER_INFO}\":{server_info}}}"));
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completes_a_result_and_keeps_what_stands_there() {
        assert_eq!(
            complete(r#"{"b":1.0,"a":9007199254740993}"#, "{}", Cache::No),
            r#"{"resultType":"complete","b":1.0,"a":9007199254740993,"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#
        );
        assert_eq!(
            complete(
                r#"{"resultType":"complete","_meta":{},"ttlMs":5,"cacheScope":"public"}"#,
                "{}",
                Cache::Private
            ),
            r#"{"resultType":"complete","_meta":{},"ttlMs":5,"cacheScope":"private"}"#
        );
        assert_eq!(
            complete("{}", "{\"name\":\"x\"}", Cache::No),
            r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}}"#
        );
    }

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    /// Nothing beside the field keeps it from being compared: the header would say one name, and another be called.
    #[test]
    fn compares_the_name_whatever_stands_beside_it() {
        let meta = Meta::default();
        let told = |method| Headers { version: None, method: Some(method), name: Some("harmless") };
        for (method, params, code) in [
            ("tools/call", r#"{"name":"other","uri":5}"#, -32020),
            ("tools/call", r#"{"name":"other","taskId":[]}"#, -32020),
            ("tools/call", r#"{"name":"other","uri":"a","uri":"b"}"#, -32020),
            ("resources/read", r#"{"uri":"res://a","name":5}"#, -32020),
            ("prompts/get", r#"{"name":"other","taskId":1}"#, -32020),
            ("tasks/cancel", r#"{"taskId":"other","name":{}}"#, -32020),
            ("tools/call", r#"{"name":"other","name":"harmless"}"#, -32602),
            ("tools/call", r#"{"name":"harmless","name":"harmless"}"#, -32602),
            ("tools/call", r#"{"name":5}"#, -32602),
            ("tools/call", r#"{"name":"\ud800"}"#, -32602),
            ("tools/call", r#"["harmless"]"#, -32602),
        ] {
            let params = raw(params);
            let refused = told(method).check(&meta, method, Some(&params)).unwrap_err();
            assert_eq!(refused.code, code, "{method} {params}: {}", refused.message);
            let nameless = Headers { name: None, ..told(method) };
            assert_eq!(
                nameless.check(&meta, method, Some(&params)).unwrap_err().code,
                code,
                "{method} {params}"
            );
        }
        let params = raw(r#"{"name":"harmless","uri":5}"#);
        assert_eq!(told("tools/call").check(&meta, "tools/call", Some(&params)), Ok(()));
    }

    /// What is no object is not read by the places of its items.
    #[test]
    fn takes_only_an_object_as_meta() {
        for text in [r#"{"_meta":["2026-07-28",{}]}"#, r#"{"_meta":5}"#, r#"{"_meta":"x"}"#] {
            let refused = Meta::of(Some(&raw(text))).unwrap_err();
            assert_eq!(refused.code, -32602);
            assert!(refused.message.contains("must be an object"), "{}", refused.message);
        }
        assert!(Meta::of(Some(&raw(r#"{"_meta":null}"#))).is_ok_and(|meta| meta.version.is_none()));
    }

    #[test]
    fn headers_must_say_what_the_body_says() {
        let params = r#"{"name":"größe","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        let params = RawValue::from_string(params.to_owned()).unwrap();
        let meta = Meta::of(Some(&params)).unwrap();
        let encoded = format!("=?base64?{}?=", STANDARD.encode("größe"));
        let right = Headers { version: Some("2026-07-28"), method: Some("tools/call"), name: Some(&encoded) };
        assert_eq!(right.check(&meta, "tools/call", Some(&params)), Ok(()));
        for wrong in [
            Headers { version: None, ..right },
            Headers { method: Some("tools/list"), ..right },
            Headers { name: Some("other"), ..right },
            Headers { name: None, ..right },
        ] {
            assert_eq!(wrong.check(&meta, "tools/call", Some(&params)).unwrap_err().code, -32020);
        }
        assert_eq!(meta.check().unwrap_err().code, -32602);
    }
}
