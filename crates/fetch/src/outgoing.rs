//! A request on its way out.

use crate::message::Message;
use bytes::{Buf, Bytes};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// A body up to this size is copied behind the head: that is cheaper than to write from two places.
const MAX_COPIED_BYTES: usize = 16 * 1024;
/// How much memory is kept for the next request.
const MAX_KEPT_BYTES: usize = 8 * 1024;

/// What is still to be written of a request.
#[derive(Default)]
pub(crate) struct Outgoing {
    /// The head, and a small body behind it.
    front: Vec<u8>,
    /// How much of the front is written.
    written: usize,
    /// What is left of a large body.
    body: Bytes,
    progress: Progress,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Progress {
    #[default]
    Written,
    Writing,
    /// The rest will not be written any more.
    GivenUp,
}

impl Outgoing {
    /// Takes up a request, and its body if that is large.
    pub(crate) fn load(&mut self, message: &mut Message) {
        message.write_head(&mut self.front);
        if message.body.len() <= MAX_COPIED_BYTES {
            self.front.extend_from_slice(&message.body);
        } else {
            self.body = std::mem::take(&mut message.body);
        }
        self.progress = Progress::Writing;
    }

    /// Undoes `load`, as long as nothing is written.
    pub(crate) fn unload(&mut self, message: &mut Message) {
        if !self.body.is_empty() {
            message.body = std::mem::take(&mut self.body);
        }
        self.give_up();
    }

    pub(crate) fn is_written(&self) -> bool {
        self.progress == Progress::Written
    }

    /// Something may have arrived.
    pub(crate) fn has_begun(&self) -> bool {
        self.written > 0
    }

    /// Leaves unwritten what is not written yet.
    pub(crate) fn give_up(&mut self) {
        if self.progress == Progress::Writing {
            self.progress = Progress::GivenUp;
            self.forget();
        }
    }

    /// Writes what there is to write. It is done when nothing is left.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        stream: &mut (impl AsyncWrite + Unpin),
    ) -> Poll<io::Result<()>> {
        if self.progress != Progress::Writing {
            return Poll::Ready(Ok(()));
        }
        let mut stream = Pin::new(stream);
        while self.written < self.front.len() || !self.body.is_empty() {
            let front = &self.front[self.written..];
            let count = ready!(if self.body.is_empty() {
                stream.as_mut().poll_write(cx, front)
            } else {
                stream.as_mut().poll_write_vectored(cx, &[IoSlice::new(front), IoSlice::new(&self.body)])
            })?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            let of_front = count.min(front.len());
            self.written += of_front;
            self.body.advance(count - of_front);
        }
        // TLS may have kept some of it.
        ready!(stream.poll_flush(cx))?;
        self.progress = Progress::Written;
        self.forget();
        Poll::Ready(Ok(()))
    }

    fn forget(&mut self) {
        self.body = Bytes::new();
        self.written = 0;
        self.front.clear();
        self.front.shrink_to(MAX_KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::uri::PathAndQuery;
    use http::{HeaderMap, Method};
    use std::task::Waker;

    const HEAD: &str = "POST / HTTP/1.1\r\ncontent-length: ";

    /// Takes at most so many bytes at a time, and remembers each time.
    struct Sink {
        most: usize,
        writes: Vec<Vec<u8>>,
        flushes: usize,
    }

    impl Sink {
        fn taking(most: usize) -> Self {
            Self { most, writes: Vec::new(), flushes: 0 }
        }
    }

    impl AsyncWrite for Sink {
        fn poll_write(
            self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<Result<usize, io::Error>> {
            self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            parts: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let bytes = parts.iter().flat_map(|part| part.iter().copied());
            let bytes: Vec<u8> = bytes.take(self.most).collect();
            let count = bytes.len();
            self.writes.push(bytes);
            Poll::Ready(Ok(count))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.flushes += 1;
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn message(length: usize) -> Message {
        Message {
            method: Method::POST,
            target: PathAndQuery::from_static("/"),
            headers: HeaderMap::new(),
            body: vec![b'x'; length].into(),
        }
    }

    fn write(outgoing: &mut Outgoing, sink: &mut Sink) {
        let written = outgoing.poll_write(&mut Context::from_waker(Waker::noop()), sink);
        assert!(matches!(written, Poll::Ready(Ok(()))));
    }

    #[test]
    fn writes_all_at_once_when_it_is_taken_at_once() {
        for length in [0, 1, MAX_COPIED_BYTES, MAX_COPIED_BYTES + 1, 5 << 20] {
            let (mut outgoing, mut sink) = (Outgoing::default(), Sink::taking(usize::MAX));
            outgoing.load(&mut message(length));
            assert!(!outgoing.is_written());
            write(&mut outgoing, &mut sink);
            assert!(outgoing.is_written());
            assert_eq!((sink.writes.len(), sink.flushes), (1, 1), "{length}");
            let expected = format!("{HEAD}{length}\r\n\r\n{}", "x".repeat(length));
            assert!(sink.writes[0] == expected.as_bytes(), "{length}");
        }
    }

    #[test]
    fn writes_the_same_in_pieces() {
        for (length, most) in [(100, 1), (100, 7), (20_000, 1000), (20_000, 19_000)] {
            let (mut outgoing, mut sink) = (Outgoing::default(), Sink::taking(most));
            outgoing.load(&mut message(length));
            write(&mut outgoing, &mut sink);
            assert!(
                sink.writes.concat() == format!("{HEAD}{length}\r\n\r\n{}", "x".repeat(length)).as_bytes()
            );
        }
    }

    #[test]
    fn does_not_copy_a_large_body_and_gives_it_back_unwritten() {
        let (mut outgoing, mut message) = (Outgoing::default(), message(MAX_COPIED_BYTES + 1));
        let place = message.body.as_ptr();
        outgoing.load(&mut message);
        assert!(message.body.is_empty() && outgoing.body.as_ptr() == place);
        outgoing.unload(&mut message);
        assert!(message.body.len() == MAX_COPIED_BYTES + 1 && message.body.as_ptr() == place);
        assert!(!outgoing.is_written() && !outgoing.has_begun());
    }

    #[test]
    fn keeps_little_memory() {
        let (mut outgoing, mut sink) = (Outgoing::default(), Sink::taking(usize::MAX));
        outgoing.load(&mut message(MAX_COPIED_BYTES));
        write(&mut outgoing, &mut sink);
        assert!(outgoing.front.capacity() <= MAX_KEPT_BYTES);
        outgoing.load(&mut message(1));
        write(&mut outgoing, &mut sink);
        assert!(outgoing.front.capacity() > 0, "a little is kept");
    }

    #[test]
    fn what_is_given_up_is_not_written_and_does_not_count_as_written() {
        let (mut outgoing, mut sink) = (Outgoing::default(), Sink::taking(10));
        outgoing.load(&mut message(20_000));
        outgoing.give_up();
        write(&mut outgoing, &mut sink);
        assert!(sink.writes.is_empty() && !outgoing.is_written());
    }
}
