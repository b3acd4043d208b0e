//! Forms, files and styles: what documents say of them, and what arrives.

use super::*;
use std::time::Duration;
use testkit::conformance::context;
use testkit::http::{Received, Server};
use tool::{Arguments, Call, Env};

/// Imports a document with one operation `t`, and calls it at a real server.
async fn call(method: &str, operation: Value, arguments: Value) -> Received {
    let mut operation = operation;
    operation["operationId"] = json!("t");
    call_tool(import_value(document_with("/x", method, operation)).unwrap(), arguments).await
}

async fn call_tool(imported: Imported, arguments: Value) -> Received {
    assert!(imported.skipped.is_empty(), "{:?}", imported.skipped);
    let server = Server::start().await;
    let tools: Vec<_> = imported.tools.into_iter().map(|tool| tool.definition).collect();
    let settings = json!({ "base_url": server.url(), "allow_private_network": true, "tools": tools });
    let api = crate::find("api").unwrap().open(settings, &Env::default()).unwrap();
    let arguments = Arguments::from(arguments.as_object().unwrap().clone());
    let call = Call::new("t", arguments);
    api.call(&context(Duration::from_secs(20)), call).await.unwrap();
    server.last()
}

fn body(media_type: &str, media: Value) -> Value {
    let mut content = Map::new();
    content.insert(media_type.to_owned(), media);
    json!({ "requestBody": { "required": true, "content": content } })
}

/// The parts of a multipart body: their heads and contents.
fn parts(received: &Received) -> Vec<(String, String)> {
    let boundary = received.header("content-type").unwrap().split_once("boundary=").unwrap().1;
    let boundary = format!("--{boundary}");
    let split = |part: &str| {
        let (head, content) = part.split_once("\r\n\r\n")?;
        Some((head.trim().to_owned(), content.trim_end_matches("\r\n").to_owned()))
    };
    received.body.split(&boundary).filter_map(split).collect()
}

#[tokio::test]
async fn a_form_is_written_as_its_encoding_says() {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let form = json!({
        "schema": { "type": "object", "required": ["a"], "properties": {
            "a": { "type": "integer" }, "many": list, "joined": list, "spaced": list,
            "deep": { "type": "object", "additionalProperties": { "type": "string" } },
            "packed": { "type": "object", "properties": { "k": { "type": "integer" } } }
        } },
        "encoding": { "joined": { "explode": false }, "spaced": { "style": "spaceDelimited" }, "packed": { "contentType": "application/json" } }
    });
    let arguments = json!({ "a": 1, "many": ["x", "y"], "joined": ["x", "y"], "spaced": ["x", "y"], "deep": { "k": "v" }, "packed": { "k": 1 } });
    let received = call("post", body("application/x-www-form-urlencoded", form), arguments).await;
    let expected = "a=1&many=x&many=y&joined=x%2Cy&spaced=x%20y&deep%5Bk%5D=v&packed=%7B%22k%22%3A1%7D";
    assert_eq!(received.body, expected);
    assert_eq!(received.header("content-type"), Some("application/x-www-form-urlencoded"));
}

#[tokio::test]
async fn a_form_without_fixed_fields_is_a_text() {
    let form = json!({ "schema": { "type": "object", "additionalProperties": true } });
    let operation = body("application/x-www-form-urlencoded", form);
    let received = call("post", operation, json!({ "body": "a=1&b=2" })).await;
    assert_eq!(received.body, "a=1&b=2");
    assert_eq!(received.header("content-type"), Some("application/x-www-form-urlencoded"));
}

