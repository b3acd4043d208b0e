//! Forms, files and nested values on the wire.

use super::validation::tool_problems;
use super::*;
use tool::ErrorKind;

#[expect(clippy::needless_pass_by_value, reason = "json! at the call reads better")]
fn form(parameters: Value) -> Value {
    json!({ "endpoint": "/x", "method": "POST", "parameters": parameters })
}

#[tokio::test]
async fn sends_form_parameters_urlencoded() {
    let server = Server::start().await;
    let api = with_tool(
        &server,
        form(json!([
            { "name": "plain", "position": "form" },
            { "name": "n", "parameter_type": "Integer", "position": "form" },
            { "name": "list", "parameter_type": "Array", "position": "form" },
            { "name": "deep", "parameter_type": "Object", "position": "form" },
            { "name": "none", "position": "form" },
            { "name": "json", "parameter_type": "Object", "position": "form", "style": "json" }
        ])),
    );
    let arguments = json!({
        "plain": "a b&c=é", "n": 7, "list": ["x", "y"], "deep": { "k": { "l": [1, 2] } },
        "none": null, "json": { "a": 1 }
    });
    call(&*api, arguments).await.unwrap();
    let received = server.last();
    assert_eq!(received.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(
        received.body,
        "plain=a%20b%26c%3D%C3%A9&n=7&list=x&list=y&deep%5Bk%5D%5Bl%5D%5B%5D=1&deep%5Bk%5D%5Bl%5D%5B%5D=2&json=%7B%22a%22%3A1%7D"
    );
    let open = json!({ "endpoint": "/x", "method": "POST", "methods": ["GET"], "parameters": [{ "name": "plain", "position": "form" }] });
    call_with(&*with_tool(&server, open), "?method=GET", json!({ "plain": "x" })).await.unwrap();
    assert_eq!((server.last().query.as_str(), server.last().body.as_str()), ("plain=x", ""));
}

#[tokio::test]
async fn sends_files_as_parts() {
    let server = Server::start().await;
    let api = with_tool(
        &server,
        form(json!([
            { "name": "title", "position": "form", "required": true },
            { "name": "note", "position": "form", "file": { "filename": "note.txt", "content_type": "text/plain" } },
            { "name": "scan", "parameter_type": "Object", "position": "form", "file": { "encoding": "base64" } }
        ])),
    );
    let scan = json!({ "content": "iVBORw0KGgD/", "filename": "scan.png", "content_type": "image/png" });
    call(&*api, json!({ "title": "T", "note": "héllo", "scan": scan })).await.unwrap();
    let received = server.last();
    let boundary =
        received.header("content-type").unwrap().split_once("multipart/form-data; boundary=").unwrap().1;
    let mut expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nT\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"note\"; filename=\"note.txt\"\r\nContent-Type: text/plain\r\n\r\nhéllo\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"scan\"; filename=\"scan.png\"\r\nContent-Type: image/png\r\n\r\n"
    )
    .into_bytes();
    expected.extend_from_slice(&[0x89, b'P', b'N', b'G', 13, 10, 26, 0, 255]);
    expected.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    assert_eq!(received.bytes, expected);
    for (scan, code, words) in [
        (json!({ "content": "%%%" }), "InvalidFile", "must hold Base64"),
        (json!({ "filename": "a" }), "Required", "'scan.content'"),
    ] {
        let error = error_of(&*api, json!({ "title": "T", "scan": scan })).await;
        assert_eq!((error.kind(), error.problems()[0].code), (ErrorKind::InvalidInput, code));
        assert!(error.to_string().contains(words), "{error}");
    }
    let error = call_with(&*api, "?method=GET", json!({ "title": "T", "note": "x" })).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(server.requests().len(), 1);
    let tools = api.tools(&context(Duration::from_secs(1))).await.unwrap();
    let schema: Value = serde_json::from_str(tools[0].input_schema().get()).unwrap();
    assert_eq!(schema["properties"]["scan"]["required"], json!(["content"]));
}

#[tokio::test]
async fn sends_multipart_without_files_when_told() {
    let server = Server::start().await;
    let mut tool = form(json!([{ "name": "a", "position": "form" }]));
    tool["form_encoding"] = "multipart".into();
    tool["headers"] = json!({ "Content-Type": "text/wrong" });
    call(&*with_tool(&server, tool), json!({ "a": "1" })).await.unwrap();
    assert!(server.last().header("content-type").unwrap().starts_with("multipart/form-data; boundary=part-"));
    assert!(server.last().body.contains("name=\"a\"\r\n\r\n1\r\n"), "{}", server.last().body);
}

