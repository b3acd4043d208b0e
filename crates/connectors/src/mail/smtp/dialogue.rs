//! Lines to a server and lines back, each bounded, whatever it sends.

use super::reply::Reply;
use crate::shared::wire::Wire;
use futures::FutureExt as _;
use memchr::memchr;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tool::Secret;

/// The most bytes of one reply; RFC 5321 knows lines of 512.
const MAX_REPLY: usize = 64 * 1024;
/// How much is written at once.
const CHUNK: usize = 32 * 1024;

/// A connection whose two ends speak in turns.
pub(super) struct Dialogue {
    wire: BufReader<Wire>,
    /// What is shown to nobody, though the server may say it.
    secrets: Arc<[Secret]>,
}

impl Dialogue {
    pub(super) fn new(wire: Wire, secrets: Arc<[Secret]>) -> Self {
        Self { wire: BufReader::new(wire), secrets }
    }

    /// The connection itself, if the server has said nothing that nobody has read yet: that would be taken for something
    /// said under encryption.
    pub(super) fn into_wire(self) -> io::Result<Wire> {
        if self.wire.buffer().is_empty() {
            return Ok(self.wire.into_inner());
        }
        Err(malformed("the server spoke before its turn"))
    }

    /// The server has said nothing that nobody has read, and has not hung up.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.wire.fill_buf().now_or_never().is_none()
    }

    /// Says something and waits for the answer.
    pub(super) async fn ask(&mut self, line: &str) -> io::Result<Reply> {
        self.say(line).await?;
        self.hear().await
    }

    /// Says one line, or several that need no answers in between.
    pub(super) async fn say(&mut self, lines: &str) -> io::Result<()> {
        let wire = self.wire.get_mut();
        wire.write_all(lines.as_bytes()).await?;
        wire.flush().await
    }

    /// One reply, which may have many lines.
    pub(super) async fn hear(&mut self) -> io::Result<Reply> {
        let (mut lines, mut left) = (Vec::new(), MAX_REPLY);
        loop {
            let line = self.line(left).await?;
            left = left.saturating_sub(line.len() + 2);
            let (code, is_last, words) =
                parse(&line).ok_or_else(|| malformed("that is no reply of a mail server"))?;
            lines.push(words.to_owned());
            if is_last {
                return Ok(Reply::new(code, lines, &self.secrets));
            }
        }
    }

    async fn line(&mut self, most: usize) -> io::Result<String> {
        let mut line = Vec::new();
        loop {
            let heard = self.wire.fill_buf().await?;
            if heard.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let end = memchr(b'\n', heard);
            let taken = end.map_or(heard.len(), |end| end + 1);
            line.extend_from_slice(&heard[..taken]);
            self.wire.consume(taken);
            if line.len() > most {
                return Err(malformed("the server's reply does not end"));
            }
            if end.is_some() {
                let text = String::from_utf8_lossy(&line);
                return Ok(text.trim_end_matches(['\r', '\n']).to_owned());
            }
        }
    }

    /// Writes a message, without the line that ends it: lines end with CR LF, and no line of it is taken for that one.
    pub(super) async fn write_body(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let mut stuffing = Stuffing::default();
        let mut out = Vec::with_capacity(CHUNK + CHUNK / 8);
        for piece in parts.iter().flat_map(|part| part.chunks(CHUNK)) {
            out.clear();
            stuffing.push(piece, &mut out);
            self.wire.get_mut().write_all(&out).await?;
        }
        out.clear();
        stuffing.finish(&mut out);
        self.wire.get_mut().write_all(&out).await
    }
}

/// Code, whether it is the last line, and words.
fn parse(line: &str) -> Option<(u16, bool, &str)> {
    let code: u16 = line.get(..3)?.parse().ok().filter(|code| (200..600).contains(code))?;
    match line.as_bytes().get(3) {
        None => Some((code, true, "")),
        Some(b' ') => Some((code, true, &line[4..])),
        Some(b'-') => Some((code, false, &line[4..])),
        Some(_) => None,
    }
}

fn malformed(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Bytes as they may stand between DATA and the final dot, in pieces.
struct Stuffing {
    is_line_start: bool,
    /// A CR whose LF may be in the next piece.
    has_cr: bool,
}

impl Default for Stuffing {
    fn default() -> Self {
        Self { is_line_start: true, has_cr: false }
    }
}

impl Stuffing {
    fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for &byte in piece {
            match byte {
                b'\n' => self.end_line(out),
                _ if self.has_cr => {
                    // Alone, it would end a line for some servers and not for others.
                    self.end_line(out);
                    self.put(byte, out);
                }
                _ => self.put(byte, out),
            }
        }
    }

    fn put(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'\r' => {
                self.has_cr = true;
                return;
            }
            b'.' if self.is_line_start => out.extend_from_slice(b".."),
            _ => out.push(byte),
        }
        self.is_line_start = false;
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n");
        self.has_cr = false;
        self.is_line_start = true;
    }

    /// The last line ends, too.
    fn finish(&mut self, out: &mut Vec<u8>) {
        if self.has_cr || !self.is_line_start {
            self.end_line(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stuffed(text: &str, size: usize) -> String {
        let (mut stuffing, mut out) = (Stuffing::default(), Vec::new());
        text.as_bytes().chunks(size).for_each(|piece| stuffing.push(piece, &mut out));
        stuffing.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// ML-6
    #[test]
    fn no_line_of_a_message_ends_it() {
        for (text, expected) in [
            ("a\r\n.\r\nb", "a\r\n..\r\nb\r\n"),
            ("a\n.\nb\n", "a\r\n..\r\nb\r\n"),
            ("a\r.\rb\r", "a\r\n..\r\nb\r\n"),
            ("a\r\r\n.\r\n", "a\r\n\r\n..\r\n"),
            ("a\n.\r\nMAIL FROM:<x>", "a\r\n..\r\nMAIL FROM:<x>\r\n"),
            (".a..b", "..a..b\r\n"),
            ("", ""),
        ] {
            for size in 1..=text.len().max(1) {
                assert_eq!(stuffed(text, size), expected, "{text:?} in pieces of {size}");
            }
        }
    }

    async fn heard(bytes: &'static [u8]) -> io::Result<Reply> {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let mut dialogue = Dialogue::new(Box::new(ours), Arc::default());
        let send = async {
            let _ = theirs.write_all(bytes).await;
            drop(theirs);
        };
        tokio::join!(dialogue.hear(), send).0
    }

    #[tokio::test]
    async fn reads_replies_of_one_and_of_many_lines() {
        let reply = heard(b"250-mx.example\r\n250-SIZE 1000\r\n250 HELP\r\n").await.unwrap();
        assert_eq!((reply.code, reply.lines.len(), reply.lines[1].as_str()), (250, 3, "SIZE 1000"));
        assert_eq!(heard(b"354\n").await.unwrap().code, 354);
        for broken in [&b"hello\r\n"[..], b"250", b"999 x\r\n", b"250+x\r\n", b"", b"\xff\xfe\r\n"] {
            assert!(heard(broken).await.is_err(), "{broken:?}");
        }
    }

    #[tokio::test]
    async fn an_endless_reply_ends() {
        let (ours, mut theirs) = tokio::io::duplex(4096);
        let mut dialogue = Dialogue::new(Box::new(ours), Arc::default());
        let flood = tokio::spawn(async move { while theirs.write_all(&[b'2'; 4096]).await.is_ok() {} });
        let error = dialogue.hear().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        drop(dialogue);
        flood.await.unwrap();
    }
}
