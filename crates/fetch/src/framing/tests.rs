//! Which head means which body.

use super::*;
use std::error::Error as _;

fn framing(method: &str, head: &str) -> Result<Framing, String> {
    let head = format!("{head}\n\n");
    let (head, _) = crate::head::parse(head.as_bytes()).unwrap().unwrap();
    Framing::of(&method.parse().unwrap(), &head)
        .map_err(|error| error.source().map(ToString::to_string).unwrap_or_default())
}

/// The body in a word, and whether the connection stays open.
fn seen(method: &str, head: &str) -> (String, bool) {
    let framing = framing(method, head).unwrap();
    let body = match framing.body {
        Body::Ended => "none".to_owned(),
        Body::Length(length) => length.to_string(),
        Body::Chunked(_) => "chunked".to_owned(),
        Body::UntilClose => "until close".to_owned(),
    };
    (body, framing.stays_open)
}

fn assert_get(head: &str, body: &str, stays_open: bool) {
    assert_eq!(seen("GET", head), (body.to_owned(), stays_open), "{head}");
}

#[test]
fn the_length_is_what_the_head_says() {
    assert_get("HTTP/1.1 200 OK\ncontent-length: 5", "5", true);
    assert_get("HTTP/1.1 404 No\ncontent-length: 0", "none", true);
    assert_get("HTTP/1.1 200 OK\ncontent-length: 18446744073709551615", "18446744073709551615", true);
    assert_get("HTTP/1.1 200 OK\ncontent-length: 5\ncontent-length: 5, 5", "5", true);
    assert_get("HTTP/1.1 200 OK", "until close", false);
    assert_get("HTTP/1.0 200 OK\nconnection: keep-alive", "until close", false);
}

#[test]
fn some_answers_have_no_body_whatever_they_say() {
    for length in ["content-length: 5", "content-length: x", "transfer-encoding: chunked"] {
        let with = |line: &str| format!("{line}\n{length}");
        assert_eq!(seen("HEAD", &with("HTTP/1.1 200 OK")), ("none".to_owned(), true));
        assert_get(&with("HTTP/1.1 204 Empty"), "none", true);
        assert_get(&with("HTTP/1.1 304 Same"), "none", true);
        assert_get(&with("HTTP/1.1 101 Else"), "none", false);
        assert_eq!(seen("CONNECT", &with("HTTP/1.1 200 OK")), ("none".to_owned(), false));
    }
    assert_get("HTTP/1.1 204 Empty\nconnection: close", "none", false);
    assert_eq!(seen("CONNECT", "HTTP/1.1 403 No\ncontent-length: 5"), ("5".to_owned(), true));
}

#[test]
fn a_length_in_doubt_is_refused() {
    for wrong in
        ["", "+5", "-5", "0x5", "5 5", "5,", "5.0", "18446744073709551616", "99999999999999999999999"]
    {
        let refused = framing("GET", &format!("HTTP/1.1 200 OK\ncontent-length: {wrong}")).unwrap_err();
        assert_eq!(refused, "the content-length of the answer is no number", "{wrong}");
    }
    for two in [
        "content-length: 5\ncontent-length: 6",
        "content-length: 5, 6",
        "content-length: 5\na: b\ncontent-length: 0",
    ] {
        let refused = framing("GET", &format!("HTTP/1.1 200 OK\n{two}")).unwrap_err();
        assert_eq!(refused, "the answer has several content-lengths", "{two}");
    }
}

#[test]
fn chunks_count_more_than_a_length() {
    for coding in
        ["chunked", "Chunked", "gzip, chunked", "gzip ,\tCHUNKED ", "gzip\ntransfer-encoding: chunked"]
    {
        assert_get(&format!("HTTP/1.1 200 OK\ntransfer-encoding: {coding}"), "chunked", true);
    }
    for length in ["5", "x"] {
        let both = format!("HTTP/1.1 200 OK\ncontent-length: {length}\ntransfer-encoding: chunked");
        assert_get(&both, "chunked", false);
    }
    // HTTP/1.0 knows no chunks; who knows what stands in between.
    assert_get("HTTP/1.0 200 OK\nconnection: keep-alive\ntransfer-encoding: chunked", "chunked", false);
}

#[test]
fn other_codings_last_until_the_connection_ends() {
    for coding in ["gzip", "", "chunked, gzip", "xchunked", "chunked;a=b", "chunked\ntransfer-encoding: gzip"]
    {
        let head = format!("HTTP/1.1 200 OK\ntransfer-encoding: {coding}\ncontent-length: 5");
        assert_get(&head, "until close", false);
    }
}

#[test]
fn a_connection_stays_open_when_both_versions_agree() {
    for (line, stays_open) in [
        ("HTTP/1.1 200 OK\nx: close", true),
        ("HTTP/1.1 200 OK\nconnection: keep-alive", true),
        ("HTTP/1.1 200 OK\nconnection: closed", true),
        ("HTTP/1.1 200 OK\nconnection: close", false),
        ("HTTP/1.1 200 OK\nconnection: Foo , CLOSE", false),
        ("HTTP/1.1 200 OK\nconnection: foo\nconnection: close", false),
        ("HTTP/1.0 200 OK\nx: keep-alive", false),
        ("HTTP/1.0 200 OK\nconnection: Keep-Alive", true),
        ("HTTP/1.0 200 OK\nconnection: keep-alive, close", false),
    ] {
        assert_get(&format!("{line}\ncontent-length: 1"), "1", stays_open);
    }
}
