//! What content goes in and comes out as.

use super::{Encoding, Given, guess, is_text, show};
use crate::shared::content::given::decode;
use serde_json::{Value, json};
use tool::ErrorKind;

#[test]
fn text_goes_in_as_it_is_and_everything_else_as_base64() {
    assert_eq!(decode("你好", None, Some("text/plain; charset=utf-8")).unwrap(), "你好".as_bytes());
    assert_eq!(decode("你好", None, None).unwrap(), "你好".as_bytes());
    assert_eq!(decode("{}", None, Some("application/ld+json")).unwrap(), b"{}");
    for packed in ["JVBERi0=", "JVBERi0", "JVBE\r\nRi0=\n"] {
        assert_eq!(decode(packed, None, Some("application/pdf")).unwrap(), b"%PDF-", "{packed}");
    }
    assert_eq!(decode("-_8=", Some(Encoding::Base64), None).unwrap(), [0xfb, 0xff]);
    assert_eq!(decode("JVBE", Some(Encoding::Utf8), Some("application/pdf")).unwrap(), b"JVBE");
    let error = decode("not Base64!", None, Some("image/png")).unwrap_err();
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::InvalidInput, Some("content")));
    assert!(error.message().contains("set 'encoding' to 'utf8'"), "{error}");
}

#[test]
fn refuses_more_than_arguments_may_hold() {
    let most = 10 * 1024 * 1024;
    assert_eq!(decode(&"x".repeat(most), None, None).unwrap().len(), most);
    for (text, encoding) in
        [("x".repeat(most + 1), None), ("A".repeat(most / 3 * 4 + 8), Some(Encoding::Base64))]
    {
        let error = decode(&text, encoding, None).unwrap_err();
        assert!(error.message().contains("give it as 'source'"), "{error}");
    }
}

#[test]
fn takes_exactly_one_of_content_and_source() {
    let given =
        |value: Value| Given::of(value.as_object().unwrap()).map(|_| ()).map_err(|error| error.to_string());
    given(json!({ "content": "x" })).unwrap();
    given(json!({ "content": "", "source": null })).unwrap();
    given(json!({ "source": { "url": "https://a.test" } })).unwrap();
    for (arguments, word) in [
        (json!({}), "missing"),
        (json!({ "content": "x", "source": { "url": "https://a.test" } }), "beside"),
        (json!({ "content": 5 }), "must be a string"),
        (json!({ "source": "https://a.test" }), "must be an object"),
        (json!({ "content": "x", "encoding": "latin1" }), "encoding"),
    ] {
        let error = given(arguments.clone()).unwrap_err();
        assert!(error.contains(word), "{arguments}: {error}");
    }
}

#[test]
fn comes_out_as_what_it_is() {
    let shown = show("你好".as_bytes(), Some("text/plain"), None, "oss:a").unwrap();
    assert_eq!(
        (shown.content.as_str(), shown.encoding, shown.block.is_none()),
        ("你好", Encoding::Utf8, true)
    );
    let shown = show(b"\x89PNG", Some("image/png"), None, "oss:a").unwrap();
    assert_eq!((shown.content.as_str(), shown.encoding), ("iVBORw==", Encoding::Base64));
    assert!(shown.block.unwrap().get().contains("\"type\":\"image\""));
    let shown = show(b"a\0b", None, None, "oss:a").unwrap();
    assert!(shown.block.unwrap().get().contains("\"uri\":\"oss:a\""));
    // Half a character, as a part of an object may end with.
    let shown = show(&"你".as_bytes()[..2], Some("text/plain"), None, "oss:a").unwrap();
    assert_eq!(shown.encoding, Encoding::Base64);
    assert!(show(b"\xff", Some("text/plain"), Some(Encoding::Utf8), "oss:a").is_err());
    assert_eq!(show(b"x", Some("text/plain"), Some(Encoding::Base64), "oss:a").unwrap().content, "eA==");
}

#[test]
fn knows_types_by_names_and_texts_by_types() {
    assert_eq!(guess("files/报告.PDF").as_deref(), Some("application/pdf"));
    assert_eq!(guess("files/none"), None);
    for text in ["text/html", "application/json", "image/svg+xml", "application/x-yaml", "text/javascript"] {
        assert!(is_text(Some(text)), "{text}");
    }
    for other in ["application/pdf", "image/png", "application/octet-stream", "nonsense"] {
        assert!(!is_text(Some(other)), "{other}");
    }
}
