//! Answers that no server should send, whole and in pieces.

use crate::framing::Framing;
use crate::incoming::Incoming;
use crate::sse_events::SseEvents;
use fuzz::Target;
use http::{Method, StatusCode};
use std::task::{Context, Poll, Waker};

const SEEDS: [&str; 8] = [
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"a\": [1, 2]}",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=\"y\"\r\nhello\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\nTrailer: x\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: keep-alive, close\r\n\r\n",
    "HTTP/1.0 404 Not Found\r\nServer: x\r\n\r\nuntil the end",
    "HTTP/1.1 301 Moved\nLocation: /there?a=b\nContent-Length: 0, 0\n\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Length: 5\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\u{81}\u{5}hello",
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: message\r\nid: 7\ndata: {\ndata: }\n\n: note\rretry: 5\r\r",
];

/// What comes of an answer that arrives in pieces of this size: the status and the body, or nothing.
fn read(bytes: &[u8], piece: usize) -> Option<(u16, Vec<u8>)> {
    let mut incoming = Incoming::default();
    let mut cx = Context::from_waker(Waker::noop());
    let mut pieces = bytes.chunks(piece);
    let mut fill = |incoming: &mut Incoming, expected| {
        let mut next = pieces.next().unwrap_or_default();
        while !next.is_empty() {
            let Poll::Ready(Ok(_)) = incoming.poll_fill(&mut cx, &mut next, expected) else { return false };
        }
        true
    };
    let mut left = bytes.len().div_ceil(piece);
    let is_interim =
        |status: StatusCode| status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS;
    let head = loop {
        match incoming.take_head().ok()? {
            Some(head) if is_interim(head.status) => {}
            Some(head) => break head,
            None => {
                left = left.checked_sub(1)?;
                fill(&mut incoming, 0).then_some(())?;
            }
        }
    };
    let mut body = Framing::of(&Method::GET, &head).ok()?.body;
    let mut whole = Vec::new();
    loop {
        while let Some(part) = body.take(&mut incoming.bytes).ok()? {
            assert!(!part.is_empty(), "a part of nothing would be read for ever");
            whole.extend_from_slice(&part);
        }
        if body.is_ended() || left == 0 {
            break;
        }
        left -= 1;
        let expected = body.expected();
        fill(&mut incoming, expected).then_some(())?;
    }
    if !body.is_ended() {
        body.close().ok()?;
    }
    Some((head.status.as_u16(), whole))
}

#[test]
fn fuzz_answers_of_http_1_1() {
    Target::new("HTTP/1.1 answer", SEEDS).run(|input| {
        let whole = read(input, input.len().max(1));
        assert_eq!(read(input, 7), whole, "it does not matter in which pieces it comes");
        whole.is_some()
    });
}

#[test]
fn fuzz_server_sent_events() {
    let seeds = SEEDS.map(|seed| seed.split_once("\n\r\n").map_or(seed, |(_, body)| body));
    Target::new("server-sent events", seeds).run(|input| {
        let mut events = SseEvents::new(1 << 16);
        let mut found = 0;
        for piece in input.chunks(7) {
            events.push(piece);
            loop {
                match events.take() {
                    Ok(Some(_)) => found += 1,
                    Ok(None) => break,
                    Err(_) => return false,
                }
            }
        }
        found > 0
    });
}
