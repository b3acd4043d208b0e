//! Content as arguments give it: exactly one of `content` and `source`.

use super::{Content, Sources, is_text};
use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool::objects::InMemory;
use tool::{Context, Error, Result};

/// How much may stand in the arguments themselves, decoded.
pub(super) const MAX_INLINE_BYTES: usize = 10 * 1024 * 1024;

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// How bytes stand in a JSON string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    Utf8,
    Base64,
}

impl Encoding {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "utf8",
            Self::Base64 => "base64",
        }
    }

    /// The encoding of an argument, if it is given.
    pub(crate) fn of(arguments: &Map<String, Value>) -> Result<Option<Self>> {
        match arguments.get("encoding") {
            None | Some(Value::Null) => Ok(None),
            Some(value) => serde_json::from_value(value.clone()).map(Some).map_err(|_| {
                let message = "parameter 'encoding' must be 'utf8' or 'base64'";
                Error::invalid_input(message).of_parameter("encoding")
            }),
        }
    }
}

/// The arguments about content, not yet followed to where they lead.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Given<'a> {
    Inline { text: &'a str, encoding: Option<Encoding> },
    Source(&'a Map<String, Value>),
}

impl<'a> Given<'a> {
    /// What the arguments give.
    ///
    /// # Errors
    /// `InvalidInput` when they give nothing, or two things at once.
    pub(crate) fn of(arguments: &'a Map<String, Value>) -> Result<Self> {
        let present = |name: &str| arguments.get(name).filter(|value| !value.is_null());
        match (present("content"), present("source")) {
            (Some(Value::String(text)), None) => {
                Ok(Self::Inline { text, encoding: Encoding::of(arguments)? })
            }
            (Some(_), None) => Err(wrong("content", "must be a string; bytes go in as Base64")),
            (None, Some(Value::Object(source))) => Ok(Self::Source(source)),
            (None, Some(_)) => Err(wrong("source", "must be an object with 'url', or 'uri' and 'arguments'")),
            (Some(_), Some(_)) => Err(wrong("source", "cannot be given beside 'content'; give one of them")),
            (None, None) => Err(wrong("content", "is missing; give 'content' or 'source'")),
        }
    }

    /// The content itself. `content_type` is what is known of it so far.
    pub(crate) async fn open(
        self,
        cx: &Context,
        sources: &Sources,
        content_type: Option<&str>,
    ) -> Result<Content> {
        match self {
            Self::Source(source) => sources.open(cx, source).await,
            Self::Inline { text, encoding } => {
                let bytes = decode(text, encoding, content_type)?;
                let size = Some(bytes.len() as u64);
                Ok(Content { body: InMemory::body(bytes), content_type: None, size })
            }
        }
    }
}

/// The bytes that a text stands for.
pub(super) fn decode(text: &str, encoding: Option<Encoding>, content_type: Option<&str>) -> Result<Vec<u8>> {
    let encoding = match encoding {
        Some(encoding) => encoding,
        None if is_text(content_type) => Encoding::Utf8,
        None => Encoding::Base64,
    };
    let too_long = || {
        let message = format!("is longer than {MAX_INLINE_BYTES} bytes; give it as 'source'");
        wrong("content", &message)
    };
    match encoding {
        Encoding::Utf8 if text.len() > MAX_INLINE_BYTES => Err(too_long()),
        Encoding::Utf8 => Ok(text.as_bytes().to_vec()),
        // With the line breaks that MIME puts in.
        Encoding::Base64 if text.len() / 4 * 3 > MAX_INLINE_BYTES + MAX_INLINE_BYTES / 32 => Err(too_long()),
        Encoding::Base64 => {
            let packed: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
            let decoded = STANDARD.decode(&packed).or_else(|_| URL_SAFE.decode(&packed));
            let decoded = decoded.map_err(|_| {
                let kind =
                    content_type.map(|kind| format!(", as content of type {kind} is")).unwrap_or_default();
                let message = format!("is no Base64{kind}; if it is text, set 'encoding' to 'utf8'");
                wrong("content", &message)
            })?;
            if decoded.len() > MAX_INLINE_BYTES { Err(too_long()) } else { Ok(decoded) }
        }
    }
}

fn wrong(parameter: &str, why: &str) -> Error {
    Error::invalid_input(format!("parameter '{parameter}' {why}")).of_parameter(parameter)
}

/// The properties `content`, `source` and `encoding` of a tool's parameters.
pub(crate) fn schema() -> [(String, Value); 3] {
    // What another tool gets is shown by the record of that call alone, as that tool's own schema says.
    let source = json!({
        "type": "object",
        "description": "Where the content comes from, instead of 'content': {\"url\"} or another tool and its arguments, {\"uri\", \"arguments\"}",
        "properties": {
            "url": { "type": "string", "description": "Fetched with GET" },
            "uri": { "type": "string", "description": "A tool, e.g. oss://docs/load" },
            "arguments": { "type": "object", "writeOnly": true, "description": "What that tool is called with" },
        },
        "additionalProperties": false,
    });
    [
        (
            "content".to_owned(),
            json!({ "type": "string", "description": "The content: text as it is, anything else as Base64" }),
        ),
        ("source".to_owned(), source),
        (
            "encoding".to_owned(),
            json!({ "type": "string", "enum": ["utf8", "base64"], "description": "How 'content' is written; follows from the content type unless given" }),
        ),
    ]
}
