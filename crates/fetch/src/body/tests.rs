//! Bodies, whole and in pieces, right and wrong.

use super::*;
use proptest::prelude::*;
use std::error::Error as _;

fn chunked() -> Body {
    Body::Chunked(Chunked::default())
}

fn why(error: &Error) -> String {
    error.source().map(ToString::to_string).unwrap_or_default()
}

/// What a body is and what is left behind it, when its bytes come in these pieces. The connection ends behind them.
fn read<'a>(
    mut body: Body,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Vec<u8>, Vec<u8>), String> {
    let (mut input, mut whole) = (BytesMut::new(), Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        while let Some(part) = body.take(&mut input).map_err(|error| why(&error))? {
            assert!(!part.is_empty());
            whole.extend_from_slice(&part);
        }
    }
    if !body.is_ended() {
        body.close().map_err(|error| why(&error))?;
    }
    assert!(body.is_ended());
    Ok((whole, input.to_vec()))
}

/// The same, byte by byte and as a whole.
fn read_chunks(bytes: &[u8]) -> Result<(String, String), String> {
    let whole = read(chunked(), [bytes]);
    assert_eq!(read(chunked(), bytes.chunks(1)), whole, "{}", bytes.escape_ascii());
    whole.map(|(body, rest)| (String::from_utf8(body).unwrap(), String::from_utf8(rest).unwrap()))
}

fn assert_refused(bytes: &[u8], expected: &str) {
    assert_eq!(read_chunks(bytes).unwrap_err(), expected, "{}", bytes.escape_ascii());
}

#[test]
fn reads_as_many_bytes_as_there_are() {
    let read = |length, bytes: &'static [u8]| read(Body::of_length(length), [bytes]);
    assert_eq!(read(3, b"abcdef"), Ok((b"abc".to_vec(), b"def".to_vec())));
    assert_eq!(read(0, b"abc"), Ok((Vec::new(), b"abc".to_vec())));
    assert_eq!(read(4, b"abc"), Err("it ended within a body".to_owned()));
    assert_eq!(read(u64::MAX, b"abc"), Err("it ended within a body".to_owned()));
}

#[test]
fn reads_until_the_connection_ends() {
    let pieces = [&b"HTTP"[..], b"", b"0\r\n\r\n"];
    assert_eq!(read(Body::UntilClose, pieces), Ok((b"HTTP0\r\n\r\n".to_vec(), Vec::new())));
}

#[test]
fn a_body_is_not_copied() {
    for (mut body, text, part) in [
        (Body::of_length(9), &b"some text"[..], "some text"),
        (Body::UntilClose, b"some text", "some text"),
        (chunked(), b"9\r\nsome text\r\n", "some text"),
    ] {
        let mut input = BytesMut::from(text);
        let range = input.as_ptr_range();
        let taken = body.take(&mut input).unwrap().unwrap();
        assert_eq!(taken, part);
        assert!(range.contains(&taken.as_ptr()));
    }
}

#[test]
fn reads_chunks() {
    for (bytes, body, rest) in [
        ("0\r\n\r\n", "", ""),
        ("0\r\n\r\nHTTP", "", "HTTP"),
        ("3\r\nabc\r\n0\r\n\r\n\r\n", "abc", "\r\n"),
        ("3\r\n\r\n\r\r\nA\r\n0123456789\r\n000\r\n\r\n", "\r\n\r0123456789", ""),
        ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789", ""),
        ("0000000000000003\r\nabc\r\n0\r\n\r\n", "abc", ""),
        ("3;a=b;c=\"d\"\r\nabc\r\n0;e\r\n\r\n", "abc", ""),
        ("3 \t\r\nabc\r\n0 ;a\r\n\r\n", "abc", ""),
        ("3\r\nabc\r\n0\r\nsome: trailer\r\nanother: one\r\n\r\nrest", "abc", "rest"),
    ] {
        assert_eq!(read_chunks(bytes.as_bytes()), Ok((body.to_owned(), rest.to_owned())), "{bytes:?}");
    }
}