#[tokio::test]
async fn parts_are_texts_json_and_files() {
    let form = json!({
        "schema": { "type": "object", "required": ["file"], "properties": {
            "file": { "type": "string", "format": "binary", "description": "What to keep" },
            "photos": { "type": "array", "items": { "type": "string", "format": "binary" } },
            "sound": {}, "note": { "type": "string" }, "count": { "type": "integer" },
            "about": { "type": "object", "properties": { "k": { "type": "integer" } } },
            "tags": { "type": "array", "items": { "type": "string" } },
            "lines": { "type": "array", "items": { "type": "object", "properties": { "n": { "type": "integer" } } } },
            "body[odd]": { "type": "string" }
        } },
        "encoding": { "sound": { "contentType": "audio/ogg, audio/mpeg" }, "photos": { "contentType": "image/*" } }
    });
    let mut operation = body("multipart/form-data", form);
    operation["operationId"] = json!("t");
    let imported = import_value(document_with("/x", "post", operation)).unwrap();
    assert!(has_warning(&imported, "'photos' is a list of files"));
    let file = &input_schema(&imported)["properties"]["file"];
    assert_eq!((&file["description"], &file["required"]), (&json!("What to keep"), &json!(["content"])));
    let received = call_tool(imported, json!({
        "file": { "content": "aGk=", "filename": "hi.txt", "content_type": "text/plain" }, "photos": { "content": "aGk=" },
        "sound": { "content": "aGk=" }, "note": "a note", "count": 2, "about": { "k": 1 }, "tags": ["x", "y"],
        "lines": [{ "n": 1 }, { "n": 2 }], "body_odd": "o"
    }))
    .await;
    let disposition = |name: &str| format!("Content-Disposition: form-data; name=\"{name}\"");
    let file = |name: &str, filename: &str, media_type: &str| {
        let head = format!("{}; filename=\"{filename}\"\r\nContent-Type: {media_type}", disposition(name));
        (head, "hi".to_owned())
    };
    let text = |name: &str, content: &str| (disposition(name), content.to_owned());
    let about = format!("{}\r\nContent-Type: application/json", disposition("about"));
    assert_eq!(
        parts(&received),
        [
            file("file", "hi.txt", "text/plain"),
            file("photos", "photos", "application/octet-stream"),
            file("sound", "sound", "audio/ogg"),
            text("note", "a note"),
            text("count", "2"),
            (about, r#"{"k":1}"#.to_owned()),
            text("tags", "x"),
            text("tags", "y"),
            text("lines", r#"{"n":1}"#),
            text("lines", r#"{"n":2}"#),
            text("body[odd]", "o"),
        ]
    );
}

#[tokio::test]
async fn bytes_are_the_body() {
    let schema = json!({ "schema": { "type": "string", "format": "binary" } });
    let received = call("put", body("image/png", schema.clone()), json!({ "body": "AP8=" })).await;
    assert_eq!(
        (received.bytes.as_ref(), received.header("content-type")),
        (&[0, 255][..], Some("image/png"))
    );
    let any = json!({ "body": { "content": "AP8=", "content_type": "image/gif" } });
    let received = call("put", body("image/*", schema.clone()), any).await;
    assert_eq!(
        (received.bytes.as_ref(), received.header("content-type")),
        (&[0, 255][..], Some("image/gif"))
    );
    let other = import_value(document_with("/x", "put", body("multipart/related", schema))).unwrap();
    assert!(reason(&other, "PUT /x").contains("multipart/related"));
}

#[tokio::test]
async fn lists_and_objects_in_a_query_have_the_style_of_the_document() {
    let list = json!({ "type": "array", "items": { "type": "integer" } });
    let object = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let deep = json!({ "type": "object", "properties": { "eq": object, "in": list } });
    let operation = json!({ "parameters": [
        { "name": "a", "in": "query", "schema": list },
        { "name": "b", "in": "query", "schema": list, "explode": false },
        { "name": "c", "in": "query", "schema": list, "style": "pipeDelimited" },
        { "name": "d", "in": "query", "schema": list, "style": "spaceDelimited", "explode": true },
        { "name": "e", "in": "query", "schema": list, "style": "deepObject" },
        { "name": "f", "in": "query", "schema": object, "style": "deepObject" },
        { "name": "g", "in": "query", "schema": deep, "style": "deepObject" },
        { "name": "h", "in": "query", "content": { "application/json": { "schema": list } } },
        { "name": "X-I", "in": "header", "schema": list }
    ] });
    let two = json!([1, 2]);
    let arguments = json!({ "a": two, "b": two, "c": two, "d": two, "e": two, "f": { "k": "v" },
        "g_eq": { "k": "v" }, "g_in": two, "h": two, "X-I": "1,2" });
    let received = call("get", operation, arguments).await;
    let query =
        received.query.replace("%5B", "[").replace("%5D", "]").replace("%2C", ",").replace("%7C", "|");
    let expected = "a=1&a=2&b=1,2&c=1|2&d=1&d=2&e[]=1&e[]=2&f[k]=v&g[eq][k]=v&g[in][]=1&g[in][]=2&h=[1,2]";
    assert_eq!((query.as_str(), received.header("x-i")), (expected, Some("1,2")));
}
