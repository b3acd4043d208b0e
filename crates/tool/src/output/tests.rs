//! Answers in every form, written and read.

use super::*;
use serde_json::Value;

fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[test]
fn relays_a_result_byte_for_byte() {
    let text = r#"{ "isError":true, "content":[{"type":"text","text":"{\"a\":1}"}], "x":9007199254740993}"#;
    let output = Output::relayed(json(text)).unwrap();
    assert!(output.is_error());
    assert_eq!(output.to_result(), text);
    assert_eq!(output.data().unwrap(), "{\"a\":1}");
    assert_eq!(output.to_complete_result(), text);
    for none in ["7", "[]", "{}", "{ }", r#"{"content":null}"#, r#"{"isError":false}"#, r#"{"content":{}}"#] {
        assert!(Output::relayed(json(none)).is_err(), "{none}");
    }
    assert!(Output::relayed(json(r#"{"structuredContent":{}}"#)).is_ok());
    let silent = Output::relayed(json(r#"{"content":[]} "#)).unwrap();
    assert_eq!(silent.to_complete_result(), r#"{"content":[],"isError":false}"#);
    assert_eq!(Output::relayed(json(text)).unwrap().into_result(Structured::Objects), text);
}

#[test]
fn sees_whether_a_result_is_an_error_wherever_it_says_so() {
    for (text, is_error, says_so) in [
        (r#"{"content":[],"isError":true}"#, true, true),
        (r#"{"content":[], "isError" : false } "#, false, true),
        (r#"{"isError":true,"content":[]}"#, true, true),
        (r#"{"content":[],"structuredContent":{"isError":true}}"#, false, false),
        (r#"{"content":[],"x":{"isError":true},"isError":false}"#, false, true),
        (r#"{"content":[],"x\"isError":true}"#, false, false),
        (r#"{"content":[],"x":"\"isError\":true"}"#, false, false),
    ] {
        let output = Output::relayed(json(text)).unwrap();
        assert_eq!(output.is_error(), is_error, "{text}");
        assert_eq!(matches!(output.body, Body::Relayed(_, true)), says_so, "{text}");
    }
}

#[test]
fn finds_out_late_whether_a_text_is_json() {
    let data = r#"{"n":1.50}"#;
    assert_eq!(Output::unparsed(data).data().unwrap(), data);
    let spaced = Output::unparsed(format!(" {data}\n"));
    assert_eq!(spaced.to_result(), Output::json(json(data)).to_result());
    let text = r#"{"n": or not"#;
    assert_eq!(Output::unparsed(text).data().unwrap(), r#""{\"n\": or not""#);
    assert_eq!(Output::unparsed(text).to_result(), Output::text(text).to_result());
    assert_eq!(Output::unparsed(text).as_unparsed(), Some(text));
    assert_eq!(Output::unparsed(text).size_bytes(), text.len());
    assert_eq!(Output::text(text).as_unparsed(), None);
}

#[test]
fn gives_older_clients_no_structure_but_objects() {
    for (data, is_given) in [("{\"a\":1}", true), ("[1,2]", false), ("\"x\"", false), ("7", false)] {
        let result = Output::unparsed(data).into_result(Structured::Objects);
        assert_eq!(result.contains("structuredContent"), is_given, "{result}");
        assert_eq!(Output::json(json(data)).into_result(Structured::Objects), result);
        assert!(Output::unparsed(data).into_result(Structured::Anything).contains("structuredContent"));
        assert!(serde_json::from_str::<Value>(&result).is_ok(), "{result}");
    }
}

#[test]
fn shows_data_as_text_and_structure() {
    let output = Output::json(json(r#"{"n":1.50}"#));
    assert_eq!(
        output.to_result(),
        r#"{"content":[{"type":"text","text":"{\"n\":1.50}"}],"structuredContent":{"n":1.50},"isError":false}"#
    );
    assert_eq!(output.data().unwrap(), r#"{"n":1.50}"#);
}

#[test]
fn carries_bytes_as_mcp_wants_them() {
    let block = |content: Content| serde_json::from_str::<Value>(content.get()).unwrap();
    let image = block(Content::image(&[0, 255], "image/png"));
    assert_eq!(image, serde_json::json!({ "type": "image", "data": "AP8=", "mimeType": "image/png" }));
    assert_eq!(block(Content::audio(&[1], "audio/wav"))["type"], "audio");
    let resource =
        serde_json::json!({ "uri": "attachment:a\"b", "mimeType": "application/zip", "blob": "UEs=" });
    let blob = block(Content::blob(b"PK", "application/zip", "attachment:a\"b"));
    assert_eq!(blob, serde_json::json!({ "type": "resource", "resource": resource }));
}

#[test]
fn offers_plain_text_to_shapes_as_a_string() {
    assert_eq!(Output::text("it's \"so\"").data().unwrap(), r#""it's \"so\"""#);
    assert!(Output::blocks(vec![]).data().is_none());
    assert_eq!(
        Output::text("no").failed().to_result(),
        r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#
    );
}