#[test]
fn refuses_sizes_that_are_none() {
    for bytes in ["\r\n", "x", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", ";a\r\n", "1g\r\n", "1\n", "\n", "\0"]
    {
        assert_refused(bytes.as_bytes(), "the size of a chunk is no number");
    }
    for bytes in ["00000000000000003\r\n", "10000000000000000\r\n", "ffffffffffffffffff"] {
        assert_refused(bytes.as_bytes(), "the size of a chunk is too large");
    }
    // As much as can be said, and far too little of it.
    assert_refused(b"ffffffffffffffff\r\nabc", "it ended within a body");
    assert_refused(b"ffffffffffffffff\r\nabc\r\n0\r\n\r\n", "it ended within a body");
}

#[test]
fn refuses_lines_that_end_otherwise() {
    for bytes in [
        "1\r1",
        "1\r\r\n",
        "1 1\r\n",
        "1 \n",
        "1;a\n",
        "1;a\r1",
        "1\r\nab",
        "1\r\na\n",
        "1\r\na\r0",
        "1\r\na0\r\n\r\n",
        "0\r\n\n",
        "0\r\n\rx",
        "0\r\na: b\n\r\n",
        "0\r\na: b\rx",
    ] {
        assert_refused(bytes.as_bytes(), "the chunks of the answer are not as they should be");
    }
}

#[test]
fn refuses_what_ends_too_early() {
    let whole = b"3;a=b\r\nabc\r\n0\r\na: b\r\n\r\n";
    for length in 0..whole.len() {
        assert_refused(&whole[..length], "it ended within a body");
    }
}

#[test]
fn skips_extensions_but_not_without_end() {
    let too_long = "the chunk extensions of the answer are too long";
    let with = |length| format!("1;{}\r\na\r\n0\r\n\r\n", "x".repeat(length));
    assert_eq!(read_chunks(with(16 << 10).as_bytes()), Ok(("a".to_owned(), String::new())));
    assert_refused(with((16 << 10) + 1).as_bytes(), too_long);
    assert_refused(format!("1{}", " ".repeat(17 << 10)).as_bytes(), too_long);
    // Many short ones are as bad as a long one.
    assert_refused("1;xxxxxxxxxxxxxxxx\r\na\r\n".repeat(1025).as_bytes(), too_long);
}

#[test]
fn skips_trailers_but_not_without_end() {
    let too_long = "the trailers of the answer are too long";
    let with = |length| format!("0\r\n{}\r\n\r\n", "x".repeat(length));
    assert_eq!(read_chunks(with(16 << 10).as_bytes()), Ok((String::new(), String::new())));
    assert_refused(with((16 << 10) + 1).as_bytes(), too_long);
    assert_refused(format!("0\r\n{}", "a:b\r\n".repeat(6000)).as_bytes(), too_long);
}

/// The bytes, cut at these places.
fn cut<'a>(bytes: &'a [u8], places: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = places.iter().map(|place| place.index(bytes.len() + 1)).collect();
    places.sort_unstable();
    let starts = std::iter::once(0).chain(places.iter().copied());
    let ends = places.iter().copied().chain([bytes.len()]);
    starts.zip(ends).map(|(start, end)| &bytes[start..end]).collect()
}

fn bytes_up_to(length: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..length)
}

fn places() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 0..20)
}

proptest! {
    #[test]
    fn chunks_are_the_same_however_they_come(
        chunks in prop::collection::vec((bytes_up_to(40), "(;[a-z]{1,5}(=[a-z\"]{1,5})?)?"), 0..8),
        trailers in "([a-z]{1,5}: [a-z]{0,5}\r\n){0,3}",
        rest in bytes_up_to(20),
        places in places(),
    ) {
        let (mut bytes, mut whole) = (Vec::new(), Vec::new());
        for (chunk, extension) in chunks.iter().filter(|(chunk, _)| !chunk.is_empty()) {
            bytes.extend_from_slice(format!("{:x}{extension}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
            whole.extend_from_slice(chunk);
        }
        bytes.extend_from_slice(format!("0\r\n{trailers}\r\n").as_bytes());
        bytes.extend_from_slice(&rest);
        prop_assert_eq!(read(chunked(), cut(&bytes, &places)), Ok((whole, rest)));
    }

    #[test]
    fn a_body_of_known_length_is_the_same_however_it_comes(
        body in bytes_up_to(200),
        rest in bytes_up_to(20),
        places in places(),
    ) {
        let bytes = [&body[..], &rest].concat();
        let length = Body::of_length(body.len() as u64);
        prop_assert_eq!(read(length, cut(&bytes, &places)), Ok((body, rest)));
    }

    #[test]
    fn any_bytes_are_understood_the_same_however_they_come(
        bytes in "[0-9a-f;x \r\n]{0,30}|([0-3]\r\n[a-z]{0,3}(\r\n){0,2}){0,5}",
        places in places(),
    ) {
        let bytes = bytes.as_bytes();
        prop_assert_eq!(read(chunked(), cut(bytes, &places)), read(chunked(), [bytes]));
    }
}
