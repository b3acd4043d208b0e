//! Server-sent events, cut out of a stream of bytes.

use bytes::BytesMut;
use std::time::Duration;

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// `message` where the server does not say.
    pub name: String,
    /// Its lines of data, joined.
    pub data: String,
    /// Where to go on, if the server says so.
    pub id: Option<String>,
}

/// An event has more bytes than this limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong(pub usize);

/// Reads events as bytes arrive; what is unfinished may not exceed the limit.
#[derive(Debug)]
pub struct SseEvents {
    buffer: BytesMut,
    searched: usize,
    /// The last line ended with `\r`, so that a `\n` now is a part of its end.
    is_after_cr: bool,
    event: SseEvent,
    has_data: bool,
    limit: usize,
    is_start: bool,
    /// How long the server asks us to wait before we come back.
    pub retry: Option<Duration>,
}

impl SseEvents {
    /// Reads events of at most so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            is_after_cr: false,
            event: SseEvent::default(),
            has_data: false,
            limit,
            is_start: true,
            retry: None,
        }
    }

    /// Takes in what has arrived.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
        if self.is_start && self.buffer.len() >= 3 {
            self.is_start = false;
            if self.buffer.starts_with("\u{feff}".as_bytes()) {
                let _ = self.buffer.split_to(3);
            }
        }
    }

    /// The next whole event, if it has arrived.
    ///
    /// # Errors
    /// When what is unfinished exceeds the limit.
    pub fn take(&mut self) -> Result<Option<SseEvent>, TooLong> {
        while let Some(line) = self.line() {
            if !line.is_empty() {
                self.field(&line);
            } else if self.has_data || self.event.id.is_some() {
                self.has_data = false;
                let mut event = std::mem::take(&mut self.event);
                if event.name.is_empty() {
                    "message".clone_into(&mut event.name);
                }
                return Ok(Some(event));
            } else {
                self.event = SseEvent::default();
            }
        }
        if self.buffer.len() + self.event.data.len() > self.limit {
            return Err(TooLong(self.limit));
        }
        Ok(None)
    }

    /// A line without its end, which is `\n`, `\r\n` or `\r`.
    fn line(&mut self) -> Option<String> {
        if self.is_after_cr && !self.buffer.is_empty() {
            self.is_after_cr = false;
            if self.buffer[0] == b'\n' {
                let _ = self.buffer.split_to(1);
            }
        }
        let Some(at) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let at = self.searched + at;
        // Nobody waits for the other half of an ending: there may be none, and nothing for a long time.
        self.is_after_cr = self.buffer[at] == b'\r';
        let line = self.buffer.split_to(at + 1);
        self.searched = 0;
        Some(String::from_utf8_lossy(&line[..at]).into_owned())
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event.name),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(chunks: &[&str]) -> Vec<(String, String, Option<String>)> {
        let mut events = SseEvents::new(1_000);
        let mut found = Vec::new();
        for chunk in chunks {
            events.push(chunk.as_bytes());
            while let Some(event) = events.take().unwrap() {
                found.push((event.name, event.data, event.id));
            }
        }
        found
    }

    #[test]
    fn cuts_events_wherever_the_chunks_end() {
        let text = "\u{feff}: hello\nevent: endpoint\ndata: /a\n\nid: 7\r\ndata: one\r\ndata:two\r\n\r\ndata:x\r\r\n";
        let expected = vec![
            ("endpoint".to_owned(), "/a".to_owned(), None),
            ("message".to_owned(), "one\ntwo".to_owned(), Some("7".to_owned())),
            ("message".to_owned(), "x".to_owned(), None),
        ];
        assert_eq!(all(&[text]), expected);
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(all(&pieces.iter().map(String::as_str).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn takes_an_event_that_ends_in_bare_carriage_returns_as_soon_as_it_is_there() {
        let mut events = SseEvents::new(100);
        events.push(b"event: message\rdata: {\rdata: }\r\r");
        let event = events.take().unwrap().unwrap();
        assert_eq!((event.name.as_str(), event.data.as_str()), ("message", "{\n}"));
        events.push(b"\ndata: x\r\n\r");
        assert_eq!(events.take().unwrap().unwrap().data, "x");
        events.push(b"\n");
        assert_eq!(events.take().unwrap(), None);
    }

    #[test]
    fn takes_a_priming_event_and_its_retry() {
        let mut events = SseEvents::new(100);
        events.push(b"retry: 50\nid: a\ndata:\n\n");
        let event = events.take().unwrap().unwrap();
        assert_eq!((event.data.as_str(), event.id.as_deref()), ("", Some("a")));
        assert_eq!(events.retry, Some(Duration::from_millis(50)));
    }

    #[test]
    fn refuses_an_event_without_end() {
        let mut events = SseEvents::new(1_000);
        events.push(&[b'x'; 2_000]);
        assert!(events.take().is_err());
        let mut events = SseEvents::new(1_000);
        for _ in 0..300 {
            events.push(b"data: 12345\n");
        }
        assert!(events.take().is_err());
    }
}