/// AP-1
#[tokio::test]
async fn writes_lists_and_objects_in_the_query_as_their_style_says() {
    let server = Server::start().await;
    for (style, value, expected) in [
        ("repeat", json!(["a", "b"]), "v=a&v=b"),
        ("comma", json!(["a", 1]), "v=a%2C1"),
        ("space", json!(["a", "b"]), "v=a%20b"),
        ("pipe", json!(["a", "b"]), "v=a%7Cb"),
        ("brackets", json!(["a", "b"]), "v%5B%5D=a&v%5B%5D=b"),
        ("brackets", json!([{ "k": "a" }]), "v%5B0%5D%5Bk%5D=a"),
        ("json", json!(["a"]), "v=%5B%22a%22%5D"),
    ] {
        let parameters =
            json!([{ "name": "v", "parameter_type": "Array", "position": "query", "style": style }]);
        let api = with_tool(&server, json!({ "endpoint": "/x", "parameters": parameters }));
        call(&*api, json!({ "v": value })).await.unwrap();
        assert_eq!(server.last().query, expected, "{style}");
    }
}

#[tokio::test]
async fn refuses_arguments_that_would_make_a_request_without_end() {
    let server = Server::start().await;
    let leaves: Map<_, _> = (0..2_000).map(|n| (n.to_string(), json!(1))).collect();
    let deep = json!({ "k".repeat(20_000): leaves });
    for (position, method) in [("form", "POST"), ("query", "GET")] {
        let parameters =
            json!([{ "name": "v", "parameter_type": "Object", "position": position, "style": "brackets" }]);
        let api = with_tool(&server, json!({ "endpoint": "/x", "method": method, "parameters": parameters }));
        let error = error_of(&*api, json!({ "v": deep.clone() })).await;
        assert_eq!(
            (error.kind(), error.problems()[0].code),
            (ErrorKind::InvalidInput, "TooLong"),
            "{position}"
        );
    }
    assert!(server.requests().is_empty());
}

#[test]
fn rejects_bodies_that_cannot_be_sent() {
    let file = json!({ "name": "f", "position": "form", "file": {} });
    for (tool, path, code) in [
        (
            json!({ "method": "POST", "parameters": [{ "name": "a" }, { "name": "b", "position": "form" }] }),
            "tools[0].parameters",
            "ParameterPositionMismatch",
        ),
        (json!({ "method": "GET", "parameters": [file] }), "tools[0].method", "ParameterPositionMismatch"),
        (
            json!({ "method": "POST", "form_encoding": "urlencoded", "parameters": [file] }),
            "tools[0].form_encoding",
            "ParameterPositionMismatch",
        ),
        (json!({ "method": "POST", "form_encoding": "multipart" }), "tools[0].form_encoding", "Unused"),
        (
            json!({ "method": "POST", "parameters": [{ "name": "f", "file": {} }] }),
            "tools[0].parameters[0].position",
            "ParameterPositionMismatch",
        ),
        (
            json!({ "method": "POST", "parameters": [{ "name": "f", "position": "form", "parameter_type": "Integer", "file": {} }] }),
            "tools[0].parameters[0].parameter_type",
            "WrongType",
        ),
        (
            json!({ "method": "POST", "parameters": [{ "name": "f", "position": "form", "file": { "content_type": "x\r\ny" } }] }),
            "tools[0].parameters[0].file.content_type",
            "InvalidContentType",
        ),
        (
            json!({ "parameters": [{ "name": "q", "position": "query", "style": "fancy" }] }),
            "tools[0].parameters[0].style",
            "InvalidStyle",
        ),
        (
            json!({ "parameters": [{ "name": "q", "position": "header", "style": "comma" }] }),
            "tools[0].parameters[0].style",
            "Unused",
        ),
    ] {
        let mut tool = tool;
        tool["id"] = "t".into();
        tool["endpoint"] = "/t".into();
        assert!(
            tool_problems(tool.clone()).contains(&(path.to_owned(), code)),
            "{tool}: {:?}",
            tool_problems(tool.clone())
        );
    }
}
