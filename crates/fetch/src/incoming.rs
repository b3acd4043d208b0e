//! What has arrived and nobody has read yet.

use crate::error::Error;
use crate::head::{self, Head};
use bytes::{Buf, Bytes, BytesMut};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncRead;
use tokio_util::io::poll_read_buf;

/// How much is read at a time at first, and how much memory is kept for the next answer.
const START_BYTES: usize = 8 * 1024;
/// How much is read at a time when much comes.
const MAX_READ_BYTES: usize = 128 * 1024;

/// The bytes between the socket and the reader of an answer.
pub(crate) struct Incoming {
    pub(crate) bytes: BytesMut,
    /// How much the next read may bring.
    room: usize,
    /// The most room there has been.
    largest: usize,
    /// How much of a head has been found not to be all of it.
    seen: usize,
}

impl Default for Incoming {
    fn default() -> Self {
        Self { bytes: BytesMut::new(), room: START_BYTES, largest: 0, seen: 0 }
    }
}

impl Incoming {
    /// The next head, once it has arrived as a whole.
    pub(crate) fn take_head(&mut self) -> Result<Option<Head>, Error> {
        if head::is_worth_reading(&self.bytes, self.seen)
            && let Some((head, length)) = head::parse(&self.bytes)?
        {
            self.bytes.advance(length);
            self.seen = 0;
            return Ok(Some(head));
        }
        self.seen = self.bytes.len();
        Ok(None)
    }

    /// Reads once; nothing read means that the other side has ended. `expected` says how much is known to come.
    pub(crate) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut (impl AsyncRead + Unpin),
        expected: u64,
    ) -> Poll<io::Result<usize>> {
        let expected = usize::try_from(expected).map_or(MAX_READ_BYTES, |bytes| bytes.min(MAX_READ_BYTES));
        let room = self.room.max(expected);
        if self.spare() < room / 2 && !self.bytes.try_reclaim(room) {
            self.grow(room);
        }
        let spare = self.spare();
        let count = ready!(poll_read_buf(Pin::new(stream), cx, &mut self.bytes))?;
        if count == spare {
            self.room = (self.room * 2).min(MAX_READ_BYTES);
        }
        Poll::Ready(Ok(count))
    }

    /// Makes room elsewhere: where the bytes are, what was before them would be kept and copied, too.
    fn grow(&mut self, room: usize) {
        let mut bytes = BytesMut::with_capacity(self.bytes.len() + room);
        bytes.extend_from_slice(&self.bytes);
        self.bytes = bytes;
        self.largest = self.largest.max(self.bytes.capacity());
    }

    fn spare(&self) -> usize {
        self.bytes.capacity() - self.bytes.len()
    }

    /// Gives back the memory that a small answer does not need.
    pub(crate) fn shrink(&mut self) {
        if self.bytes.is_empty() && self.largest > START_BYTES {
            *self = Self::default();
        }
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.bytes.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    fn fill(incoming: &mut Incoming, mut source: &[u8], expected: u64) -> usize {
        let filled = incoming.poll_fill(&mut Context::from_waker(Waker::noop()), &mut source, expected);
        let Poll::Ready(Ok(count)) = filled else { panic!("a slice is always ready") };
        count
    }

    #[test]
    fn reads_little_at_first_and_more_when_more_comes() {
        let (mut incoming, much) = (Incoming::default(), vec![b'x'; 1 << 20]);
        let mut reads = Vec::new();
        for _ in 0..6 {
            reads.push(fill(&mut incoming, &much, 0));
            drop(incoming.bytes.split().freeze());
        }
        assert_eq!(reads, [8, 16, 32, 64, 128, 128].map(|kilobytes| kilobytes << 10));
        let mut incoming = Incoming::default();
        assert_eq!(fill(&mut incoming, &much, 100_000), 100_000);
        incoming = Incoming::default();
        assert_eq!(fill(&mut incoming, &much, u64::MAX), MAX_READ_BYTES);
    }

    #[test]
    fn keeps_little_memory_at_rest() {
        let (mut incoming, much) = (Incoming::default(), vec![b'x'; 1 << 20]);
        fill(&mut incoming, &much, 1 << 20);
        // What is left of the room says nothing about what is held.
        drop(incoming.bytes.split_to(incoming.bytes.len()).freeze());
        incoming.shrink();
        assert_eq!(incoming.bytes.capacity(), 0);
        fill(&mut incoming, b"little", 0);
        drop(incoming.bytes.split().freeze());
        incoming.shrink();
        assert_eq!(incoming.bytes.capacity(), START_BYTES - 6, "a little is kept");
    }

    #[test]
    fn a_head_may_come_byte_by_byte() {
        let whole = b"HTTP/1.1 200 OK\r\na: b\r\n\r\nHTTP/1.1 404 No\n\nrest";
        let (mut incoming, mut statuses) = (Incoming::default(), Vec::new());
        for byte in whole.chunks(1) {
            fill(&mut incoming, byte, 0);
            // What follows the second head is no head.
            if statuses.len() < 2
                && let Some(head) = incoming.take_head().unwrap()
            {
                statuses.push(head.status.as_u16());
            }
        }
        assert_eq!(statuses, [200, 404]);
        assert_eq!(incoming.into_bytes(), "rest");
    }
}
