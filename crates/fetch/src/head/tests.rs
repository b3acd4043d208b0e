//! Heads as they should be, and as they should not.

use super::*;
use std::error::Error as _;

fn read(bytes: &[u8]) -> Result<Option<(Head, usize)>, String> {
    parse(bytes).map_err(|error| error.source().map(ToString::to_string).unwrap_or_default())
}

fn head_of(bytes: &[u8]) -> Head {
    read(bytes).unwrap().unwrap().0
}

fn refusal_of(bytes: &[u8]) -> String {
    read(bytes).unwrap_err()
}

#[test]
fn reads_status_version_and_headers() {
    let bytes = b"HTTP/1.1 201 Created\r\nContent-Type: a/b\r\nx-own:  two words \r\nX-Own:\r\n\r\nbody";
    let (head, length) = read(bytes).unwrap().unwrap();
    assert_eq!((head.version, head.status), (Version::HTTP_11, StatusCode::CREATED));
    assert_eq!(&bytes[length..], b"body");
    assert_eq!(head.headers["content-type"], "a/b");
    let own: Vec<_> = head.headers.get_all("x-own").iter().collect();
    assert_eq!(own, ["two words", ""]);
    let head = head_of(b"HTTP/1.0 200\r\n\r\n");
    assert_eq!((head.version, head.status), (Version::HTTP_10, StatusCode::OK));
}

#[test]
fn a_name_is_the_same_however_it_is_written() {
    for name in
        [DATE, VARY, SERVER, CONNECTION, CONTENT_TYPE, CACHE_CONTROL, CONTENT_LENGTH, TRANSFER_ENCODING]
    {
        let train = name.as_str().split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
        let train = train.collect::<Vec<_>>().join("-");
        for written in [name.as_str(), &train, &name.as_str().to_uppercase()] {
            assert_eq!(name_of(written.as_bytes()).unwrap(), name, "{written}");
        }
    }
}

#[test]
fn all_values_are_parts_of_one_copy() {
    let bytes = b"HTTP/1.1 200 OK\r\na: first\r\nb: second\r\n\r\n";
    let headers = head_of(bytes).headers;
    let place = |name| headers[name].as_bytes().as_ptr().addr();
    assert_eq!(place("b") - place("a"), "first\r\nb: ".len());
    assert!(!bytes.as_ptr_range().contains(&headers["a"].as_bytes().as_ptr()));
}

#[test]
fn sees_the_end_wherever_the_bytes_are_cut() {
    for whole in
        [&b"HTTP/1.1 200 OK\r\na: b\r\n\r\n"[..], b"HTTP/1.1 200 OK\na: b\n\n", b"HTTP/1.1 200 OK\r\n\n"]
    {
        for seen in 1..whole.len() {
            assert!(read(&whole[..seen]).unwrap().is_none(), "{seen}");
            assert!(!is_worth_reading(&whole[..seen], 1), "{seen}");
            assert!(is_worth_reading(whole, seen), "{seen}");
        }
        assert_eq!(read(whole).unwrap().unwrap().1, whole.len());
    }
}

#[test]
fn does_not_wait_for_the_end_of_what_is_no_answer() {
    for bytes in [&b"SSH-2.0-x\r\n"[..], b"HTTP/2 200", b"\x15\x03", b"<html>", b"http/1.1 200 OK", b"\0"] {
        assert_eq!(refusal_of(bytes), "invalid HTTP version");
    }
    for begun in [&b""[..], b"H", b"HTTP/1", b"HTTP/1.1 2"] {
        assert!(read(begun).unwrap().is_none());
    }
}

#[test]
fn a_line_may_end_without_a_return() {
    let head = head_of(b"HTTP/1.1 200 OK\na: b\nc: d\n\n");
    assert_eq!((&head.headers["a"], &head.headers["c"]), (&"b".parse().unwrap(), &"d".parse().unwrap()));
}

#[test]
fn refuses_what_could_be_read_in_two_ways() {
    for (bytes, why) in [
        (&b"HTTP/1.1 200 OK\r\na: b\r\n folded\r\n\r\n"[..], "invalid header name"),
        (b"HTTP/1.1 200 OK\r\n a: b\r\n\r\n", "invalid header name"),
        (b"HTTP/1.1 200 OK\r\na : b\r\n\r\n", "invalid header name"),
        (b"HTTP/1.1 200 OK\r\n: b\r\n\r\n", "invalid header name"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "invalid header name"),
        (b"HTTP/1.1 200 OK\r\na: b\0c\r\n\r\n", "invalid header value"),
        (b"HTTP/1.1 200 OK\r\na: b\x7fc\r\n\r\n", "invalid header value"),
        (b"HTTP/1.1 200 OK\r\na: b\rc: d\r\n\r\n", "invalid header value"),
        (b"HTTP/1.9 200 OK\r\n\r\n", "invalid HTTP version"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "invalid response status"),
        (b"HTTP/1.1 2000 OK\r\n\r\n", "invalid response status"),
        (b"HTTP/1.1 099 Low\r\n\r\n", "invalid status code"),
    ] {
        assert_eq!(refusal_of(bytes), why, "{}", bytes.escape_ascii());
    }
}

#[test]
fn refuses_too_many_headers() {
    let with = |count: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(count)).into_bytes();
    assert_eq!(head_of(&with(100)).headers.len(), 100);
    assert_eq!(refusal_of(&with(101)), "too many headers");
}

#[test]
fn refuses_a_head_that_is_too_long_before_it_ends() {
    let too_long = "the head of the answer is too long";
    let with = |length: usize| format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(length - 20)).into_bytes();
    assert!(read(&with(MAX_BYTES)).unwrap().is_none());
    assert!(!is_worth_reading(&with(MAX_BYTES), 100));
    assert_eq!(refusal_of(&with(MAX_BYTES + 1)), too_long);
    assert!(is_worth_reading(&with(MAX_BYTES + 1), 100));
    let ended = |length: usize| [with(length - 4), b"\r\n\r\n".to_vec()].concat();
    assert_eq!(read(&ended(MAX_BYTES)).unwrap().unwrap().1, MAX_BYTES);
    assert_eq!(refusal_of(&ended(MAX_BYTES + 1)), too_long);
}
